"""Turns SageMaker's wire shapes into records and back. `model_rules` and `variant_rules` check them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from torpor_account.core.s3_address import s3_url
from torpor_container.settings import BY_FIELD, MIB
from torpor_endpoint.core.resource_records import (
    AsyncInference,
    Container,
    DataCapture,
    EndpointConfig,
    EndpointRecord,
    ModelRecord,
    Serverless,
    Variant,
)
from torpor_endpoint.services.sagemaker.components.instance_pool_shapes import pool_summaries, pools_of
from torpor_endpoint.services.sagemaker.deployments.rollout_descriptions import (
    pending_statuses,
    production_statuses,
    started_s,
)

Wire = Mapping[str, Any]
NO_COUNTS: Mapping[str, int] = MappingProxyType({})
NO_TYPES: Mapping[str, Mapping[str, int]] = MappingProxyType({})

ASYNC_ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        BY_FIELD["body_max_bytes"].variable: str(1024 * MIB),
        BY_FIELD["invocation_timeout_s"].variable: "3600",
    }
)
"""AWS: an asynchronous request may have 1 GB, and an hour of processing."""

VARIANT_LISTS = ("ProductionVariants", "ShadowProductionVariants")
"""The members of an endpoint configuration that list variants."""


# -- requests ----------------------------------------------------------------------------------------------------------
def container_definitions(params: Wire) -> Sequence[Wire]:
    """CreateModel's containers, in either of their two places: AWS's samples use both for one container."""
    definitions: Sequence[Wire] = (
        [params["PrimaryContainer"]] if params.get("PrimaryContainer") else params["Containers"]
    )
    return definitions


def containers(params: Wire) -> tuple[Container, ...]:
    """CreateModel's containers. The hostname of a primary container names nothing, as on AWS."""
    shared = {
        "network_isolated": bool(params.get("EnableNetworkIsolation")),
        "role": params.get("ExecutionRoleArn", ""),
    }
    if params.get("PrimaryContainer"):
        return (replace(container(params["PrimaryContainer"], Container.name), **shared),)
    definitions = params["Containers"]
    unnamed = [Container.name] if len(definitions) == 1 else [f"container-{n + 1}" for n in range(len(definitions))]
    return tuple(
        replace(container(definition, definition.get("ContainerHostname") or name), **shared)
        for definition, name in zip(definitions, unnamed, strict=True)
    )


def is_direct(params: Wire) -> bool:
    """Whether a request to CreateModel's model names the container that answers it."""
    return bool(params.get("InferenceExecutionConfig", {}).get("Mode") == "Direct")


def without_tags(params: Wire) -> dict[str, Any]:
    """The members of a Create operation that its Describe operation repeats."""
    return {member: value for member, value in params.items() if member != "Tags"}


def container(definition: Wire, name: str) -> Container:
    source = definition.get("ModelDataSource", {}).get("S3DataSource", {})
    url = definition.get("ModelDataUrl") or source.get("S3Uri")
    return Container(
        image=definition["Image"],
        name=name,
        model_data_url=s3_url(url) if url else None,
        compressed=source.get("CompressionType") != "None",
        multi_model=definition.get("Mode") == "MultiModel",
        model_cache=definition.get("MultiModelConfig", {}).get("ModelCacheSetting") != "Disabled",
        environment=dict(definition.get("Environment", {})),
    )


def variant(production: Wire, model: ModelRecord, shadow: bool = False) -> Variant:
    scaling = scaling_of(production)
    serverless = production.get("ServerlessConfig")
    seconds = production.get("ContainerStartupHealthCheckTimeoutInSeconds", Variant.startup_timeout_s)
    provision_s = production.get("VariantInstanceProvisionTimeoutInSeconds", Variant.provision_timeout_s)
    pools = pools_of(production)
    return Variant(
        name=production["VariantName"],
        model_name=model.name,
        containers=model.containers,
        weight=float(production.get("InitialVariantWeight", 1.0)),
        instance_type=pools[0].instance_type if pools else production.get("InstanceType"),
        instance_count=production.get("InitialInstanceCount", 0),
        instances_min=scaling.get("MinInstanceCount"),
        instances_max=scaling.get("MaxInstanceCount"),
        serverless=_serverless(serverless) if serverless else None,
        startup_timeout_s=float(seconds),
        request=dict(production),
        shadow=shadow,
        direct=model.direct,
        pools=pools,
        provision_timeout_s=float(provision_s),
    )


