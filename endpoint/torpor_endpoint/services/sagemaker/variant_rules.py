"""The rules for endpoint configs, and for updates of an endpoint's variants, that AWS's service model lacks."""

from collections.abc import Collection

from torpor_account.core.s3_address import is_s3_url
from torpor_endpoint.core.pricing.catalogue import instance_type
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.core.scaling import may_be_empty
from torpor_endpoint.host.launch import MEMORY, memory_plan
from torpor_endpoint.services.sagemaker import errors
from torpor_endpoint.services.sagemaker.components.capacity_rules import CAPACITY_CONFIG_RULES, CAPACITY_RULES
from torpor_endpoint.services.sagemaker.rules import Rules, Wire, check
from torpor_endpoint.services.sagemaker.shapes import container_definitions, scaling_of

FREQUENCIES_S = (10, 30, 60, 120, 180, 240, 300)

# -- AsyncInferenceConfig ----------------------------------------------------------------------------------------------
ASYNC_RULES: Rules[Wire] = (
    (
        lambda params: _is_async(params) and not is_s3_url(_async_output(params).get("S3OutputPath", "")),
        "S3OutputPath of AsyncInferenceConfig must be s3://bucket/prefix.",
    ),
    (
        lambda params: _is_async(params) and not is_s3_url(_async_output(params).get("S3FailurePath", "s3://bucket/")),
        "S3FailurePath of AsyncInferenceConfig must be s3://bucket/prefix.",
    ),
    (
        lambda params: _is_async(params) and any("ServerlessConfig" in v for v in params["ProductionVariants"]),
        "AsyncInferenceConfig excludes ServerlessConfig. A variant of instances may sleep too: give it "
        "ManagedInstanceScaling with MinInstanceCount 0, or scale it to zero.",
    ),
    (
        lambda params: _is_async(params) and bool(params.get("ShadowProductionVariants")),
        "AsyncInferenceConfig excludes ShadowProductionVariants.",
    ),
    (
        lambda params: _is_async(params) and not _async_output(params).get("S3OutputPath", "").isascii(),
        "S3OutputPath of AsyncInferenceConfig must have US-ASCII characters only: it is in a header of each answer.",
    ),
    (
        lambda params: _is_async(params) and not _async_output(params).get("S3FailurePath", "").isascii(),
        "S3FailurePath of AsyncInferenceConfig must have US-ASCII characters only: it is in a header of each answer.",
    ),
    (
        lambda params: _is_async(params) and "DataCaptureConfig" in params,
        "DataCaptureConfig beside AsyncInferenceConfig is not supported by Torpor: the results have the answers.",
    ),
)

# -- CreateEndpointConfig ----------------------------------------------------------------------------------------------
CONFIG_RULES: Rules[Wire] = (
    *ASYNC_RULES,
    (lambda params: "ExplainerConfig" in params, "ExplainerConfig is not supported by Torpor."),
    (
        lambda params: "DataCaptureConfig" in params and not is_s3_url(params["DataCaptureConfig"]["DestinationS3Uri"]),
        "DestinationS3Uri of DataCaptureConfig must be s3://bucket/prefix.",
    ),
    (lambda params: not params["ProductionVariants"], "ProductionVariants must have at least one entry."),
    (
        lambda params: _repeated([v["VariantName"] for v in _sent(params)]),
        "The names of production variants must be unique within an endpoint configuration.",
    ),
    *CAPACITY_CONFIG_RULES,
    # "Valid values: 10, 30, 60, 120, 180, 240, 300."
    (
        lambda params: params.get("MetricsConfig", {}).get("MetricPublishFrequencyInSeconds", 60) not in FREQUENCIES_S,
        f"MetricPublishFrequencyInSeconds must be one of {', '.join(map(str, FREQUENCIES_S))}.",
    ),
    # "You can't specify it with serverless variants or with AsyncInferenceConfig."
    (
        lambda params: (
            "CrossRegionTrafficConfig" in params and any("ServerlessConfig" in v for v in params["ProductionVariants"])
        ),
        "CrossRegionTrafficConfig cannot be used with ServerlessConfig.",
    ),
    (
        lambda params: "CrossRegionTrafficConfig" in params and _is_async(params),
        "CrossRegionTrafficConfig cannot be used with AsyncInferenceConfig.",
    ),
)

