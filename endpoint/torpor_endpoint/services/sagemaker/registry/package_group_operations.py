"""Groups of model packages, and their resource policies, which are kept and decide nothing: there is one account."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from torpor_account.aws.calls import Call
from torpor_account.aws.errors import ErrorKind
from torpor_endpoint.core.registry.package_records import PackageGroup
from torpor_endpoint.services.sagemaker import errors
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.errors import Resource
from torpor_endpoint.services.sagemaker.listing import page
from torpor_endpoint.services.sagemaker.registry.package_shapes import group_summary
from torpor_endpoint.services.sagemaker.tag_operations import first_tags

ASCENDING: Final = {"SortOrder": "Ascending"}


def create_model_package_group(control: Control, call: Call) -> dict[str, Any]:
    name = call.params["ModelPackageGroupName"]
    arn = Resource.PACKAGE_GROUP.arn(call, name)
    description = call.params.get("ModelPackageGroupDescription", "")
    if not control.store.packages.add_group(PackageGroup(name, arn, control.clock(), description), first_tags(call)):
        raise errors.EXISTS(noun=Resource.PACKAGE_GROUP.noun, arn=arn)
    return {"ModelPackageGroupArn": arn}


def describe_model_package_group(control: Control, call: Call) -> dict[str, Any]:
    return {**group_summary(found_group(control, call, call.params["ModelPackageGroupName"])), "CreatedBy": {}}


def list_model_package_groups(control: Control, call: Call) -> dict[str, Any]:
    shared_alone = call.params.get("CrossAccountFilterOption") == "CrossAccount"  # no other account shares any
    found = () if shared_alone else control.store.packages.groups()
    groups, token = page(found, {**ASCENDING, **call.params})
    return {"ModelPackageGroupSummaryList": list(map(group_summary, groups)), "NextToken": token}


def delete_model_package_group(control: Control, call: Call) -> dict[str, Any]:
    """A group whose versions are not deleted stays."""
    group = found_group(control, call, call.params["ModelPackageGroupName"])
    if not control.store.packages.remove_group(group):
        raise errors.GROUP_IN_USE(arn=group.arn)
    return {}


# -- policies ----------------------------------------------------------------------------------------------------------
def put_model_package_group_policy(control: Control, call: Call) -> dict[str, Any]:
    group = found_group(control, call, call.params["ModelPackageGroupName"], errors.NO_GROUP_OF_POLICY)
    policy = call.params["ResourcePolicy"]
    if not _is_policy(policy):
        raise errors.INVALID("ResourcePolicy must be a policy document: JSON with a list of statements in Statement.")
    if not control.store.packages.set_policy(group, policy):
        raise errors.NO_GROUP_OF_POLICY(arn=group.arn)
    return {"ModelPackageGroupArn": group.arn}


def get_model_package_group_policy(control: Control, call: Call) -> dict[str, Any]:
    return {"ResourcePolicy": _with_policy(control, call).policy}


def delete_model_package_group_policy(control: Control, call: Call) -> dict[str, Any]:
    control.store.packages.set_policy(_with_policy(control, call), "")
    return {}


def _with_policy(control: Control, call: Call) -> PackageGroup:
    group = found_group(control, call, call.params["ModelPackageGroupName"], errors.NO_GROUP_OF_POLICY)
    if not group.policy:
        raise errors.NO_GROUP_POLICY(arn=group.arn)
    return group


def _is_policy(text: str) -> bool:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    statements = document.get("Statement") if isinstance(document, dict) else None
    listed = statements if isinstance(statements, list) else [statements]
    return bool(listed) and all(isinstance(one, dict) and "Effect" in one for one in listed)


def found_group(control: Control, call: Call, named: str, missing: ErrorKind = errors.NO_GROUP) -> PackageGroup:
    """A group by its name or ARN. Raises `missing`."""
    group = control.store.packages.group(named.rpartition("/")[2])
    if group is None:
        arn = named if named.startswith("arn:") else Resource.PACKAGE_GROUP.arn(call, named)
        raise missing(arn=arn)
    return group


OPERATIONS: Mapping[str, Callable[[Control, Call], dict[str, Any]]] = {
    "CreateModelPackageGroup": create_model_package_group,
    "DescribeModelPackageGroup": describe_model_package_group,
    "ListModelPackageGroups": list_model_package_groups,
    "DeleteModelPackageGroup": delete_model_package_group,
    "PutModelPackageGroupPolicy": put_model_package_group_policy,
    "GetModelPackageGroupPolicy": get_model_package_group_policy,
    "DeleteModelPackageGroupPolicy": delete_model_package_group_policy,
}
