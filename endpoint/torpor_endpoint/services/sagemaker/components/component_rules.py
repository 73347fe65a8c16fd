"""The rules for inference components that AWS's service model lacks. Each message names the member."""

from collections.abc import Sequence

from torpor_account.core.s3_address import is_s3_url
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.host.images import Images
from torpor_endpoint.services.sagemaker import errors
from torpor_endpoint.services.sagemaker.model_rules import setting_fault, variable_fault
from torpor_endpoint.services.sagemaker.rules import Rules, Wire, broken, check

ENVIRONMENT_ENTRIES = 16

# -- CreateInferenceComponent and UpdateInferenceComponent -------------------------------------------------------------
# "You can use either this parameter or the singular Specification parameter, but not both."
REQUEST_RULES: Rules[Wire] = (
    (
        lambda params: "Specification" in params and "Specifications" in params,
        "Only one of Specification and Specifications can be given.",
    ),
    (
        lambda params: any("InstanceType" not in one for one in params.get("Specifications", ())),
        "Each of Specifications must have an InstanceType.",
    ),
    (
        lambda params: (
            len({one["InstanceType"] for one in params.get("Specifications", ())})
            < len(params.get("Specifications", ()))
        ),
        "Specifications must not have the same InstanceType twice.",
    ),
    (
        lambda params: any("BaseInferenceComponentName" in one for one in params.get("Specifications", ())),
        "BaseInferenceComponentName needs Specification: an adapter has what its base has on each instance type.",
    ),
    (
        lambda params: "BaseInferenceComponentName" in params.get("Specification", {}) and "RuntimeConfig" in params,
        "RuntimeConfig cannot be given with BaseInferenceComponentName: the copies of its base serve an adapter.",
    ),
)

CREATE_RULES: Rules[Wire] = (
    (
        lambda params: "Specification" not in params and "Specifications" not in params,
        "One of Specification and Specifications must be given.",
    ),
)

UPDATE_RULES: Rules[Wire] = (
    (
        lambda params: not {"Specification", "Specifications", "RuntimeConfig"} & params.keys(),
        "An update must have Specification, Specifications or RuntimeConfig.",
    ),
    (
        lambda params: "DeploymentConfig" in params and not {"Specification", "Specifications"} & params.keys(),
        "DeploymentConfig needs Specification or Specifications: a number of copies alone is changed without one.",
    ),
)

# -- one specification -------------------------------------------------------------------------------------------------
SPECIFICATION_RULES: Rules[Wire] = (
    (
        lambda one: ("ModelName" in one) == ("Container" in one),
        "Exactly one of ModelName and Container must be given.",
    ),
    # "Omit this parameter if your request is meant to create an adapter inference component."
    (
        lambda one: _is_adapter(one) and "ComputeResourceRequirements" in one,
        "ComputeResourceRequirements cannot be given with BaseInferenceComponentName: an adapter uses the compute "
        "resources of its base.",
    ),
    # "use the Container parameter to specify the location of the adapter artifacts"
    (
        lambda one: _is_adapter(one) and set(one.get("Container", {})) != {"ArtifactUrl"},
        "With BaseInferenceComponentName, give Container with ArtifactUrl alone: the place of the adapter.",
    ),
    (
        lambda one: _is_adapter(one) and "SchedulingConfig" in one,
        "SchedulingConfig cannot be given with BaseInferenceComponentName: an adapter is where its base is.",
    ),
    (
        lambda one: not _is_adapter(one) and "Container" in one and not one["Container"].get("Image"),
        "Container must have an Image.",
    ),
    # "This path must point to a single gzip compressed tar archive (.tar.gz suffix)."
    (
        lambda one: "ArtifactUrl" in one.get("Container", {}) and not _is_archive(one["Container"]["ArtifactUrl"]),
        "Container.ArtifactUrl must be s3://bucket/key of one archive, and end with .tar.gz.",
    ),
    # "We support up to 16 entries in the map."
    (
        lambda one: len(_environment(one)) > ENVIRONMENT_ENTRIES,
        f"Container.Environment must not have more than {ENVIRONMENT_ENTRIES} entries.",
    ),
    (
        lambda one: not _is_adapter(one) and "ComputeResourceRequirements" not in one,
        "ComputeResourceRequirements must be given: they may be left out for an adapter only.",
    ),
    (
        lambda one: _compute(one).get("MaxMemoryRequiredInMb", float("inf")) < _compute(one)["MinMemoryRequiredInMb"],
        "MaxMemoryRequiredInMb must not be smaller than MinMemoryRequiredInMb.",
    ),
    (
        lambda one: "AcceleratorPartitionType" in _compute(one),
        "AcceleratorPartitionType is not supported by Torpor: it makes no partitions of accelerators.",
    ),
)


def specifications(params: Wire) -> Sequence[Wire]:
    """Those that a request has, in either of their two places."""
    found: Sequence[Wire] = params.get("Specifications", [params["Specification"]] if "Specification" in params else [])
    return found


def check_specifications(params: Wire, images: Images) -> None:
    """Raises ValidationException, which names the specification if there are several."""
    several = "Specifications" in params
    for number, one in enumerate(specifications(params), start=1):
        if fault := broken(SPECIFICATION_RULES, one) or _container_fault(one, images):
            raise errors.INVALID(f"Specification {number} of Specifications: {fault}" if several else fault)


def check_instance_types(params: Wire, variant: Variant) -> None:
    """Raises ValidationException if the variant may have instances that no specification is for."""
    types = [pool.instance_type for pool in variant.pools] or [variant.instance_type or ""]
    sent = {one.get("InstanceType") for one in specifications(params)}
    lacking = [one for one in types if None not in sent and one not in sent]
    if lacking:
        raise errors.INVALID(
            f'InstanceType: production variant "{variant.name}" has instances of {", ".join(lacking)}, and no '
            "specification is for them."
        )


def check_request(params: Wire, more: Rules[Wire], images: Images) -> None:
    """Raises ValidationException for what no endpoint could have."""
    check(more, params)
    check(REQUEST_RULES, params)
    check_specifications(params, images)


def _container_fault(one: Wire, images: Images) -> str | None:
    """The fault of the settings in its Environment."""
    container = one.get("Container", {})
    if "Image" not in container:
        return None
    fault = setting_fault(container) or variable_fault(container, images)
    return fault and f"Container.{fault}"


def _is_adapter(one: Wire) -> bool:
    return "BaseInferenceComponentName" in one


def _is_archive(url: str) -> bool:
    return is_s3_url(url) and url.endswith(".tar.gz")


def _environment(one: Wire) -> Wire:
    found: Wire = one.get("Container", {}).get("Environment", {})
    return found


def _compute(one: Wire) -> Wire:
    found: Wire = one.get("ComputeResourceRequirements", {"MinMemoryRequiredInMb": 0})
    return found
