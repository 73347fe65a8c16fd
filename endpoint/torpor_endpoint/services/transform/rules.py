"""The rules for CreateTransformJob that AWS's service model lacks, and what a valid request means."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from torpor_container.settings import BY_FIELD, DEFAULTS
from torpor_endpoint.core.pricing.catalogue import instance_type
from torpor_endpoint.core.resource_records import Container, ModelRecord, Variant
from torpor_endpoint.core.transform.filters import BadFilter, Filter, parse
from torpor_endpoint.core.transform.joining import DataProcessing, Stamp
from torpor_endpoint.core.transform.payload_settings import MIB, PAYLOAD_MIB_MAX, TIMEOUT_S, UNLIMITED_BYTES
from torpor_endpoint.core.transform.record_formats import JSON_DOCUMENT, JSON_LINES, ROWS, RecordFormat
from torpor_endpoint.services.sagemaker.rules import Rules, Wire
from torpor_endpoint.services.transform.lifecycle import TransformJob

VARIANT = "algorithm"
"""The name of a job's variant: the folders of its instances have it."""
EVERYTHING = "$"
MODEL_FILTER = "TORPOR_BATCH_MODEL"
"""In the job's Environment: the filter that finds the name of each record's model. An extension of Torpor's."""
INSTANCES_MAX = 100

FORMATS: Mapping[str, RecordFormat] = MappingProxyType(
    {"text/csv": ROWS, "application/jsonlines": JSON_LINES, "application/json": JSON_DOCUMENT}
)

