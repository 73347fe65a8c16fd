"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

from torpor_account.core.access.rights.right_rows import DEFAULT_ROLE
from torpor_account.sts.identity import SESSION

DIFFERENCES: Final[Mapping[str, str]] = {
    "GetCallerIdentity": f"Without `--auth` the identity is always `assumed-role/{DEFAULT_ROLE}/{SESSION}`.",
    "AssumeRole": "Without `--auth` it takes any role, and checks neither its trust policy nor its MaxSessionDuration. With it, "
    "the root may assume a role that trusts the account, temporary credentials give an hour at most, and it refuses SourceIdentity, TransitiveTagKeys, ProvidedContexts, SerialNumber and TokenCode by name.",
    "AssumeRoleWithWebIdentity": "Does not verify the token. With `--auth` it is refused.",
    "GetSessionToken": "Checks nothing without `--auth`. With it, it refuses SerialNumber and TokenCode by name.",
    "GetFederationToken": "Checks nothing. With `--auth` it is refused.",
    "GetAccessKeyInfo": "Every key belongs to the one account.",
}
