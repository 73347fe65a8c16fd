"""STS as a service: its operations in one table."""

from collections.abc import Callable

from torpor_account.aws.calls import Operation, Otherwise, bound
from torpor_account.aws.service import Service
from torpor_account.iam.identities.directory import Directory
from torpor_account.sts import assuming, identity
from torpor_account.sts.assuming import VerifiedSts
from torpor_account.sts.identity import Sts

VERIFIED: dict[str, Operation[VerifiedSts]] = {
    "GetCallerIdentity": assuming.get_caller_identity,
    "AssumeRole": assuming.assume_role,
    "AssumeRoleWithWebIdentity": assuming.refuse_web_identity,
    "GetSessionToken": assuming.get_session_token,
    "GetFederationToken": assuming.refuse_federation,
}
"""In place of those below, where callers are verified."""

OPERATIONS: dict[str, Operation[Sts]] = {
    "GetCallerIdentity": identity.get_caller_identity,
    "AssumeRole": identity.assume_role,
    "AssumeRoleWithWebIdentity": identity.assume_role_with_web_identity,
    "GetSessionToken": identity.get_session_token,
    "GetFederationToken": identity.get_federation_token,
    "GetAccessKeyInfo": identity.get_access_key_info,
}


def service(
    clock: Callable[[], float],
    *,
    account: str,
    otherwise: Otherwise | None = None,
    directory: Directory | None = None,
) -> Service[Sts]:
    """`clock` gives epoch seconds. With `directory` the callers are verified, and credentials are real ones."""
    if directory is None:
        return Service("sts", Sts(clock), OPERATIONS, account=account, otherwise=otherwise)
    verified = bound(VERIFIED, VerifiedSts(clock, directory))
    return Service("sts", Sts(clock), {**OPERATIONS, **verified}, account=account, otherwise=otherwise)