JOB_RULES: Rules[Wire] = (
    (
        lambda job: "DataCaptureConfig" in job and not _capture(job)["DestinationS3Uri"].startswith("s3://"),
        "DataCaptureConfig.DestinationS3Uri must begin with s3://.",
    ),
    (
        lambda job: _stamps(job) and _answered(job) not in FORMATS,
        f"DataCaptureConfig.GenerateInferenceId needs TransformOutput.Accept, one of {', '.join(FORMATS)}.",
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
        lambda job: _unlimited(job) and not _one_by_one(job) and (_processes(job) or _stamps(job)),
        "MaxPayloadInMB 0 sends a whole object as it is read: DataProcessing and GenerateInferenceId need a number "
        "from 1, or BatchStrategy SingleRecord with a SplitType.",
    ),
    (
        lambda job: _resources(job)["InstanceCount"] > INSTANCES_MAX,
        f"TransformResources.InstanceCount must not be more than {INSTANCES_MAX}.",
    ),
    (
        lambda job: job.get("MaxPayloadInMB", 1) * (job.get("MaxConcurrentTransforms") or 1) > PAYLOAD_MIB_MAX,
        f"MaxConcurrentTransforms times MaxPayloadInMB must not be more than {PAYLOAD_MIB_MAX}.",
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
    (lambda model: model.direct, "A transform job needs a model whose containers are in Serial mode."),
    (lambda model: not model.containers, "The model has no container."),
)


STRICT_MODEL_RULES: Rules[ModelRecord] = (
    (
        lambda model: any(container.multi_model for container in model.containers),
        "A transform job with a model of mode MultiModel is not supported.",
    ),
)


def bad_pair(job: Wire, model: ModelRecord) -> str | None:
    """Why the job cannot have this model; None if it can."""
    multi_model = any(container.multi_model for container in model.containers)
    if not multi_model and MODEL_FILTER in job.get("Environment", {}):
        return f"{MODEL_FILTER} names the models of records: ModelName {model.name} is not of mode MultiModel."
    if multi_model and MODEL_FILTER not in job.get("Environment", {}) and _source(job)["S3DataType"] != "ManifestFile":
        return (
            f"ModelName {model.name} is of mode MultiModel: give {MODEL_FILTER} in Environment, such as $[0], "
            "or a ManifestFile that names the model of each object."
        )
    if multi_model and len(model.containers) > 1:
        return (
            f"ModelName {model.name} has several containers and mode MultiModel, which a transform job does not take."
        )
    if _unlimited(job) and len(model.containers) > 1:
        return f"MaxPayloadInMB 0 needs a model of one container, and {model.name} has {len(model.containers)}."
    return None


def bad_filter(job: Wire) -> str | None:
    """Why a filter of the job cannot be used; None if both can."""
    processing = job.get("DataProcessing", {})
    filters = {f"DataProcessing.{member}": processing.get(member) for member in ("InputFilter", "OutputFilter")}
    for name, text in {**filters, f"Environment.{MODEL_FILTER}": job.get("Environment", {}).get(MODEL_FILTER)}.items():
        try:
            found = parse(text or EVERYTHING)
        except BadFilter as error:
            return f"{name} {text}: {error}."
        if _kind(job) == "text/csv" and not found.of_rows:
            return f"{name} {text}: columns of CSV have indexes only, such as $[0,-1]."
    return None


def processing_of(job: Wire, stamp: Stamp, multi_model: bool) -> DataProcessing | None:
    """What the job does with records beside the model; None if nothing."""
    in_one_line = multi_model and _kind(job) == _answered(job) == "text/csv"
    if not _processes(job) and not _stamps(job) and not in_one_line:
        return None
    by_model = job.get("Environment", {}).get(MODEL_FILTER)
    found = DataProcessing(
        FORMATS[_kind(job) if _processes(job) else _answered(job)],
        _filter(job, "InputFilter"),
        _filter(job, "OutputFilter"),
        _joins(job),
        None if by_model is None else parse(by_model),
        stamp if _stamps(job) else None,
        in_one_line,
    )
    return None if found.does_nothing else found


def variant_of(job: TransformJob) -> Variant:
    """The job's instances."""
    resources = _resources(job.request)
    return Variant(
        VARIANT,
        job.request["ModelName"],
        tuple(_container(container, job.request) for container in job.containers),
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
    body_bytes = UNLIMITED_BYTES if _unlimited(job) else max(DEFAULTS.body_max_bytes, PAYLOAD_MIB_MAX * MIB)
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


def accept_of(job: Wire) -> str | None:
    """What the container is asked for; None if it may choose. Records are joined and filtered in their own type."""
    chosen: str | None = job["TransformOutput"].get("Accept")
    if chosen is None and _processes(job):
        chosen = job["TransformInput"].get("ContentType")
    return chosen


def _answered(job: Wire) -> str:
    """The media type of the answers; empty if the container chooses it."""
    return (accept_of(job) or "").partition(";")[0].strip().lower()


def _processes(job: Wire) -> bool:
    """Whether records are read before they are sent, or with their answers."""
    filters = (_filter_text(job, member) != EVERYTHING for member in ("InputFilter", "OutputFilter"))
    return any(filters) or _joins(job) or MODEL_FILTER in job.get("Environment", {})


def _one_by_one(job: Wire) -> bool:
    """Whether each record is a payload. Without a SplitType an object is one, whatever BatchStrategy says."""
    return job.get("BatchStrategy") == "SingleRecord" and _split(job) != "None"


def _unlimited(job: Wire) -> bool:
    return bool(job.get("MaxPayloadInMB") == 0)


def capture_bucket(job: Wire) -> str | None:
    """The bucket of the captured data; None if nothing is captured."""
    if "DataCaptureConfig" not in job:
        return None
    return str(_capture(job)["DestinationS3Uri"]).removeprefix("s3://").partition("/")[0]


def _capture(job: Wire) -> Wire:
    found: Wire = job.get("DataCaptureConfig", {})
    return found


def _stamps(job: Wire) -> bool:
    return bool(_capture(job).get("GenerateInferenceId"))


def _joins(job: Wire) -> bool:
    return bool(job.get("DataProcessing", {}).get("JoinSource") == "Input")


def _filter(job: Wire, member: str) -> Filter:
    return parse(_filter_text(job, member))


def _filter_text(job: Wire, member: str) -> str:
    return job.get("DataProcessing", {}).get(member) or EVERYTHING
