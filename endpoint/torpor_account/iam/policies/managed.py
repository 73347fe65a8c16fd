"""The operations on managed policies. To show those of AWS is left to others, who know their documents."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torpor_account.aws.calls import Call, NotOurs
from torpor_account.iam import errors, shapes
from torpor_account.iam.context import Iam
from torpor_account.iam.identities.ids import new_id
from torpor_account.iam.identity_records import ManagedPolicy
from torpor_account.iam.identity_tags import TAGGED_POLICIES, first_tags
from torpor_account.iam.markers import page
from torpor_account.iam.policies import aws_managed
from torpor_account.iam.policies.attached import boundary_of, check_unused
from torpor_account.iam.policies.document_rules import check_permissions

VERSIONS_MAX = 5
CHARACTERS_MAX = 6144

PolicyCounts = Callable[[str], dict[str, int]]
"""How many roles, users and groups have a policy, by its ARN, and how many it limits."""
SHOWING = frozenset(("GetPolicy", "GetPolicyVersion", "ListPolicyVersions"))
"""What may be done with AWS's own policies. The long tail knows their documents."""


def create_policy(iam: Iam, call: Call) -> dict[str, Any]:
    document, now_s = _checked(call), iam.clock()
    policy = ManagedPolicy(
        name=call.params["PolicyName"],
        policy_id=new_id("ANPA"),
        created_s=now_s,
        updated_s=now_s,
        versions={"v1": document},
        made_s={"v1": now_s},
        path=call.params.get("Path", "/"),
        description=call.params.get("Description"),
    )
    tags = first_tags(TAGGED_POLICIES, call)
    if not iam.managed.add(policy):
        raise errors.POLICY_EXISTS(name=policy.name)
    iam.tags.put(policy.arn(call.account), tags)
    return {"Policy": shapes.managed_policy(policy, call.account, tags=tags)}


def get_policy(iam: Iam, call: Call) -> dict[str, Any]:
    policy = _ours(iam, call)
    tags = iam.tags.of(policy.arn(call.account))
    return {"Policy": {**shown(policy, call.account, counting(iam)), "Tags": shapes.tag_list(tags)}}


def list_policies(iam: Iam, call: Call) -> dict[str, Any]:
    scope, prefix = call.params.get("Scope", "All"), call.params.get("PathPrefix", "/")
    count = counting(iam)
    listed = [] if scope == "AWS" else [shown(policy, call.account, count) for policy in iam.managed.all()]
    if scope != "Local":
        listed += [{**policy, **count(policy["Arn"])} for policy in aws_managed.listed()]
    found = sorted((one for one in listed if _is_listed(one, prefix, call.params)), key=lambda one: one["Arn"])
    policies, more = page(found, lambda policy: policy["Arn"], call.params)
    return {"Policies": policies, **more}


def _is_listed(policy: dict[str, Any], prefix: str, params: dict[str, Any]) -> bool:
    """Whether the filters of the call let a policy through."""
    attached, limiting = policy["AttachmentCount"], policy["PermissionsBoundaryUsageCount"]
    used = {"PermissionsPolicy": attached or not limiting, "PermissionsBoundary": limiting}
    is_used = used.get(params.get("PolicyUsageFilter", ""), True)
    return bool(is_used and policy["Path"].startswith(prefix) and (attached or not params.get("OnlyAttached")))


def delete_policy(iam: Iam, call: Call) -> dict[str, Any]:
    with iam.together():
        policy = _ours(iam, call)
        check_unused(iam, policy.arn(call.account))
        if len(policy.versions) > 1:
            raise errors.HAS_VERSIONS()
        iam.managed.remove(policy.name)
    iam.tags.forget(policy.arn(call.account))
    return {}


