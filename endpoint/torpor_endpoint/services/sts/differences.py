"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

from torpor_endpoint.services.sts.identity import ROLE, SESSION

DIFFERENCES: Final[Mapping[str, str]] = {
    "GetCallerIdentity": f"The identity is always `assumed-role/{ROLE}/{SESSION}`.",
    "AssumeRole": "Takes any role, and checks neither its trust policy nor its MaxSessionDuration.",
    "AssumeRoleWithWebIdentity": "Does not verify the token.",
    "GetSessionToken": "Checks nothing.",
    "GetFederationToken": "Checks nothing.",
    "GetAccessKeyInfo": "Every key belongs to the one account.",
}
