"""The rules for CreateTransformJob that AWS's service model lacks, and what a valid request means."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from torpor_container.settings import BY_FIELD, DEFAULTS
from torpor_endpoint.core.pricing.catalogue import instance_type
from torpor_endpoint.core.records import Container, ModelRecord, Variant
from torpor_endpoint.core.transform.filters import BadFilter, Filter, parse
from torpor_endpoint.core.transform.joining import JSON_DOCUMENT, JSON_LINES, ROWS, DataProcessing, RecordFormat
from torpor_endpoint.core.transform.settings import MIB, PAYLOAD_MIB_MAX, TIMEOUT_S
from torpor_endpoint.services.sagemaker.rules import Rules, Wire

VARIANT = "algorithm"
"""The name of a job's variant: the folders of its instances have it."""
EVERYTHING = "$"

FORMATS: Mapping[str, RecordFormat] = MappingProxyType(
    {"text/csv": ROWS, "application/jsonlines": JSON_LINES, "application/json": JSON_DOCUMENT}
)

JOB_RULES: Rules[Wire] = (
    (
        lambda job: "DataCaptureConfig" in job,
        "DataCaptureConfig of a transform job is not supported by Torpor: the results have the answers.",
    ),
    (
        lambda job: _source(job)["S3DataType"] not in ("S3Prefix", "ManifestFile"),
        "Of S3DataType, Torpor supports S3Prefix and ManifestFile.",
    ),
    (lambda job: not _source(job)["S3Uri"].startswith("s3://"), "S3Uri must begin with s3://."),
    (
        lambda job: not job["TransformOutput"]["S3OutputPath"].startswith("s3://"),
        "TransformOutput.S3OutputPath must begin with s3://.",
    ),
    (
        lambda job: job.get("MaxPayloadInMB") == 0,
        "MaxPayloadInMB 0 is not supported by Torpor: give the size of the largest payload.",
    ),
    (
        lambda job: job.get("MaxPayloadInMB", 1) * (job.get("MaxConcurrentTransforms") or 1) > PAYLOAD_MIB_MAX,
        f"MaxConcurrentTransforms times MaxPayloadInMB must not be more than {PAYLOAD_MIB_MAX}.",
    ),
    (
        lambda job: "BatchStrategy" in job and _split(job) == "None",
        "BatchStrategy needs a SplitType other than None.",
    ),
    (
        lambda job: instance_type(_resources(job)["InstanceType"]) is None,
        "TransformResources.InstanceType is not in Torpor's catalogue of instance types.",
    ),
    (
        lambda job: _processes(job) and _kind(job) not in FORMATS,
        f"DataProcessing needs TransformInput.ContentType, one of {', '.join(FORMATS)}.",
    ),
    (
        lambda job: _processes(job) and job["TransformOutput"].get("Accept", _kind(job)) != _kind(job),
        "DataProcessing needs the same TransformInput.ContentType and TransformOutput.Accept.",
    ),
    (
        lambda job: _joins(job) and _split(job) != job["TransformOutput"].get("AssembleWith", "None"),
        "DataProcessing.JoinSource Input needs the same SplitType and AssembleWith.",
    ),
    (
        lambda job: _processes(job) and _kind(job) != "application/json" and _split(job) != "Line",
        "DataProcessing needs SplitType Line for records in lines.",
    ),
    (
        lambda job: _processes(job) and _kind(job) == "application/json" and _split(job) != "None",
        "DataProcessing needs SplitType None for application/json: each object is one record.",
    ),
)

MODEL_RULES: Rules[ModelRecord] = (
    (
        lambda model: any(container.multi_model for container in model.containers),
        "A transform job with a model of mode MultiModel is not supported.",
    ),
    (lambda model: model.direct, "A transform job needs a model whose containers are in Serial mode."),
    (lambda model: not model.containers, "The model has no container."),
)


def bad_filter(job: Wire) -> str | None:
    """Why a filter of the job cannot be used; None if both can."""
    processing = job.get("DataProcessing", {})
    for member in ("InputFilter", "OutputFilter"):
        try:
            found = parse(processing.get(member, EVERYTHING))
        except BadFilter as error:
            return f"DataProcessing.{member} {processing[member]}: {error}."
        if _kind(job) == "text/csv" and not found.of_rows:
            return f"DataProcessing.{member} {processing[member]}: columns of CSV have indexes only, such as $[0,-1]."
    return None


def processing_of(job: Wire) -> DataProcessing | None:
    """What the job does with records beside the model; None if nothing."""
    if not _processes(job):
        return None
    found = DataProcessing(FORMATS[_kind(job)], _filter(job, "InputFilter"), _filter(job, "OutputFilter"), _joins(job))
    return None if found.does_nothing else found


def variant_of(model: ModelRecord, job: Wire) -> Variant:
    """The job's instances."""
    containers = tuple(_container(container, job) for container in model.containers)
    resources = _resources(job)
    return Variant(
        VARIANT,
        model.name,
        containers,
        instance_type=resources["InstanceType"],
        instance_count=resources["InstanceCount"],
    )


def _container(container: Container, job: Wire) -> Container:
    """AWS gives the container the settings that the request has. "You can set up to 16 key and values entries": they
    go before the model's own."""
    given = {
        "SAGEMAKER_BATCH": "true",
        "SAGEMAKER_MAX_PAYLOAD_IN_MB": job.get("MaxPayloadInMB"),
        "SAGEMAKER_BATCH_STRATEGY": {"MultiRecord": "MULTI_RECORD", "SingleRecord": "SINGLE_RECORD"}.get(
            job.get("BatchStrategy", "")
        ),
        "SAGEMAKER_MAX_CONCURRENT_TRANSFORMS": job.get("MaxConcurrentTransforms"),
    }
    body_bytes = max(DEFAULTS.body_max_bytes, PAYLOAD_MIB_MAX * MIB)
    timeout_s = job.get("ModelClientConfig", {}).get("InvocationsTimeoutInSeconds", TIMEOUT_S)
    environment = {
        BY_FIELD["body_max_bytes"].variable: str(body_bytes),
        BY_FIELD["invocation_timeout_s"].variable: str(timeout_s),
        **{name: str(value) for name, value in given.items() if value is not None},
        **container.environment,
        **job.get("Environment", {}),
    }
    return replace(container, environment=environment)


def _source(job: Wire) -> Wire:
    source: Wire = job["TransformInput"]["DataSource"]["S3DataSource"]
    return source


def _resources(job: Wire) -> Wire:
    resources: Wire = job["TransformResources"]
    return resources


def _split(job: Wire) -> str:
    return str(job["TransformInput"].get("SplitType", "None"))


def _kind(job: Wire) -> str:
    return str(job["TransformInput"].get("ContentType", "")).partition(";")[0].strip().lower()


def _processes(job: Wire) -> bool:
    return bool(job.get("DataProcessing"))


def _joins(job: Wire) -> bool:
    return bool(job.get("DataProcessing", {}).get("JoinSource") == "Input")


def _filter(job: Wire, member: str) -> Filter:
    return parse(job.get("DataProcessing", {}).get(member, EVERYTHING))


def without(params: Mapping[str, Any], *members: str) -> dict[str, Any]:
    return {member: value for member, value in params.items() if member not in members}