def create_policy_version(iam: Iam, call: Call) -> dict[str, Any]:
    document, now_s = _checked(call), iam.clock()

    def edit(policy: ManagedPolicy) -> ManagedPolicy:
        if len(policy.versions) >= VERSIONS_MAX:
            raise errors.QUOTA(what="VersionsPerPolicy", limit=VERSIONS_MAX)
        version = f"v{policy.newest + 1}"
        default = version if call.params.get("SetAsDefault") else policy.default
        versions, made_s = {**policy.versions, version: document}, {**policy.made_s, version: now_s}
        return replace(
            policy, versions=versions, made_s=made_s, newest=policy.newest + 1, default=default, updated_s=now_s
        )

    policy = _changed(iam, call, edit)
    version = shapes.policy_version(policy, f"v{policy.newest}")
    return {"PolicyVersion": {name: value for name, value in version.items() if name != "Document"}}


def get_policy_version(iam: Iam, call: Call) -> dict[str, Any]:
    policy = _ours(iam, call)
    return {"PolicyVersion": shapes.policy_version(policy, _version(policy, call))}


def list_policy_versions(iam: Iam, call: Call) -> dict[str, Any]:
    policy = _ours(iam, call)
    newest_first = sorted(policy.versions, key=lambda version: int(version[1:]), reverse=True)
    found, more = page(enumerate(newest_first), lambda numbered: f"{numbered[0]:06}", call.params)
    return {"Versions": [shapes.policy_version(policy, version) for _, version in found], **more}


def set_default_policy_version(iam: Iam, call: Call) -> dict[str, Any]:
    _changed(iam, call, lambda policy: replace(policy, default=_version(policy, call)))
    return {}


def delete_policy_version(iam: Iam, call: Call) -> dict[str, Any]:
    def edit(policy: ManagedPolicy) -> ManagedPolicy:
        gone = _version(policy, call)
        if gone == policy.default:
            raise errors.DEFAULT_VERSION()
        versions = {version: text for version, text in policy.versions.items() if version != gone}
        return replace(policy, versions=versions, made_s={version: policy.made_s[version] for version in versions})

    _changed(iam, call, edit)
    return {}


def _checked(call: Call) -> str:
    document: str = call.params["PolicyDocument"]
    check_permissions(document)
    if len("".join(document.split())) > CHARACTERS_MAX:  # "IAM does not count white space"
        raise errors.QUOTA(what="PolicySize", limit=CHARACTERS_MAX)
    return document


def _ours(iam: Iam, call: Call) -> ManagedPolicy:
    """The policy of the call. Raises NotOurs to show one of AWS, AccessDenied to change it, and NoSuchEntity."""
    arn = call.params["PolicyArn"]
    policy = iam.policy_at(arn, call.account)
    if policy is None and aws_managed.is_awss(arn):
        raise NotOurs if call.operation in SHOWING else errors.AWSS_POLICY(arn=arn)
    if policy is None:
        raise errors.NO_POLICY(arn=arn)
    return policy


def _changed(iam: Iam, call: Call, edit: Callable[[ManagedPolicy], ManagedPolicy]) -> ManagedPolicy:
    with iam.together():
        policy = edit(_ours(iam, call))
        iam.managed.put(policy)
    return policy


def _version(policy: ManagedPolicy, call: Call) -> str:
    version: str = call.params["VersionId"]
    if version not in policy.versions:
        raise errors.NO_VERSION(arn=call.params["PolicyArn"], version=version)
    return version


def shown(policy: ManagedPolicy, account: str, count: PolicyCounts) -> dict[str, Any]:
    return {**shapes.managed_policy(policy, account), **count(policy.arn(account))}


def counting(iam: Iam) -> PolicyCounts:
    """Reads who holds policies, once for any number of them."""
    holders = iam.holders()
    attached = Counter(arn for holder in holders for arn in holder.attached)
    limiting = Counter(boundary_of(holder) for holder in holders)
    return lambda arn: {"AttachmentCount": attached[arn], "PermissionsBoundaryUsageCount": limiting[arn]}
