"""GetAccountAuthorizationDetails: all users, groups, roles and policies of the account, with all that they hold."""

from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.iam import errors, shapes
from torpor_account.iam.context import Holder, Iam
from torpor_account.iam.identity_records import Group, ManagedPolicy, Role, User
from torpor_account.iam.markers import page
from torpor_account.iam.policies.managed import PolicyCounts, counting, shown

LISTS = {"User": "UserDetailList", "Group": "GroupDetailList", "Role": "RoleDetailList", "ManagedPolicy": "Policies"}
"""The list of the answer for each kind of record."""
FILTERS = {"User": "User", "Group": "Group", "Role": "Role", "LocalManagedPolicy": "ManagedPolicy"}
"""The kind of record for each value of `Filter`."""
ONLY_ALONE = ("Description", "MaxSessionDuration")
"""What the details of a role leave out."""


def get_account_authorization_details(iam: Iam, call: Call) -> dict[str, Any]:
    """A page of all of it, kind by kind. AWS's own policies are not listed: a call for them alone is refused."""
    wanted: list[str] = call.params.get("Filter") or list(FILTERS)
    if "AWSManagedPolicy" in wanted:
        raise errors.BAD_FILTER()
    kinds = [FILTERS[one] for one in wanted]
    records: list[Holder | ManagedPolicy] = [*iam.holders(), *iam.managed.all()]
    found = (one for one in records if type(one).__name__ in kinds)
    chosen, more = page(found, lambda one: f"{type(one).__name__} {one.name}", call.params)
    lists: dict[str, list[Any]] = {name: [] for name in LISTS.values()}
    count = counting(iam)
    for record in chosen:
        lists[LISTS[type(record).__name__]].append(_detail(iam, record, call.account, count))
    return {**lists, **more}


def _detail(iam: Iam, record: Holder | ManagedPolicy, account: str, count: PolicyCounts) -> dict[str, Any]:
    tags = iam.tags.of(record.arn(account))
    match record:
        case User():
            member = {"UserPolicyList": _inline(record), "GroupList": list(record.groups)}
            return {**shapes.user(record, account, tags), **member, **_attached(record)}
        case Group():
            return {**shapes.group(record, account), "GroupPolicyList": _inline(record), **_attached(record)}
        case Role():
            member = {"RolePolicyList": _inline(record), "InstanceProfileList": []}
            described = shapes.role(record, account, tags)
            described = {name: value for name, value in described.items() if name not in ONLY_ALONE}
            return {**described, **member, **_attached(record)}
    versions = [shapes.policy_version(record, version) for version in record.versions]
    policy = {name: value for name, value in shown(record, account, count).items() if name != "Tags"}
    return {**policy, "PolicyVersionList": versions}


def _inline(holder: Holder) -> list[dict[str, str]]:
    return [{"PolicyName": name, "PolicyDocument": shapes.document(text)} for name, text in holder.policies.items()]


def _attached(holder: Holder) -> dict[str, Any]:
    return {"AttachedManagedPolicies": list(map(shapes.attached_policy, holder.attached))}
