"""What differs from AWS, operation by operation, as far as it is known; an operation without a line has none."""

from collections.abc import Mapping
from typing import Final

from torpor_endpoint.services.sts.identity import ROLE, SESSION

DIFFERENCES: Final[Mapping[str, str]] = {
    "GetCallerIdentity": f"Always `assumed-role/{ROLE}/{SESSION}`.",
    "AssumeRole": "Any role: neither its trust policy nor its MaxSessionDuration is looked at.",
    "AssumeRoleWithWebIdentity": "The token is not verified.",
    "GetSessionToken": "Nothing is checked.",
    "GetFederationToken": "Nothing is checked.",
    "GetAccessKeyInfo": "Any key is this account's.",
}