def with_whole_config(variants: tuple[Variant, ...], params: Wire) -> tuple[Variant, ...]:
    """The variants with what their endpoint configuration says of all: DataCaptureConfig, AsyncInferenceConfig."""
    return with_async_inference(with_capture(variants, params), params)


def with_capture(variants: tuple[Variant, ...], params: Wire) -> tuple[Variant, ...]:
    """The variants with the DataCaptureConfig of their endpoint configuration."""
    config = params.get("DataCaptureConfig")
    return tuple(
        replace(variant, capture=config and replace(_data_capture(config), role=variant.role)) for variant in variants
    )


def with_async_inference(variants: tuple[Variant, ...], params: Wire) -> tuple[Variant, ...]:
    """The variants with the AsyncInferenceConfig of their endpoint configuration. Their containers may take as large
    bodies, and as long, as AWS allows such requests, unless their Environment says otherwise."""
    config = params.get("AsyncInferenceConfig")
    if config is None:
        return variants
    found = _async_inference(config)
    return tuple(
        replace(
            variant,
            asynchronous=replace(found, role=variant.role),
            containers=tuple(
                replace(one, environment={**ASYNC_ENVIRONMENT, **one.environment}) for one in variant.containers
            ),
        )
        for variant in variants
    )


def rescaled(variant: Variant, desired: Wire) -> Variant:
    """The variant with the changes of a DesiredWeightAndCapacity."""
    changes = desired.get("ServerlessUpdateConfig", {})
    return replace(
        variant,
        weight=float(desired.get("DesiredWeight", variant.weight)),
        instance_count=desired.get("DesiredInstanceCount", variant.instance_count),
        serverless=variant.serverless and _serverless({**_serverless_config(variant.serverless), **changes}),
    )


def retained(now: Variant, new: Variant, excluded: Collection[str]) -> Variant:
    """The new variant with its present weight and instance count, except the VariantPropertyTypes in `excluded`."""
    counted = now.serverless is None and new.serverless is None and "DesiredInstanceCount" not in excluded
    return replace(
        new,
        weight=new.weight if "DesiredWeight" in excluded else now.weight,
        instance_count=now.instance_count if counted else new.instance_count,
    )


def tags(wire: list[dict[str, str]]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in wire}


def scaling_of(production: Wire) -> Wire:
    """The ManagedInstanceScaling of a ProductionVariant; empty if it is disabled."""
    scaling: Wire = production.get("ManagedInstanceScaling", {})
    return {} if scaling.get("Status") == "DISABLED" else scaling


def _serverless(config: Wire) -> Serverless:
    return Serverless(config["MemorySizeInMB"], config["MaxConcurrency"], config.get("ProvisionedConcurrency", 0))


def _async_inference(config: Wire) -> AsyncInference:
    output = config["OutputConfig"]
    topics = output.get("NotificationConfig", {})
    failure = output.get("S3FailurePath")
    return AsyncInference(
        output=s3_url(output["S3OutputPath"]),
        failure=s3_url(failure) if failure else None,
        success_topic=topics.get("SuccessTopic"),
        error_topic=topics.get("ErrorTopic"),
        responses_in=tuple(topics.get("IncludeInferenceResponseIn", ())),
        at_once=config.get("ClientConfig", {}).get("MaxConcurrentInvocationsPerInstance"),
        kms_key_id=output.get("KmsKeyId"),
    )


def _data_capture(config: Wire) -> DataCapture:
    modes = {option["CaptureMode"] for option in config["CaptureOptions"]}
    types = config.get("CaptureContentTypeHeader", {})
    return DataCapture(
        destination=s3_url(config["DestinationS3Uri"]),
        sampling_percentage=config["InitialSamplingPercentage"],
        enabled=config.get("EnableCapture", True),
        input=not modes.isdisjoint(("Input", "InputAndOutput")),
        output=not modes.isdisjoint(("Output", "InputAndOutput")),
        csv_types=tuple(types.get("CsvContentTypes", ())),
        json_types=tuple(types.get("JsonContentTypes", ())),
        kms_key_id=config.get("KmsKeyId", ""),
    )


