"""Simulations of policies: SimulateCustomPolicy asks those of the call, SimulatePrincipalPolicy those of a holder.

The SageMaker SDK calls the latter before it deploys. Where callers are not verified it allows every action, which is
true there.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from torpor_account.aws.calls import Call, Operation
from torpor_account.core.access.conditions import TARGET_MODEL, BadPolicy
from torpor_account.core.access.evaluation import applies
from torpor_account.core.access.explaining.statements import (
    MatchedStatement,
    keys_in,
    matched,
    missing_keys,
    position_of,
)
from torpor_account.core.access.known_keys import check_condition_keys
from torpor_account.core.access.needs import AccessNeed, AccessPlace, CallerAccess, ConditionKeys
from torpor_account.core.access.policy_statements import AccessPolicy, AccessQuestion, PolicyOrigin, read_policy
from torpor_account.core.access.principals import Principal, PrincipalKind
from torpor_account.core.access.rights.right_rows import aliases_of, target_name
from torpor_account.iam import errors
from torpor_account.iam.context import Iam
from torpor_account.iam.identities.directory import Directory
from torpor_account.iam.markers import page

NOT_APPLIED = ("PolicyExclusionList", "OrderedOrganizationPolicyInputList", "ResourceHandlingOption")
"""What no simulation here would heed, so a call with one is refused."""
ACTION = re.compile(r"[A-Za-z0-9-]+:[A-Za-z0-9]+")
USER_ARN = re.compile(r"arn:aws:iam::\d{12}:user/.*")


@dataclass(frozen=True)
class SimulatedCaller:
    """Who is simulated: the principal with its policies, the policy of the resource, and the condition keys."""

    access: CallerAccess
    resource_policy: AccessPolicy | None
    keys: ConditionKeys


def simulate_custom_policy(iam: Iam, call: Call) -> dict[str, Any]:
    """What the policies of the call allow together."""
    _check_applied(call)
    policies = tuple(_enforced(call, "PolicyInputList"))
    return _answered(call, _simulated(iam, call, replace(_caller(iam, call), identity=policies)))


def allow_all(iam: Iam, call: Call) -> dict[str, Any]:
    """SimulatePrincipalPolicy where no caller is verified: `allowed` for every action, since no policy is asked."""
    pairs = enumerate(product(_actions(call), call.params.get("ResourceArns", ["*"])))
    found, more = page(pairs, lambda numbered: f"{numbered[0]:06}", call.params)
    results = [
        {"EvalActionName": action, "EvalResourceName": resource, "EvalDecision": "allowed"}
        for _, (action, resource) in found
    ]
    return {"EvaluationResults": results, **more}


def simulating(directory: Directory) -> Operation[Iam]:
    """SimulatePrincipalPolicy of an endpoint that verifies its callers."""

    def simulate(iam: Iam, call: Call) -> dict[str, Any]:
        _check_applied(call)
        source = _source(directory, call)
        arn = call.params["PolicySourceArn"]
        if "ResourcePolicy" in call.params and "CallerArn" not in call.params and not USER_ARN.fullmatch(arn):
            raise errors.BAD_SIMULATION("CallerArn must name a user: the ResourcePolicy needs one to speak to.")
        caller = source if "CallerArn" not in call.params else _caller(iam, call)
        policies = (*source.identity, *_enforced(call, "PolicyInputList"))
        principal = replace(caller, identity=policies, boundary=source.boundary, session=source.session)
        return _answered(call, _simulated(iam, call, principal))

    return simulate


def context_keys_of_input(iam: Iam, call: Call) -> dict[str, Any]:
    """GetContextKeysForCustomPolicy: the condition keys in the policies of the call."""
    names = {key.lower(): key for policy in _inputs(call, "PolicyInputList") for key in keys_in(policy)}
    return {"ContextKeyNames": [names[key] for key in sorted(names)]}


# -- the call ----------------------------------------------------------------------------------------------------------
def _check_applied(call: Call) -> None:
    """Raises InvalidInput for a member that would change nothing here."""
    for member in NOT_APPLIED:
        if call.params.get(member):
            raise errors.BAD_SIMULATION(f"Torpor's simulations do not know {member}: leave it out.")
    owner = call.params.get("ResourceOwner", call.account)
    if call.account not in (owner, *owner.split(":")[4:5]):
        raise errors.BAD_SIMULATION(f"ResourceOwner {owner} is another account than {call.account}, the only one here.")
    if "ResourcePolicy" in call.params and call.operation == "SimulateCustomPolicy" and "CallerArn" not in call.params:
        raise errors.BAD_SIMULATION("CallerArn must name a user: the ResourcePolicy needs one to speak to.")


def _actions(call: Call) -> list[str]:
    actions: list[str] = call.params["ActionNames"]
    for action in actions:
        if not ACTION.fullmatch(action):
            raise errors.BAD_SIMULATION(f"ActionNames must be of the form service:Action, without wildcards: {action}")
    return actions


def _caller(iam: Iam, call: Call) -> Principal:
    """The user of CallerArn, without policies; or somebody without a name. Raises NoSuchEntity."""
    arn = call.params.get("CallerArn")
    if arn is None:
        return Principal(PrincipalKind.USER, call.account)
    user = iam.users.get(arn.rpartition("/")[2])
    if user is None or user.arn(call.account) != arn:
        raise errors.NO_SOURCE(arn=arn)
    tags = iam.tags.of(arn)
    return Principal(PrincipalKind.USER, call.account, arn, unique_id=user.user_id, tags=tags, name=user.name)


def _source(directory: Directory, call: Call) -> Principal:
    arn = call.params["PolicySourceArn"]
    found = directory.principal(arn)
    if found is None:
        raise errors.NO_SOURCE(arn=arn)
    return found


def _simulated(iam: Iam, call: Call, principal: Principal) -> SimulatedCaller:
    boundaries = list(_enforced(call, "PermissionsBoundaryPolicyInputList"))
    if len(boundaries) > 1:
        raise errors.BAD_SIMULATION("PermissionsBoundaryPolicyInputList may have one policy.")
    limited = replace(principal, boundary=boundaries[0]) if boundaries else principal
    place = AccessPlace(call.account, call.region)
    access = CallerAccess(limited, place, limited.keys, now_s=iam.clock(), tags_of=iam.tags.of)
    resource_policy = None
    if "ResourcePolicy" in call.params:
        origin = PolicyOrigin("ResourcePolicy", "resource")
        resource_policy = _checked(call, _read(call.params["ResourcePolicy"], "resource", origin))
    return SimulatedCaller(access, resource_policy, _context(call))


def _context(call: Call) -> dict[str, list[str]]:
    """The values of ContextEntries by their keys. Raises InvalidInput for an entry that lacks something."""
    found: dict[str, list[str]] = {}
    for entry in call.params.get("ContextEntries", []):
        absent = [part for part in ("ContextKeyName", "ContextKeyValues", "ContextKeyType") if part not in entry]
        if absent:
            raise errors.BAD_SIMULATION(f"An entry of ContextEntries lacks {absent[0]}.")
        name, values = entry["ContextKeyName"], entry["ContextKeyValues"]
        if not entry["ContextKeyType"].endswith("List") and len(values) > 1:
            raise errors.BAD_SIMULATION(f"The context key {name} has several values: its type must be a list's.")
        found[name.lower()] = [*map(target_name, values)] if name.lower() == TARGET_MODEL else values
    return found


def _enforced(call: Call, member: str) -> Iterable[AccessPolicy]:
    """As `_inputs`. Raises MalformedPolicyDocument for one that the endpoint would refuse to keep."""
    return (_checked(call, policy) for policy in _inputs(call, member))


def _checked(call: Call, policy: AccessPolicy) -> AccessPolicy:
    try:
        check_condition_keys(policy, _context(call))
    except BadPolicy as error:
        raise errors.MALFORMED(f"The policy cannot be enforced: {policy.name}: {error}.") from None
    return policy


def _inputs(call: Call, member: str) -> Iterable[AccessPolicy]:
    for number, document in enumerate(call.params.get(member, ()), start=1):
        yield _read(document, "identity", PolicyOrigin(f"{member}.{number}"))


def _read(document: str, kind: str, origin: PolicyOrigin) -> AccessPolicy:
    try:
        return read_policy(document, origin.policy, kind=kind, origin=origin)
    except BadPolicy as error:
        raise errors.MALFORMED(f"Syntax errors in policy: {origin.policy}: {error}.") from None


# -- the answer --------------------------------------------------------------------------------------------------------
def _answered(call: Call, simulated: SimulatedCaller) -> dict[str, Any]:
    """One result for each action on each resource, in their order."""
    pairs = enumerate(product(_actions(call), call.params.get("ResourceArns") or [None]))
    found, more = page(pairs, lambda numbered: f"{numbered[0]:06}", call.params)
    return {"EvaluationResults": [_result(simulated, action, resource) for _, (action, resource) in found], **more}


def _result(simulated: SimulatedCaller, action: str, resource: str | None) -> dict[str, Any]:
    """`resource` is None where the call names none: `*` then."""
    named, access, policy = resource or "*", simulated.access, simulated.resource_policy
    need = AccessNeed((action,), named, simulated.keys, aliases_of(named))
    question = access.questions(need)[0]
    decision = access.decide(need, policy)
    verdict = "allowed" if decision.allowed else "implicitDeny" if decision.statement is None else "explicitDeny"
    statements = [_statement(one) for one in matched(access.principal, question, decision, policy)]
    missing = missing_keys(access.principal, question, policy)
    boundary = access.principal.boundary
    limit = {} if boundary is None else {"AllowedByPermissionsBoundary": _allows(boundary, question)}
    result: dict[str, Any] = {
        "EvalActionName": action,
        "EvalResourceName": named,
        "EvalDecision": verdict,
        "MatchedStatements": statements,
        "MissingContextValues": missing if named == "*" else [],
        "PermissionsBoundaryDecisionDetail": limit,
    }
    if named != "*":
        specific = {"EvalResourceName": named, "EvalResourceDecision": verdict, "MatchedStatements": statements}
        of_resource = {"MissingContextValues": missing, "PermissionsBoundaryDecisionDetail": limit}
        result["ResourceSpecificResults"] = [{**specific, **of_resource}]
    return result


def _allows(policy: AccessPolicy, question: AccessQuestion) -> bool:
    found = {statement.denies for statement in policy.statements if applies(statement, question)}
    return found == {False}


def _statement(one: MatchedStatement) -> dict[str, Any]:
    origin, document = one.policy.origin, one.policy.document
    shown: dict[str, Any] = {"SourcePolicyId": origin.policy, "SourcePolicyType": origin.kind}
    if document:
        start, end = position_of(document, one.statement.number)
        shown["StartPosition"] = {"Line": start.line, "Column": start.column}
        shown["EndPosition"] = {"Line": end.line, "Column": end.column}
    return shown
