"""Wire shapes of the model registry: groups and packages as descriptions and listings show them."""

from typing import Any, Final

from torpor_endpoint.core.registry.package_records import ModelPackage, PackageGroup

IN_SUMMARIES: Final[tuple[str, ...]] = ("ModelPackageDescription", "ModelLifeCycle", "ModelPackageRegistrationType")
IN_BATCHES: Final = ("ModelPackageDescription", "InferenceSpecification", "ModelPackageRegistrationType")


def group_summary(group: PackageGroup) -> dict[str, Any]:
    described = {"ModelPackageGroupDescription": group.description} if group.description else {}
    return {
        "ModelPackageGroupName": group.name,
        "ModelPackageGroupArn": group.arn,
        "CreationTime": group.created_s,
        "ModelPackageGroupStatus": "Completed",
        **described,
    }


def package_description(package: ModelPackage, left_out: frozenset[str] = frozenset()) -> dict[str, Any]:
    """DescribeModelPackage's answer, without these members."""
    return {
        **{name: value for name, value in package.request.items() if name not in left_out},
        **_identity(package),
        "ModelPackageName": package.group_name or package.name,
        "LastModifiedTime": package.modified_s,
        "ModelPackageStatusDetails": {"ValidationStatuses": []},
    }


def package_summary(package: ModelPackage) -> dict[str, Any]:
    """AWS names no ModelPackageName for a version of a group."""
    name = {} if package.group_name else {"ModelPackageName": package.name}
    return {**_identity(package), **name, **_told(package, IN_SUMMARIES)}


def batch_summary(package: ModelPackage) -> dict[str, Any]:
    """What BatchDescribeModelPackage says of a package. Its InferenceSpecification is required there."""
    empty: dict[str, Any] = {"InferenceSpecification": {"Containers": []}}
    return {**empty, **_identity(package), **_told(package, IN_BATCHES)}


def _told(package: ModelPackage, members: tuple[str, ...]) -> dict[str, Any]:
    return {member: package.request[member] for member in members if member in package.request}


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