VARIANT_RULES: Rules[Wire] = (
    *CAPACITY_RULES,
    (
        lambda v: "AcceleratorType" in v,
        'Production variant "{variant}": AcceleratorType is not supported. AWS no longer offers Elastic Inference.',
    ),
    (
        lambda v: "AcceleratorPartitionLayouts" in v,
        'Production variant "{variant}": AcceleratorPartitionLayouts is not supported by Torpor: the partitions are '
        "for inference components.",
    ),
    # "Specify this parameter only when you set RoutingStrategy to PREFIX_AWARE."
    (
        lambda v: "PrefixAwareRoutingConfig" in _routing(v) and _routing(v)["RoutingStrategy"] != "PREFIX_AWARE",
        'Production variant "{variant}": PrefixAwareRoutingConfig needs RoutingStrategy PREFIX_AWARE.',
    ),
    (
        lambda v: "ServerlessConfig" in v and ("InstanceType" in v or "InitialInstanceCount" in v),
        'Production variant "{variant}": ServerlessConfig excludes InstanceType and InitialInstanceCount.',
    ),
    (
        lambda v: (
            "ServerlessConfig" not in v
            and not ({"InstanceType", "InstancePools"} & v.keys() and "InitialInstanceCount" in v)
        ),
        'Production variant "{variant}" needs either ServerlessConfig, or InstanceType and InitialInstanceCount.',
    ),
    (
        lambda v: "InstanceType" in v and instance_type(v["InstanceType"]) is None,
        'Production variant "{variant}": Torpor has no instance type {type} in its catalogue.',
    ),
    (
        # AWS's model has a range here, and AWS an enumeration.
        lambda v: "ServerlessConfig" in v and v["ServerlessConfig"]["MemorySizeInMB"] not in range(1024, 6145, 1024),
        "1 validation error detected: Value '{memory}' at '{place}.serverlessConfig.memorySizeInMB' failed to satisfy "
        "constraint: Member must satisfy enum value set: [1024, 2048, 3072, 4096, 5120, 6144]",
    ),
    (
        lambda v: "ServerlessConfig" in v and _overprovisioned(v["ServerlessConfig"]),
        'Production variant "{variant}": ProvisionedConcurrency must not be greater than MaxConcurrency.',
    ),
    (
        lambda v: "ServerlessConfig" in v and "ManagedInstanceScaling" in v,
        'Production variant "{variant}": ServerlessConfig excludes ManagedInstanceScaling.',
    ),
    (
        lambda v: _minimum(v) > _maximum(v),
        'Production variant "{variant}": MinInstanceCount must not be greater than MaxInstanceCount.',
    ),
    (
        lambda v: "InitialInstanceCount" in v and not _minimum(v) <= v["InitialInstanceCount"] <= _maximum(v),
        'Production variant "{variant}": InitialInstanceCount must lie within MinInstanceCount and MaxInstanceCount.',
    ),
)


def check_variants(params: Wire) -> None:
    for member in ("ProductionVariants", "ShadowProductionVariants"):
        for number, production in enumerate(params.get(member, ()), start=1):
            names = {"variant": production["VariantName"], "type": production.get("InstanceType")}
            memory = production.get("ServerlessConfig", {}).get("MemorySizeInMB")
            place = f"{member[:1].lower()}{member[1:]}.{number}.member"
            check(VARIANT_RULES, production, memory=memory, place=place, **names)


