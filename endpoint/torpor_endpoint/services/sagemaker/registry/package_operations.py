"""The model registry: groups of model packages, packages, and their approval. A package is a record: nothing is loaded.

Source of texts and defaults: AWS's API reference, and public issues that quote AWS.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from torpor_account.aws.calls import Call
from torpor_endpoint.core.registry.package_records import PENDING, ModelPackage, PackageGroup
from torpor_endpoint.services.sagemaker import errors
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.errors import Resource
from torpor_endpoint.services.sagemaker.listing import page
from torpor_endpoint.services.sagemaker.rules import Rules, Wire, check
from torpor_endpoint.services.sagemaker.tag_operations import first_tags

BOTH = "Both ModelPackageName and ModelPackageGroupName are provided in the input. Cannot determine which one to use."
CREATE_RULES: Rules[Wire] = (
    (lambda p: "ModelPackageName" in p and "ModelPackageGroupName" in p, BOTH),
    (lambda p: "ModelPackageName" not in p and "ModelPackageGroupName" not in p, "Missing ARN."),
    (
        lambda p: "SourceAlgorithmSpecification" in p,
        "SourceAlgorithmSpecification is not supported by Torpor: give InferenceSpecification.",
    ),
    (
        lambda p: "ModelPackageGroupName" in p and bool(p.get("Tags")),
        "Tags are not supported on a versioned model package: tag its group.",
    ),
    (
        lambda p: "ModelPackageGroupName" not in p and "ModelApprovalStatus" in p,
        "ModelApprovalStatus is for a versioned model package: give ModelPackageGroupName.",
    ),
    (
        lambda p: (
            "ModelPackageGroupName" in p
            and bool(p.keys() & {"ValidationSpecification"} or p.get("CertifyForMarketplace"))
        ),
        "ValidationSpecification and CertifyForMarketplace are for a model package without a group.",
    ),
)
NOT_REPEATED: Final = {"Tags", "ClientToken", "ModelPackageName", "ModelPackageGroupName", "ModelApprovalStatus"}
UPDATED: Final = ("ApprovalDescription", "InferenceSpecification", "SourceUri", "ModelCard", "ModelLifeCycle")
"""The members of UpdateModelPackage that replace what there was."""
IN_SUMMARIES: Final[tuple[str, ...]] = ("ModelPackageDescription", "ModelLifeCycle", "ModelPackageRegistrationType")
ASCENDING: Final = {"SortOrder": "Ascending"}


# -- groups ------------------------------------------------------------------------------------------------------------
def create_model_package_group(control: Control, call: Call) -> dict[str, Any]:
    name = call.params["ModelPackageGroupName"]
    arn = Resource.PACKAGE_GROUP.arn(call, name)
    description = call.params.get("ModelPackageGroupDescription", "")
    if not control.store.packages.add_group(PackageGroup(name, arn, control.clock(), description), first_tags(call)):
        raise errors.EXISTS(noun=Resource.PACKAGE_GROUP.noun, arn=arn)
    return {"ModelPackageGroupArn": arn}


def describe_model_package_group(control: Control, call: Call) -> dict[str, Any]:
    return {**_group_summary(_group(control, call, call.params["ModelPackageGroupName"])), "CreatedBy": {}}


def list_model_package_groups(control: Control, call: Call) -> dict[str, Any]:
    shared_alone = call.params.get("CrossAccountFilterOption") == "CrossAccount"  # no other account shares any
    found = () if shared_alone else control.store.packages.groups()
    groups, token = page(found, {**ASCENDING, **call.params})
    return {"ModelPackageGroupSummaryList": list(map(_group_summary, groups)), "NextToken": token}


def delete_model_package_group(control: Control, call: Call) -> dict[str, Any]:
    """A group whose versions are not deleted stays."""
    group = _group(control, call, call.params["ModelPackageGroupName"])
    if not control.store.packages.remove_group(group):
        raise errors.GROUP_IN_USE(arn=group.arn)
    return {}


# -- packages ----------------------------------------------------------------------------------------------------------
def create_model_package(control: Control, call: Call) -> dict[str, Any]:
    check(CREATE_RULES, call.params)
    params, now_s = call.params, control.clock()
    request = {name: value for name, value in params.items() if name not in NOT_REPEATED}
    if "ModelPackageName" in params:
        name = params["ModelPackageName"]
        arn = Resource.PACKAGE.arn(call, name)
        if not control.store.packages.add(ModelPackage(name, arn, now_s, now_s, request), first_tags(call)):
            raise errors.EXISTS(noun=Resource.PACKAGE.noun, arn=arn)
        return {"ModelPackageArn": arn}
    group = _group(control, call, params["ModelPackageGroupName"])

    def version(group: PackageGroup, number: int) -> ModelPackage:
        name = f"{group.name}/{number}"
        return ModelPackage(
            name,
            Resource.PACKAGE.arn(call, name),
            now_s,
            now_s,
            request,
            group.name,
            number,
            params.get("ModelApprovalStatus", PENDING),
            params.get("ClientToken", ""),
        )

    package = control.store.packages.add_version(group.name, version)
    if package is None:  # deleted meanwhile
        raise errors.NOT_FOUND(noun=Resource.PACKAGE_GROUP.noun, arn=group.arn)
    return {"ModelPackageArn": package.arn}


def describe_model_package(control: Control, call: Call) -> dict[str, Any]:
    package = found_package(control, call, call.params["ModelPackageName"])
    left_out = {"ModelCard"} if call.params.get("IncludedData") == "MetadataOnly" else set()
    return {
        **{name: value for name, value in package.request.items() if name not in left_out},
        **_identity(package),
        "ModelPackageName": package.group_name or package.name,
        "LastModifiedTime": package.modified_s,
        "ModelPackageStatusDetails": {"ValidationStatuses": []},
    }


def list_model_packages(control: Control, call: Call) -> dict[str, Any]:
    """Without a group, only packages that stand alone are listed, unless ModelPackageType asks for others."""
    params, store = call.params, control.store.packages
    if "ModelPackageGroupName" in params:
        found = store.versions_of(_group(control, call, params["ModelPackageGroupName"]).name)
    else:
        wanted = params.get("ModelPackageType", "Unversioned")
        found = tuple(one for one in store.packages() if wanted in ("Both", _type(one)))
    approval = params.get("ModelApprovalStatus")
    matching = [one for one in found if approval in (None, one.approval)]
    packages, token = page(matching, {**ASCENDING, **params})
    return {"ModelPackageSummaryList": list(map(_summary, packages)), "NextToken": token}


def update_model_package(control: Control, call: Call) -> dict[str, Any]:
    package, params = found_package(control, call, call.params["ModelPackageArn"]), call.params
    if "ModelApprovalStatus" in params and not package.group_name:
        raise errors.INVALID("ModelApprovalStatus is for a versioned model package: this one has no group.")
    request: dict[str, Any] = {**package.request, **{name: params[name] for name in UPDATED if name in params}}
    if "ModelPackageRegistrationType" in params:
        request["ModelPackageRegistrationType"] = params["ModelPackageRegistrationType"]
    removed: Sequence[str] = params.get("CustomerMetadataPropertiesToRemove", ())
    metadata: dict[str, str] = dict(request.get("CustomerMetadataProperties", {}))
    metadata |= params.get("CustomerMetadataProperties", {})
    request["CustomerMetadataProperties"] = {key: value for key, value in metadata.items() if key not in removed}
    more = params.get("AdditionalInferenceSpecificationsToAdd", ())
    request["AdditionalInferenceSpecifications"] = [*request.get("AdditionalInferenceSpecifications", ()), *more]
    updated = replace(
        package,
        modified_s=control.clock(),
        request={name: value for name, value in request.items() if value not in ({}, [])},
        approval=params.get("ModelApprovalStatus", package.approval),
    )
    if not control.store.packages.replace(updated):
        raise errors.NOT_FOUND(noun=Resource.PACKAGE.noun, arn=package.arn)
    return {"ModelPackageArn": package.arn}


def delete_model_package(control: Control, call: Call) -> dict[str, Any]:
    """Models that were made of it go on: they have copies of its containers."""
    control.store.packages.remove(found_package(control, call, call.params["ModelPackageName"]))
    return {}


def found_package(control: Control, call: Call, named: str) -> ModelPackage:
    """A package by its name or ARN. Raises ValidationException."""
    package = control.store.packages.package(named.rpartition(":model-package/")[2])
    if package is None:
        arn = named if named.startswith("arn:") else Resource.PACKAGE.arn(call, named)
        raise errors.NOT_FOUND(noun=Resource.PACKAGE.noun, arn=arn)
    return package


def _group(control: Control, call: Call, named: str) -> PackageGroup:
    group = control.store.packages.group(named.rpartition("/")[2])
    if group is None:
        arn = named if named.startswith("arn:") else Resource.PACKAGE_GROUP.arn(call, named)
        raise errors.NOT_FOUND(noun=Resource.PACKAGE_GROUP.noun, arn=arn)
    return group


# -- wire shapes -------------------------------------------------------------------------------------------------------
def _group_summary(group: PackageGroup) -> dict[str, Any]:
    described = {"ModelPackageGroupDescription": group.description} if group.description else {}
    return {
        "ModelPackageGroupName": group.name,
        "ModelPackageGroupArn": group.arn,
        "CreationTime": group.created_s,
        "ModelPackageGroupStatus": "Completed",
        **described,
    }


def _identity(package: ModelPackage) -> dict[str, Any]:
    versioned = {
        "ModelPackageGroupName": package.group_name,
        "ModelPackageVersion": package.version,
        "ModelApprovalStatus": package.approval,
    }
    return {
        "ModelPackageArn": package.arn,
        "CreationTime": package.created_s,
        "ModelPackageStatus": "Completed",
        **(versioned if package.group_name else {}),
    }


def _summary(package: ModelPackage) -> dict[str, Any]:
    """AWS names no ModelPackageName for a version of a group."""
    name = {} if package.group_name else {"ModelPackageName": package.name}
    told = {member: package.request[member] for member in IN_SUMMARIES if member in package.request}
    return {**_identity(package), **name, **told}


def _type(package: ModelPackage) -> str:
    return "Versioned" if package.group_name else "Unversioned"


OPERATIONS: Mapping[str, Callable[[Control, Call], dict[str, Any]]] = {
    "CreateModelPackageGroup": create_model_package_group,
    "DescribeModelPackageGroup": describe_model_package_group,
    "ListModelPackageGroups": list_model_package_groups,
    "CreateModelPackage": create_model_package,
    "DescribeModelPackage": describe_model_package,
    "ListModelPackages": list_model_packages,
    "UpdateModelPackage": update_model_package,
    "DeleteModelPackage": delete_model_package,
    "DeleteModelPackageGroup": delete_model_package_group,
}
