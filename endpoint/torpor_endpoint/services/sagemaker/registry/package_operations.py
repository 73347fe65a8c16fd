"""Model packages and their approval. A package is a record: nothing is loaded. Approved versions of a group that feeds
prefixes are copied there (`prefix_feeding`).

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
from torpor_endpoint.services.sagemaker.registry.approvals import (
    artifact_etag,
    first_approval,
    store_deletion,
    store_update,
)
from torpor_endpoint.services.sagemaker.registry.package_group_operations import ASCENDING, found_group
from torpor_endpoint.services.sagemaker.registry.package_shapes import (
    batch_summary,
    package_description,
    package_summary,
)
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
ARN_MARK: Final = ":model-package/"
NOT_REPEATED: Final = {"Tags", "ClientToken", "ModelPackageName", "ModelPackageGroupName", "ModelApprovalStatus"}
UPDATED: Final = ("ApprovalDescription", "InferenceSpecification", "SourceUri", "ModelCard", "ModelLifeCycle")
"""The members of UpdateModelPackage that replace what there was."""


def create_model_package(control: Control, call: Call) -> dict[str, Any]:
    check(CREATE_RULES, call.params)
    params, now_s = call.params, control.clock()
    request = {name: value for name, value in params.items() if name not in NOT_REPEATED}
    if "ModelPackageName" in params:
        name = params["ModelPackageName"]
        arn = Resource.PACKAGE.arn(call, name)
        alone = ModelPackage(name, arn, now_s, now_s, request)
        if not control.store.packages.add(alone, first_tags(call)):
            raise errors.EXISTS(noun=Resource.PACKAGE.noun, arn=arn)
        control.package_changed(alone)
        return {"ModelPackageArn": arn}
    group = found_group(control, call, params["ModelPackageGroupName"])

    approval, etag = params.get("ModelApprovalStatus", PENDING), artifact_etag(control, request)
    made = list[ModelPackage]()

    def version(group: PackageGroup, number: int) -> ModelPackage:
        name = f"{group.name}/{number}"
        arn = Resource.PACKAGE.arn(call, name)
        token = params.get("ClientToken", "")
        made.append(ModelPackage(name, arn, now_s, now_s, request, group.name, number, PENDING, token, etag))
        return made[-1]

    package = control.store.packages.add_version(group.name, version)
    if package is None:  # deleted meanwhile
        raise errors.NO_GROUP(arn=group.arn)
    if package is not made[-1]:  # an earlier call with this ClientToken made it
        return {"ModelPackageArn": package.arn}
    if approval != PENDING:
        package = first_approval(control, package, approval)
    control.package_changed(package)
    return {"ModelPackageArn": package.arn}


def describe_model_package(control: Control, call: Call) -> dict[str, Any]:
    package = found_package(control, call, call.params["ModelPackageName"])
    left_out = frozenset({"ModelCard"} if call.params.get("IncludedData") == "MetadataOnly" else ())
    return package_description(package, left_out)


def list_model_packages(control: Control, call: Call) -> dict[str, Any]:
    """Without a group, only packages that stand alone are listed, unless ModelPackageType asks for others."""
    params, store = call.params, control.store.packages
    if "ModelPackageGroupName" in params:
        found = store.versions_of(found_group(control, call, params["ModelPackageGroupName"]).name)
    else:
        wanted = params.get("ModelPackageType", "Unversioned")
        found = tuple(one for one in store.packages() if wanted in ("Both", _type(one)))
    approval = params.get("ModelApprovalStatus")
    matching = [one for one in found if approval in (None, one.approval)]
    packages, token = page(matching, {**ASCENDING, **params})
    return {"ModelPackageSummaryList": list(map(package_summary, packages)), "NextToken": token}


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
        etag=artifact_etag(control, request) if "InferenceSpecification" in params else package.etag,
    )
    store_update(control, package, updated)
    if updated.approval != package.approval:
        control.package_changed(updated)
    return {"ModelPackageArn": package.arn}


def delete_model_package(control: Control, call: Call) -> dict[str, Any]:
    """Models that were made of it go on: they have copies of its containers. What it has put below prefixes goes."""
    package = found_package(control, call, call.params["ModelPackageName"])
    store_deletion(control, package)
    return {}


def batch_describe_model_package(control: Control, call: Call) -> dict[str, Any]:
    """Versions alone, as on AWS: what is required of a summary has a group."""
    summaries, faults = dict[str, Any](), dict[str, Any]()
    for arn in call.params["ModelPackageArnList"]:
        package = control.store.packages.package(arn.rpartition(":model-package/")[2]) if ARN_MARK in arn else None
        if package is None or not package.group_name:
            fault = errors.NOT_FOUND(noun=Resource.PACKAGE.noun, arn=arn)
            faults[arn] = {"ErrorCode": fault.code, "ErrorResponse": fault.message}
        else:
            summaries[arn] = batch_summary(package)
    return {"ModelPackageSummaries": summaries, "BatchDescribeModelPackageErrorMap": faults}


def found_package(control: Control, call: Call, named: str) -> ModelPackage:
    """A package by its name or ARN. Raises ValidationException."""
    package = control.store.packages.package(named.rpartition(":model-package/")[2])
    if package is None:
        arn = named if named.startswith("arn:") else Resource.PACKAGE.arn(call, named)
        raise errors.NOT_FOUND(noun=Resource.PACKAGE.noun, arn=arn)
    return package


def _type(package: ModelPackage) -> str:
    return "Versioned" if package.group_name else "Unversioned"


OPERATIONS: Mapping[str, Callable[[Control, Call], dict[str, Any]]] = {
    "CreateModelPackage": create_model_package,
    "DescribeModelPackage": describe_model_package,
    "ListModelPackages": list_model_packages,
    "UpdateModelPackage": update_model_package,
    "DeleteModelPackage": delete_model_package,
    "BatchDescribeModelPackage": batch_describe_model_package,
}