def check_memory(variants: tuple[Variant, ...]) -> None:
    """Raises ValidationException if the containers of a variant have values of their own that its instance has not."""
    for variant in variants:
        try:
            memory_plan(variant)
        except ValueError as error:
            raise errors.INVALID(
                f'Production variant "{variant.name}": Environment.{MEMORY.variable} of its containers does not fit: '
                f"{error}."
            ) from error


def _sent(params: Wire) -> list[Wire]:
    return [*params["ProductionVariants"], *params.get("ShadowProductionVariants", ())]


def _is_async(params: Wire) -> bool:
    return "AsyncInferenceConfig" in params


def _async_output(params: Wire) -> Wire:
    output: Wire = params["AsyncInferenceConfig"]["OutputConfig"]
    return output


def _repeated(names: Collection[str]) -> bool:
    return len(set(names)) < len(names)


def _routing(production: Wire) -> Wire:
    routing: Wire = production.get("RoutingConfig", {})
    return routing


def _overprovisioned(serverless: Wire) -> bool:
    return bool(serverless.get("ProvisionedConcurrency", 0) > serverless["MaxConcurrency"])


def _minimum(production: Wire) -> float:
    return float(scaling_of(production).get("MinInstanceCount", 0))


def _maximum(production: Wire) -> float:
    return float(scaling_of(production).get("MaxInstanceCount", "inf"))


# AWS refuses these, but Torpor can serve them. They are checked only in strict mode.
STRICT_RULES: Rules[tuple[Variant, ...]] = (
    (
        # "If you use this field, you can only specify one variant for ProductionVariants and one variant for
        # ShadowProductionVariants."
        lambda variants: any(v.shadow for v in variants) and len(variants) != 2,
        "With ShadowProductionVariants you can only specify one variant for ProductionVariants and one variant for "
        "ShadowProductionVariants.",
    ),
    (
        lambda variants: any(v.serverless and v.multi_model for v in variants),
        "Multi-model endpoints are not supported with ServerlessConfig.",
    ),
    (
        lambda variants: any(v.serverless and len(v.containers) > 1 for v in variants),
        "ServerlessConfig does not support a model with several containers.",
    ),
    (
        lambda variants: any(v.asynchronous is not None and v.multi_model for v in variants),
        "Multi-model endpoints are not supported with AsyncInferenceConfig.",
    ),
    (
        lambda variants: any(v.direct and v.multi_model for v in variants),
        "Mode MultiModel is not supported with InferenceExecutionConfig.Mode Direct.",
    ),
    (
        lambda variants: len(variants) > 1 and any(v.serverless for v in variants),
        "An endpoint with ServerlessConfig can have one production variant only.",
    ),
    (
        lambda variants: any(v.instances_min == 0 and not v.for_components for v in variants),
        "MinInstanceCount 0 is supported for inference components only.",
    ),
    (
        lambda variants: any(v.serverless and v.capture is not None and v.capture.enabled for v in variants),
        "DataCaptureConfig is not supported with ServerlessConfig.",
    ),
)

# The same for a pair: a production variant as sent, and its model's members of CreateModel.
STRICT_MODEL_RULES: Rules[tuple[Wire, Wire]] = (
    (
        lambda pair: "ServerlessConfig" in pair[0] and bool(pair[1].get("VpcConfig")),
        'Production variant "{variant}": ServerlessConfig does not support a model with VpcConfig.',
    ),
    (
        lambda pair: "ServerlessConfig" in pair[0] and bool(pair[1].get("EnableNetworkIsolation")),
        'Production variant "{variant}": ServerlessConfig does not support a model with EnableNetworkIsolation.',
    ),
    (
        lambda pair: (
            "ServerlessConfig" in pair[0] and any("ModelDataSource" in one for one in container_definitions(pair[1]))
        ),
        'Production variant "{variant}": ServerlessConfig does not support a model with ModelDataSource.',
    ),
)


