"""STS with `--auth`: who the verified caller is, and temporary credentials for those who may have them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.core.access.conditions import BadPolicy
from torpor_account.core.access.evaluation import PolicySource, decide_trust
from torpor_account.core.access.known_keys import check_condition_keys
from torpor_account.core.access.needs import AccessNeed, CallerAccess
from torpor_account.core.access.policy_statements import AccessPolicy, read_policy
from torpor_account.core.access.principals import PrincipalKind
from torpor_account.core.access.rights.right_rows import tag_keys
from torpor_account.iam.identities.directory import Directory
from torpor_account.iam.identities.temporary import new_key
from torpor_account.iam.identity_records import TemporaryKey
from torpor_account.storage.tag_store import reserved_key
from torpor_account.sts import errors
from torpor_account.sts.identity import ROLE_SESSION_S, USER_SESSION_S

NOT_APPLIED = ("ProvidedContexts", "SerialNumber", "SourceIdentity", "TokenCode", "TransitiveTagKeys")
"""No policy would see what these say, so a call with one is refused."""
CHAINED_SESSION_MAX_S = 3600
"""AWS: role chaining "limits your session to a maximum of one hour". A user's temporary credentials are a link too."""
ROOT_SESSION_MAX_S = 3600
"""AWS: sessions of the root "are restricted to a maximum of 3,600 seconds"."""


@dataclass(frozen=True)
class VerifiedSts:
    clock: Callable[[], float]
    directory: Directory


def get_caller_identity(sts: VerifiedSts, call: Call) -> dict[str, Any]:
    principal = _access(call).principal
    return {"UserId": principal.unique_id, "Account": call.account, "Arn": principal.arn}


def assume_role(sts: VerifiedSts, call: Call) -> dict[str, Any]:
    """Credentials of the role, if its trust policy lets the caller assume it, and the caller's own policies if it names
    the account only. Session policies and tags go with them."""
    params, arn = call.params, call.params["RoleArn"]
    _check_applied(params)
    tags = _session_tags(params)
    role = sts.directory.role(arn)
    _check_trust(sts.directory.trust(arn), call)
    assert role is not None  # else nobody may assume it
    lasts_s = params.get("DurationSeconds", ROLE_SESSION_S)
    if lasts_s > CHAINED_SESSION_MAX_S and _is_temporary(call):
        raise errors.CHAINED()
    if lasts_s > role.session_max_s:
        raise errors.TOO_LONG()
    session = params["RoleSessionName"]
    key, token = new_key(
        sts.clock(),
        lasts_s,
        role=role.name,
        holder_id=role.role_id,
        session=session,
        policies=_session_policies(sts, params),
        tags=tags,
    )
    sts.directory.keep(key)
    return {
        "Credentials": _credentials(key, token),
        "AssumedRoleUser": {
            "AssumedRoleId": f"{role.role_id}:{session}",
            "Arn": f"arn:aws:sts::{call.account}:assumed-role/{role.name}/{session}",
        },
    }


def get_session_token(sts: VerifiedSts, call: Call) -> dict[str, Any]:
    """Temporary credentials of the calling user, or of the root. AWS: not with temporary credentials."""
    _check_applied(call.params)
    principal = _access(call).principal
    if principal.kind is PrincipalKind.ROLE or _is_temporary(call):
        raise errors.DENIED("Cannot call GetSessionToken with session credentials")
    lasts_s = call.params.get("DurationSeconds", USER_SESSION_S)
    if principal.kind is PrincipalKind.ROOT:
        lasts_s = min(lasts_s, ROOT_SESSION_MAX_S)
    holder = {"user": principal.name, "holder_id": principal.unique_id} if principal.kind is PrincipalKind.USER else {}
    key, token = new_key(sts.clock(), lasts_s, **holder)
    sts.directory.keep(key)
    return {"Credentials": _credentials(key, token)}


def refuse_web_identity(sts: VerifiedSts, call: Call) -> dict[str, Any]:
    raise errors.UNVERIFIED(operation="AssumeRoleWithWebIdentity")


def refuse_federation(sts: VerifiedSts, call: Call) -> dict[str, Any]:
    raise errors.UNVERIFIED(operation="GetFederationToken")


def _check_applied(params: Mapping[str, Any]) -> None:
    """Raises ValidationError."""
    for member in NOT_APPLIED:
        if params.get(member):
            raise errors.NOT_APPLIED(member=member)


def _session_tags(params: Mapping[str, Any]) -> dict[str, str]:
    """The tags by key. Raises InvalidParameterValue for two keys that differ in case at most, and for AWS's own."""
    tags = {tag["Key"]: tag["Value"] for tag in params.get("Tags", ())}
    if len({key.lower() for key in tags}) < len(params.get("Tags", ())):
        raise errors.DUPLICATE_TAG()
    reserved = reserved_key(tags)
    if reserved is not None:
        raise errors.RESERVED_TAG(key=reserved)
    return tags


def _access(call: Call) -> CallerAccess:
    assert call.access is not None  # the door lets nobody else in
    return call.access


def _is_temporary(call: Call) -> bool:
    """Whether the caller signs with temporary credentials."""
    return "aws:tokenissuetime" in _access(call).of_caller


def _check_trust(trust: AccessPolicy | None, call: Call) -> None:
    """Raises AccessDenied, in the same words for a role that does not exist: else anybody could list the roles."""
    access, params = _access(call), call.params
    trust = trust or AccessPolicy("the role trust policy", ())
    keys = {
        **tag_keys(params),
        "sts:rolesessionname": (params["RoleSessionName"],),
        **({"sts:externalid": (params["ExternalId"],)} if "ExternalId" in params else {}),
    }
    actions = ["sts:AssumeRole"]
    actions += ["sts:TagSession"] if params.get("Tags") else []
    for action in actions:
        (question,) = access.questions(AccessNeed((action,), params["RoleArn"], keys))
        decision = decide_trust(access.principal, question, trust)
        if not decision.allowed:
            raise errors.DENIED(access.refused(question, decision, trust, PolicySource.TRUST).message)


def _session_policies(sts: VerifiedSts, params: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The documents of the session's own policies; None if there are none, so that they limit nothing."""
    arns = [one["arn"] for one in params.get("PolicyArns", ()) if "arn" in one]
    known = dict(sts.directory.documents(arns))
    unknown = [arn for arn in arns if arn not in known]
    if unknown:
        raise errors.NO_POLICY(arn=unknown[0])
    given = [params["Policy"]] if "Policy" in params else []
    for document in given:
        try:
            check_condition_keys(read_policy(document, "the session policy"))
        except BadPolicy as error:
            raise errors.BAD_POLICY(f"Syntax errors in policy: {error}.") from None
    return (*given, *known.values()) if given or arns else None


def _credentials(key: TemporaryKey, token: str) -> dict[str, Any]:
    return {
        "AccessKeyId": key.name,
        "SecretAccessKey": key.secret,
        "SessionToken": token,
        "Expiration": int(key.expires_s),
    }