# -- answers: `aws.wire.pruning` removes members that are None or empty -------------------------------------------
def tag_list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def model_description(model: ModelRecord) -> dict[str, Any]:
    request = dict(model.request)
    if "PrimaryContainer" in request:
        request["PrimaryContainer"] = {"Mode": "SingleModel", **request["PrimaryContainer"]}
    if "Containers" in request:
        request["Containers"] = [{"Mode": "SingleModel", **definition} for definition in request["Containers"]]
    return {"EnableNetworkIsolation": False, **request, "ModelArn": model.arn, "CreationTime": model.created_s}


def model_summary(model: ModelRecord) -> dict[str, Any]:
    return {"ModelName": model.name, "ModelArn": model.arn, "CreationTime": model.created_s}


def endpoint_config_description(config: EndpointConfig) -> dict[str, Any]:
    lists = {name: _weighted(config.request[name]) for name in VARIANT_LISTS if name in config.request}
    capture = config.request.get("DataCaptureConfig")
    return {
        "EnableNetworkIsolation": False,
        **config.request,
        **({"DataCaptureConfig": {"EnableCapture": True, **capture}} if capture else {}),
        **lists,
        "EndpointConfigArn": config.arn,
        "CreationTime": config.created_s,
    }


def _weighted(variants: Iterable[Wire]) -> list[Wire]:
    return [{"InitialVariantWeight": 1.0, **variant} for variant in variants]


def endpoint_config_summary(config: EndpointConfig) -> dict[str, Any]:
    return {
        "EndpointConfigName": config.name,
        "EndpointConfigArn": config.arn,
        "CreationTime": config.created_s,
    }


def endpoint_summary(endpoint: EndpointRecord) -> dict[str, Any]:
    return {
        "EndpointName": endpoint.name,
        "EndpointArn": endpoint.arn,
        "EndpointStatus": endpoint.status.value,
        "CreationTime": endpoint.created_s,
        "LastModifiedTime": endpoint.modified_s,
    }


def endpoint_description(
    endpoint: EndpointRecord,
    ready: Mapping[str, int],
    green: Mapping[str, int] = NO_COUNTS,
    types: Mapping[str, Mapping[str, int]] = NO_TYPES,
) -> dict[str, Any]:
    """`ready` counts the ready instances by variant name, and `green` those of the fleet that a rollout brings. `types`
    counts the ready ones by variant name and instance type."""
    other_config = endpoint.pending_config_name not in (None, endpoint.config_name)
    deploying = other_config or endpoint.rollout is not None
    desired = {v.name: v for v in (not deploying and endpoint.pending_variants) or endpoint.variants}

    def summaries(shadow: bool) -> list[dict[str, Any]]:
        shown = [v for v in endpoint.variants if v.shadow is shadow]
        return [
            {
                **_variant_summary(endpoint, v, desired.get(v.name, v), ready.get(v.name, 0)),
                "InstancePools": pool_summaries(v, types.get(v.name, NO_COUNTS)),
            }
            for v in shown
        ]

    return {
        **endpoint_summary(endpoint),
        "EndpointConfigName": endpoint.config_name,
        "FailureReason": endpoint.failure_reason and endpoint.failure_reason[:1024],
        "LastDeploymentConfig": endpoint.deployment,
        "DataCaptureConfig": _capture_summary(endpoint.variants[0].capture),
        "AsyncInferenceConfig": _async_description(endpoint.variants[0].asynchronous),
        "ProductionVariants": summaries(shadow=False),
        "ShadowProductionVariants": summaries(shadow=True),
        "PendingDeploymentSummary": _pending_summary(endpoint, green) if deploying else None,
    }


