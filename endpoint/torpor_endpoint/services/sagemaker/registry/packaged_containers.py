"""Puts what a model package says in the place of its name, in a request to CreateModel."""

from collections.abc import Sequence
from typing import Any

from torpor_account.aws.calls import Call
from torpor_endpoint.core.registry.package_records import ModelPackage
from torpor_endpoint.services.sagemaker import errors
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.registry.package_operations import found_package
from torpor_endpoint.services.sagemaker.rules import Wire

INSTEAD_OF = ("Image", "ModelDataUrl", "ModelDataSource", "Mode", "MultiModelConfig")
REFUSED = "AdditionalS3DataSource"
TAKEN = ("Image", "ModelDataUrl", "ModelDataSource", "ContainerHostname")


def with_packages(control: Control, call: Call) -> dict[str, Any]:
    """CreateModel's members, in which each container that names a package is what the package says. Raises
    ValidationException for a package that is not there, is not approved, or does not fit."""
    params = dict(call.params)
    if "PrimaryContainer" in params:
        params["PrimaryContainer"] = _resolved(control, call, params["PrimaryContainer"])
    if "Containers" in params:
        params["Containers"] = [_resolved(control, call, one) for one in params["Containers"]]
    return params


def _resolved(control: Control, call: Call, given: Wire) -> Wire:
    if "ModelPackageName" not in given:
        return given
    beside = [member for member in INSTEAD_OF if member in given]
    if beside:
        raise errors.INVALID(f"ModelPackageName says what {beside[0]} would say: give one of them.")
    package = found_package(control, call, given["ModelPackageName"])
    if not package.deployable:
        raise errors.INVALID(
            f"Model package {package.arn} is {package.approval}: only one whose ModelApprovalStatus is Approved can be "
            "deployed."
        )
    containers = _containers(package, given.get("InferenceSpecificationName"))
    if len(containers) != 1:
        raise errors.INVALID(f"Model package {package.arn} has {len(containers)} containers: Torpor takes one.")
    if REFUSED in containers[0]:
        raise errors.INVALID(
            f"{REFUSED} of model package {package.arn} is not supported by Torpor: pack it with the model."
        )
    taken = {member: containers[0][member] for member in TAKEN if member in containers[0]}
    environment = {**containers[0].get("Environment", {}), **given.get("Environment", {})}
    own = {
        name: value for name, value in given.items() if name not in ("ModelPackageName", "InferenceSpecificationName")
    }
    return {**taken, **own, **({"Environment": environment} if environment else {})}


def _containers(package: ModelPackage, specification: str | None) -> Sequence[Wire]:
    if specification is None:
        found = package.request.get("InferenceSpecification", {})
    else:
        more = package.request.get("AdditionalInferenceSpecifications", ())
        found = next((one for one in more if one["Name"] == specification), None)
        if found is None:
            raise errors.INVALID(f"Model package {package.arn} has no InferenceSpecificationName {specification}.")
    containers: Sequence[Wire] = found.get("Containers", ())
    return containers
