"""STS as a service: its operations in one table."""

from collections.abc import Callable

from torpor_endpoint.aws.calls import Operation, Otherwise
from torpor_endpoint.aws.service import Service
from torpor_endpoint.services.parts import ServiceParts
from torpor_endpoint.services.sts import identity
from torpor_endpoint.services.sts.identity import Sts

OPERATIONS: dict[str, Operation[Sts]] = {
    "GetCallerIdentity": identity.get_caller_identity,
    "AssumeRole": identity.assume_role,
    "AssumeRoleWithWebIdentity": identity.assume_role_with_web_identity,
    "GetSessionToken": identity.get_session_token,
    "GetFederationToken": identity.get_federation_token,
    "GetAccessKeyInfo": identity.get_access_key_info,
}


def service(clock: Callable[[], float], *, account: str, otherwise: Otherwise | None = None) -> Service[Sts]:
    """`clock` gives epoch seconds."""
    return Service("sts", Sts(clock), OPERATIONS, account=account, otherwise=otherwise)


def compose(parts: ServiceParts) -> Service[Sts]:
    return service(parts.clock, account=parts.account)