def _capture_summary(capture: DataCapture | None) -> dict[str, Any] | None:
    """The DataCaptureConfigSummary. Every variant has the same configuration."""
    if capture is None:
        return None
    return {
        "EnableCapture": capture.enabled,
        "CaptureStatus": "Started" if capture.enabled else "Stopped",
        "CurrentSamplingPercentage": capture.sampling_percentage,
        "DestinationS3Uri": capture.destination,
        "KmsKeyId": capture.kms_key_id,
    }


def _async_description(config: AsyncInference | None) -> dict[str, Any] | None:
    """The AsyncInferenceConfig. Every variant has the same one."""
    if config is None:
        return None
    topics = {
        "SuccessTopic": config.success_topic,
        "ErrorTopic": config.error_topic,
        "IncludeInferenceResponseIn": list(config.responses_in) or None,
    }
    named = {name: value for name, value in topics.items() if value is not None}
    return {
        "ClientConfig": {"MaxConcurrentInvocationsPerInstance": config.at_once},
        "OutputConfig": {
            "S3OutputPath": config.output,
            "S3FailurePath": config.failure,
            "KmsKeyId": config.kms_key_id,
            "NotificationConfig": named or None,
        },
    }


def _variant_summary(endpoint: EndpointRecord, now: Variant, desired: Variant, ready: int) -> dict[str, Any]:
    summary = {
        "VariantName": now.name,
        "DeployedImages": _deployed_images(endpoint, now),
        "CurrentWeight": now.weight,
        "DesiredWeight": desired.weight,
        "CurrentInstanceCount": ready,
        "VariantStatus": production_statuses(endpoint, now.name),
        "ManagedInstanceScaling": now.request.get("ManagedInstanceScaling"),
        "RoutingConfig": now.request.get("RoutingConfig"),
    }
    if now.serverless is None or desired.serverless is None:
        return {**summary, "DesiredInstanceCount": desired.instance_count}
    summary["CurrentServerlessConfig"] = _serverless_config(now.serverless)
    if desired.serverless != now.serverless:
        summary["DesiredServerlessConfig"] = _serverless_config(desired.serverless)
    return summary


def _pending_summary(endpoint: EndpointRecord, green: Mapping[str, int]) -> dict[str, Any]:
    """ "only returned when the endpoint is creating or updating with a new endpoint configuration" """
    pending = endpoint.pending_variants or ()
    shown = {shadow: [v for v in pending if v.shadow is shadow] for shadow in (False, True)}
    return {
        "EndpointConfigName": endpoint.pending_config_name,
        "ProductionVariants": [_pending_variant_summary(endpoint, v, green.get(v.name)) for v in shown[False]],
        "ShadowProductionVariants": [_pending_variant_summary(endpoint, v, green.get(v.name)) for v in shown[True]],
        "StartTime": started_s(endpoint),
    }


def _pending_variant_summary(endpoint: EndpointRecord, pending: Variant, ready: int | None) -> dict[str, Any]:
    return {
        "VariantName": pending.name,
        "DeployedImages": _deployed_images(endpoint, pending),
        "CurrentWeight": pending.weight if endpoint.rollout is not None else None,
        "DesiredWeight": pending.weight,
        "InstanceType": pending.instance_type,
        "CurrentInstanceCount": None if pending.serverless else ready,
        "DesiredInstanceCount": None if pending.serverless else pending.instance_count,
        "DesiredServerlessConfig": _serverless_config(pending.serverless) if pending.serverless else None,
        "ManagedInstanceScaling": pending.request.get("ManagedInstanceScaling"),
        "RoutingConfig": pending.request.get("RoutingConfig"),
        "InstancePools": pool_summaries(pending, NO_COUNTS),
        "VariantStatus": pending_statuses(endpoint, pending.name),
    }


def _deployed_images(endpoint: EndpointRecord, variant: Variant) -> list[dict[str, Any]]:
    return [
        {"SpecifiedImage": one.image, "ResolvedImage": one.image, "ResolutionTime": endpoint.created_s}
        for one in variant.containers
    ]


def _serverless_config(serverless: Serverless) -> dict[str, int]:
    config = {"MemorySizeInMB": serverless.memory_mib, "MaxConcurrency": serverless.max_concurrency}
    provisioned = serverless.provisioned_concurrency
    return {**config, "ProvisionedConcurrency": provisioned} if provisioned else config