# -- UpdateEndpoint ----------------------------------------------------------------------------------------------------
# "Instance-based to serverless is refused; serverless to instance-based is allowed." A pair is (current, new).
CONVERSION_RULES: Rules[tuple[tuple[Variant, ...], tuple[Variant, ...]]] = (
    (
        lambda pair: any(v.serverless and _turns_serverless(pair[0], v.name) for v in pair[1]),
        "An instance-based endpoint cannot be updated to a serverless one.",
    ),
)


def _turns_serverless(current: tuple[Variant, ...], name: str) -> bool:
    same = [v for v in current if v.name == name] or current
    return not any(v.serverless for v in same)


# "If the update would change the instance type for any model that is a target for auto scaling, the update fails." It
# cannot be removed either; another model is allowed. A pair is (a variant that is a target, its new version or None).
SCALED_RULES: Rules[tuple[Variant, Variant | None]] = (
    (
        lambda pair: pair[1] is None,
        'Production variant "{variant}" is registered as a scalable target: deregister it before you remove it.',
    ),
    (
        lambda pair: pair[1] is not None and pair[0].instance_type != pair[1].instance_type,
        'Production variant "{variant}" is registered as a scalable target: deregister it before you change its '
        "instance type.",
    ),
)


def check_scaled(current: tuple[Variant, ...], new: tuple[Variant, ...], scaled: Collection[str]) -> None:
    by_name = {v.name: v for v in new}
    for variant in current:
        if variant.name in scaled:
            check(SCALED_RULES, (variant, by_name.get(variant.name)), variant=variant.name)


# -- UpdateEndpointWeightsAndCapacities: a pair is (current variant, what is desired) ----------------------------------
RESCALE_RULES: Rules[tuple[Variant, Wire]] = (
    (
        lambda pair: pair[0].serverless is not None and "DesiredInstanceCount" in pair[1],
        'Production variant "{variant}" is serverless and has no DesiredInstanceCount.',
    ),
    (
        lambda pair: pair[0].serverless is None and "ServerlessUpdateConfig" in pair[1],
        'Production variant "{variant}" is not serverless and has no ServerlessUpdateConfig.',
    ),
    (
        lambda pair: pair[0].for_components and pair[0].managed and "DesiredInstanceCount" in pair[1],
        'Production variant "{variant}" takes no DesiredInstanceCount: with ManagedInstanceScaling its instances '
        "follow the copies of its inference components.",
    ),
)


def check_rescale(variants: tuple[Variant, ...], desired: list[Wire]) -> None:
    by_name = {v.name: v for v in variants}
    if _repeated([wire["VariantName"] for wire in desired]):
        raise errors.INVALID("A VariantName is given more than once in DesiredWeightsAndCapacities.")
    for wire in desired:
        name = wire["VariantName"]
        if name not in by_name:
            raise errors.INVALID(f'The endpoint has no production variant "{name}".')
        check(RESCALE_RULES, (by_name[name], wire), variant=name)


# -- every update ---------------------------------------------------------------------------------------
UPDATED_RULES: Rules[Variant] = (
    (
        lambda v: v.serverless is not None and v.serverless.provisioned_concurrency > v.serverless.max_concurrency,
        'Production variant "{variant}": ProvisionedConcurrency must not be greater than MaxConcurrency.',
    ),
    (
        lambda v: v.serverless is None and v.instance_count == 0 and not may_be_empty(v),
        'Production variant "{variant}" cannot have 0 instances unless its MinInstanceCount is 0, '
        "or its endpoint is asynchronous.",
    ),
    (
        lambda v: v.serverless is None and not _in_range(v),
        'Production variant "{variant}": DesiredInstanceCount must lie within MinInstanceCount and MaxInstanceCount.',
    ),
)


def check_updated(variants: tuple[Variant, ...]) -> None:
    for variant in variants:
        check(UPDATED_RULES, variant, variant=variant.name)


def _in_range(variant: Variant) -> bool:
    return (variant.instances_min or 0) <= variant.instance_count <= (variant.instances_max or variant.instance_count)
