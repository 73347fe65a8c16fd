"""Defines Torpor's metrics in one table, for CloudWatch, Prometheus and the documentation.

Names, units and dimensions are SageMaker's own, except in the namespace `TORPOR`. `metrics.registry` holds the samples.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from torpor_container.frozen_class import frozen

SAGEMAKER = "AWS/SageMaker"
INSTANCES = "/aws/sagemaker/Endpoints"
COMPONENTS = "/aws/sagemaker/InferenceComponents"
TRANSFORM_JOBS = "/aws/sagemaker/TransformJobs"
TORPOR = "Torpor"
"""The namespace of metrics that AWS has no name for."""

VARIANT = ("EndpointName", "VariantName")
ENDPOINT = ("EndpointName",)
CONTAINER = (*VARIANT, "ContainerName")
"""The dimensions of one container of several."""

DEPLOYMENT = (*VARIANT, "EndpointConfigName")
"""The dimensions of a fleet that UpdateEndpoint deployed: an alarm of a rollback names the new fleet so."""

COMPONENT = ("InferenceComponentName",)
"""The dimension of an inference component."""

FACE = (*VARIANT, "Face")
"""The dimensions of the requests to a variant that came by one protocol."""

JOB_INSTANCE = ("Host",)
"""The dimension of a job's instance: `<job>/<instance>`."""

COUNTED = ("Sum",)
FLAGGED = ("Average", "Sum")
TIMED = ("Average", "Sum", "Minimum", "Maximum", "SampleCount")
LEVELLED = ("Average", "Maximum", "Minimum")


class Shown(StrEnum):
    """How Prometheus shows a metric. A gauge shows the latest minute that has samples."""

    COUNTER = "counter"  # the sum of all samples since the start
    HISTOGRAM = "histogram"
    SUMMARY = "summary"  # sum and count; their ratio is the mean
    GAUGE_SUM = "gauge, summed over instances"
    GAUGE_MEAN = "gauge, averaged over instances"


@frozen
class Metric:
    """One metric. AWS documents its `statistics`; a caller may request any. `prometheus` is a name in base units."""

    name: str
    unit: str
    statistics: tuple[str, ...]
    meaning: str
    shown: Shown
    prometheus: str
    namespace: str = SAGEMAKER
    dimensions: tuple[str, ...] = VARIANT
    convention: str = ""
    """Its name in OpenTelemetry's semantic conventions, if they have one for the same thing."""
    fine: bool = False
    """Whether AWS emits it each ten seconds for a variant."""

    @property
    def high_resolution(self) -> bool:
        """Whether it is kept by ten seconds too: all metrics of an inference component are."""
        return self.fine or self.dimensions == COMPONENT


# fmt: off
INVOCATIONS = Metric("Invocations", "None", COUNTED, "Each request to the endpoint adds one.", Shown.COUNTER, "torpor_invocations")
INVOCATIONS_PER_INSTANCE = Metric("InvocationsPerInstance", "None", COUNTED, "Each request adds one, divided by the number of instances that are active then.", Shown.COUNTER, "torpor_invocations_per_instance")
INVOCATION_4XX_ERRORS = Metric("Invocation4XXErrors", "None", FLAGGED, "Each request adds 1 if the model answered with 4xx, else 0.", Shown.COUNTER, "torpor_invocation_4xx_errors")
INVOCATION_5XX_ERRORS = Metric("Invocation5XXErrors", "None", FLAGGED, "Each request adds 1 if the model answered with 5xx, else 0.", Shown.COUNTER, "torpor_invocation_5xx_errors")
INVOCATION_MODEL_ERRORS = Metric("InvocationModelErrors", "None", FLAGGED, "Each request adds 1 if it has no 2xx answer from the model, else 0. Broken connections and timeouts count too.", Shown.COUNTER, "torpor_invocation_model_errors", convention="faas.errors")
MODEL_LATENCY = Metric("ModelLatency", "Microseconds", TIMED, "The time of a request in the instance, with the local transfer.", Shown.HISTOGRAM, "torpor_model_latency_seconds")
OVERHEAD_LATENCY = Metric("OverheadLatency", "Microseconds", TIMED, "The total time of a request minus its ModelLatency. It includes the hold while an instance starts.", Shown.HISTOGRAM, "torpor_overhead_latency_seconds")
CONTAINER_LATENCY = Metric("ContainerLatency", "Microseconds", TIMED, "The time of a request in one container of several, with the local transfer.", Shown.HISTOGRAM, "torpor_container_latency_seconds", dimensions=CONTAINER)
CONTAINER_OVERHEAD_LATENCY = Metric("OverheadLatency", "Microseconds", TIMED, "The total time of a request minus its ContainerLatency, where a request names its container (Direct).", Shown.HISTOGRAM, "torpor_container_overhead_latency_seconds", dimensions=CONTAINER)
CONTAINER_INVOCATIONS = Metric("Invocations", "None", ("Sum", "SampleCount"), "Each request that reached this container of several adds one.", Shown.COUNTER, "torpor_container_invocations", dimensions=CONTAINER)
CONTAINER_4XX_ERRORS = Metric("Invocation4XXErrors", "None", FLAGGED, "Each request that reached this container of several adds 1 if it answered with 4xx, else 0.", Shown.COUNTER, "torpor_container_invocation_4xx_errors", dimensions=CONTAINER)
CONTAINER_5XX_ERRORS = Metric("Invocation5XXErrors", "None", FLAGGED, "Each request that reached this container of several adds 1 if it answered with 5xx, else 0.", Shown.COUNTER, "torpor_container_invocation_5xx_errors", dimensions=CONTAINER)
MID_STREAM_ERRORS = Metric("MidStreamErrors", "None", FLAGGED, "Each streamed answer adds 1 if it failed after its first part, else 0.", Shown.COUNTER, "torpor_mid_stream_errors")
FIRST_CHUNK_LATENCY = Metric("FirstChunkLatency", "Microseconds", TIMED, "The time from a request's arrival to the first part of its streamed answer.", Shown.HISTOGRAM, "torpor_first_chunk_latency_seconds")
FIRST_CHUNK_MODEL_LATENCY = Metric("FirstChunkModelLatency", "Microseconds", TIMED, "The part of FirstChunkLatency in the instance, with the local transfer.", Shown.HISTOGRAM, "torpor_first_chunk_model_latency_seconds")
FIRST_CHUNK_OVERHEAD_LATENCY = Metric("FirstChunkOverheadLatency", "Microseconds", TIMED, "FirstChunkLatency minus FirstChunkModelLatency.", Shown.HISTOGRAM, "torpor_first_chunk_overhead_latency_seconds")
CONCURRENT_REQUESTS_PER_MODEL = Metric("ConcurrentRequestsPerModel", "Count", LEVELLED, "The number of requests in flight, with those that are queued.", Shown.GAUGE_SUM, "torpor_concurrent_requests", fine=True)
NO_CAPACITY_INVOCATION_FAILURES = Metric("NoCapacityInvocationFailures", "Count", COUNTED, "Each request adds one if it failed because no instance was running, which happens under `--aws-strict` only.", Shown.COUNTER, "torpor_no_capacity_invocation_failures", fine=True)
MODEL_LOADING_WAIT_TIME = Metric("ModelLoadingWaitTime", "Microseconds", TIMED, "The time that a request waited for the download or the load of its model.", Shown.HISTOGRAM, "torpor_model_loading_wait_seconds")
MODEL_UNLOADING_TIME = Metric("ModelUnloadingTime", "Microseconds", TIMED, "The time to unload a model. SampleCount is the number of unloads.", Shown.HISTOGRAM, "torpor_model_unloading_seconds")
MODEL_DOWNLOADING_TIME = Metric("ModelDownloadingTime", "Microseconds", TIMED, "The time to download a model from S3.", Shown.HISTOGRAM, "torpor_model_downloading_seconds")
MODEL_LOADING_TIME = Metric("ModelLoadingTime", "Microseconds", TIMED, "The time to load a model into memory.", Shown.HISTOGRAM, "torpor_model_loading_seconds")
MODEL_CACHE_HIT = Metric("ModelCacheHit", "None", ("Average", "Sum", "SampleCount"), "Each request adds 1 if its model was in memory, else 0. Average is the hit ratio.", Shown.SUMMARY, "torpor_model_cache_hit")
MODEL_SETUP_TIME = Metric("ModelSetupTime", "Microseconds", ("Average", "Minimum", "Maximum", "SampleCount"), "The time to launch an instance of a serverless variant.", Shown.HISTOGRAM, "torpor_model_setup_seconds", convention="faas.init_duration")
SERVERLESS_CONCURRENT_EXECUTIONS_UTILIZATION = Metric("ServerlessConcurrentExecutionsUtilization", "None", LEVELLED, "The requests in flight divided by MaxConcurrency, when each request arrives.", Shown.SUMMARY, "torpor_serverless_concurrency_ratio")
SERVERLESS_PROVISIONED_CONCURRENCY_EXECUTIONS = Metric("ServerlessProvisionedConcurrencyExecutions", "Count", LEVELLED, "The requests in flight within ProvisionedConcurrency, when each request arrives.", Shown.SUMMARY, "torpor_serverless_provisioned_executions")
SERVERLESS_PROVISIONED_CONCURRENCY_UTILIZATION = Metric("ServerlessProvisionedConcurrencyUtilization", "None", LEVELLED, "The requests in flight within ProvisionedConcurrency divided by it, when each request arrives.", Shown.SUMMARY, "torpor_serverless_provisioned_ratio")
SERVERLESS_PROVISIONED_CONCURRENCY_INVOCATIONS = Metric("ServerlessProvisionedConcurrencyInvocations", "Count", (*LEVELLED, "Sum"), "Each request within ProvisionedConcurrency adds one.", Shown.COUNTER, "torpor_serverless_provisioned_invocations")
SERVERLESS_PROVISIONED_CONCURRENCY_SPILLOVER_INVOCATIONS = Metric("ServerlessProvisionedConcurrencySpilloverInvocations", "Count", (*LEVELLED, "Sum"), "Each request beyond ProvisionedConcurrency adds one.", Shown.COUNTER, "torpor_serverless_spillover_invocations")
DATA_CAPTURE_RECORDS = Metric("DataCaptureRecords", "Count", COUNTED, "Each record of data capture that is in S3 adds one.", Shown.COUNTER, "torpor_data_capture_records", namespace=TORPOR)
DATA_CAPTURE_RECORDS_LOST = Metric("DataCaptureRecordsLost", "Count", COUNTED, "Each record of data capture that did not reach S3 adds one: S3 was too slow, or refused it to the end.", Shown.COUNTER, "torpor_data_capture_records_lost", namespace=TORPOR)
LOADED_MODEL_COUNT = Metric("LoadedModelCount", "None", TIMED, "The number of models in memory, as one sample for each instance and minute.", Shown.GAUGE_SUM, "torpor_loaded_models", namespace=INSTANCES)
MAPPED_MODEL_COUNT = Metric("MappedModelCount", "None", TIMED, "The number of models in memory that answer by a file that instances share: flat trees, or ONNX weights. The libraries hold and answer the rest of LoadedModelCount. One sample for each instance and minute.", Shown.GAUGE_SUM, "torpor_mapped_models", namespace=TORPOR)
CPU_UTILIZATION = Metric("CPUUtilization", "Percent", TIMED, "The processor use of an instance. Each core adds 100.", Shown.GAUGE_MEAN, "torpor_cpu_utilization_ratio", namespace=INSTANCES)
MEMORY_UTILIZATION = Metric("MemoryUtilization", "Percent", TIMED, "The used share of the instance's memory budget.", Shown.GAUGE_MEAN, "torpor_memory_utilization_ratio", namespace=INSTANCES)
DISK_UTILIZATION = Metric("DiskUtilization", "Percent", TIMED, "The used share of the instance's disk budget.", Shown.GAUGE_MEAN, "torpor_disk_utilization_ratio", namespace=INSTANCES)
GPU_UTILIZATION = Metric("GPUUtilization", "Percent", TIMED, "The use of the GPUs of an instance that predicts on one. Each GPU adds up to 100.", Shown.GAUGE_MEAN, "torpor_gpu_utilization_ratio", namespace=INSTANCES)
GPU_MEMORY_UTILIZATION = Metric("GPUMemoryUtilization", "Percent", TIMED, "The share of the GPUs' memory that the instance uses. Each GPU adds up to 100.", Shown.GAUGE_MEAN, "torpor_gpu_memory_utilization_ratio", namespace=INSTANCES)
CONTAINER_CPU_UTILIZATION = Metric("CPUUtilization", "Percent", TIMED, "The processor use of one container of several. Each core adds 100.", Shown.GAUGE_MEAN, "torpor_container_cpu_utilization_ratio", namespace=INSTANCES, dimensions=CONTAINER)
CONTAINER_MEMORY_UTILIZATION = Metric("MemoryUtilization", "Percent", TIMED, "The used share of the memory budget that one container of several has now.", Shown.GAUGE_MEAN, "torpor_container_memory_utilization_ratio", namespace=INSTANCES, dimensions=CONTAINER)
FACE_INVOCATIONS = Metric("FaceInvocations", "None", COUNTED, "Each request adds one, with the protocol that it came by as the dimension `Face`: `sagemaker`, `open-inference`, `grpc`, `tf-serving` or `openai`.", Shown.COUNTER, "torpor_face_invocations", namespace=TORPOR, dimensions=FACE)
FACE_MODEL_ERRORS = Metric("FaceModelErrors", "None", FLAGGED, "As InvocationModelErrors, with the protocol as the dimension `Face`.", Shown.COUNTER, "torpor_face_model_errors", namespace=TORPOR, dimensions=FACE)
COLD_START_TIME = Metric("ColdStartTime", "Microseconds", TIMED, "The time that a request waited for an instance or for its model: the ledger's steps from `hold` to `load`. " "SampleCount is the number of cold starts.", Shown.HISTOGRAM, "torpor_cold_start_seconds", namespace=TORPOR)
MODEL_LOADS_REFUSED = Metric("ModelLoadsRefused", "Count", COUNTED, "Each load that an instance refused adds one: the model does not fit into its memory, or onto its disk.", Shown.COUNTER, "torpor_model_loads_refused", namespace=TORPOR)
ARTIFACTS_FROM_NEIGHBOURS = Metric("ArtifactsFromNeighbours", "Count", COUNTED, "Each artifact adds one that an instance took from another one in place of S3 (`TORPOR_NEIGHBOURS_MIB`).", Shown.COUNTER, "torpor_artifacts_from_neighbours", namespace=TORPOR)
READY_INSTANCES = Metric("ReadyInstances", "Count", LEVELLED, "The number of instances that take requests.", Shown.GAUGE_SUM, "torpor_ready_instances", namespace=TORPOR)
HELD_REQUESTS = Metric("HeldRequests", "Count", LEVELLED, "The number of requests that wait because no instance is ready.", Shown.GAUGE_SUM, "torpor_held_requests", namespace=TORPOR)
SHADOW_COPIES_DROPPED = Metric("ShadowCopiesDropped", "Count", COUNTED, "Each copy of a request adds one if it reached no model of its shadow variant: too many were in flight, or the " "variant refused it.", Shown.COUNTER, "torpor_shadow_copies_dropped", namespace=TORPOR)
TRACES_DROPPED = Metric("TracesDropped", "Count", COUNTED, "Each sampled request adds one if its spans did not reach the collector: it was too slow, or refused them " "(`--otel`).", Shown.COUNTER, "torpor_traces_dropped", namespace=TORPOR)
APPROXIMATE_BACKLOG_SIZE = Metric("ApproximateBacklogSize", "Count", LEVELLED, "The number of asynchronous requests that wait or run.", Shown.GAUGE_SUM, "torpor_approximate_backlog_size", dimensions=ENDPOINT)
APPROXIMATE_BACKLOG_SIZE_PER_INSTANCE = Metric("ApproximateBacklogSizePerInstance", "Count", LEVELLED, "The backlog divided by the number of ready instances, or the backlog itself if there is none.", Shown.GAUGE_SUM, "torpor_approximate_backlog_size_per_instance", dimensions=ENDPOINT)
APPROXIMATE_AGE_OF_OLDEST_REQUEST = Metric("ApproximateAgeOfOldestRequest", "Seconds", LEVELLED, "How long the oldest asynchronous request has waited.", Shown.GAUGE_SUM, "torpor_approximate_age_of_oldest_request_seconds", dimensions=ENDPOINT)
HAS_BACKLOG_WITHOUT_CAPACITY = Metric("HasBacklogWithoutCapacity", "Count", LEVELLED, "1 if asynchronous requests wait and there is no instance, else 0.", Shown.GAUGE_SUM, "torpor_has_backlog_without_capacity", dimensions=ENDPOINT)
REQUEST_DOWNLOAD_FAILURES = Metric("RequestDownloadFailures", "Count", COUNTED, "Each asynchronous request adds one if its input could not be read.", Shown.COUNTER, "torpor_request_download_failures")
RESPONSE_UPLOAD_FAILURES = Metric("ResponseUploadFailures", "Count", COUNTED, "Each failed try to write the result of an asynchronous request adds one.", Shown.COUNTER, "torpor_response_upload_failures")
NOTIFICATION_FAILURES = Metric("NotificationFailures", "Count", COUNTED, "Each notification of an asynchronous request adds one if SNS refused it.", Shown.COUNTER, "torpor_notification_failures")
EXPIRED_REQUESTS = Metric("ExpiredRequests", "Count", COUNTED, "Each asynchronous request adds one if it waited longer than its RequestTTLSeconds.", Shown.COUNTER, "torpor_expired_requests")
INVOCATION_FAILURES = Metric("InvocationFailures", "Count", COUNTED, "Each asynchronous request adds one if it has no result.", Shown.COUNTER, "torpor_invocation_failures")
INVOCATIONS_PROCESSED = Metric("InvocationsProcesssed", "Count", COUNTED, "Each asynchronous request adds one when it has ended. AWS writes the name so.", Shown.COUNTER, "torpor_invocations_processed")
REQUEST_DOWNLOAD_LATENCY = Metric("RequestDownloadLatency", "Microseconds", TIMED, "The time to read the input of an asynchronous request.", Shown.SUMMARY, "torpor_request_download_latency_seconds")
RESPONSE_UPLOAD_LATENCY = Metric("ResponseUploadLatency", "Microseconds", TIMED, "The time to write the result of an asynchronous request.", Shown.SUMMARY, "torpor_response_upload_latency_seconds")
TIME_IN_BACKLOG = Metric("TimeInBacklog", "Milliseconds", TIMED, "The time from the arrival of an asynchronous request to the beginning of its processing.", Shown.HISTOGRAM, "torpor_time_in_backlog_seconds")
TOTAL_PROCESSING_TIME = Metric("TotalProcessingTime", "Milliseconds", TIMED, "The time from the arrival of an asynchronous request to its end.", Shown.HISTOGRAM, "torpor_total_processing_time_seconds")
# fmt: on

METRICS: tuple[Metric, ...] = tuple(one for one in list(globals().values()) if isinstance(one, Metric))
"""The rows above, in their order."""

OF_DEPLOYMENT: Mapping[Metric, Metric] = {
    metric: replace(metric, dimensions=DEPLOYMENT)
    for metric in (
        INVOCATIONS,
        INVOCATIONS_PER_INSTANCE,
        INVOCATION_4XX_ERRORS,
        INVOCATION_5XX_ERRORS,
        INVOCATION_MODEL_ERRORS,
        MODEL_LATENCY,
        OVERHEAD_LATENCY,
        MODEL_CACHE_HIT,
    )
}
"""The metrics of a variant that its fleet also has with the endpoint configuration of an update. CloudWatch alone has
them: in Prometheus and OpenTelemetry a sum over all series would count each request twice."""

# fmt: off
INVOCATIONS_PER_COPY = Metric("InvocationsPerCopy", "None", COUNTED, "Each request to an inference component adds one, divided by the number of its copies that are active then.", Shown.COUNTER, "torpor_invocations_per_copy", dimensions=COMPONENT)
CONCURRENT_REQUESTS_PER_COPY = Metric("ConcurrentRequestsPerCopy", "Count", LEVELLED, "The number of requests in flight at the copies of an inference component, with those that are queued.", Shown.GAUGE_SUM, "torpor_concurrent_requests_per_copy", dimensions=COMPONENT)
COPY_CPU_UTILIZATION = Metric("CPUUtilizationNormalized", "Percent", TIMED, "The processor use of a copy of an inference component, of the cores that it asks for, or of its instance's where it names none: 100 is all.", Shown.GAUGE_MEAN, "torpor_copy_cpu_utilization_ratio", namespace=COMPONENTS, dimensions=COMPONENT)
COPY_MEMORY_UTILIZATION = Metric("MemoryUtilizationNormalized", "Percent", TIMED, "The used share of the memory that is set aside for a copy of an inference component.", Shown.GAUGE_MEAN, "torpor_copy_memory_utilization_ratio", namespace=COMPONENTS, dimensions=COMPONENT)
# fmt: on

OF_COMPONENT: Mapping[Metric, Metric] = {
    metric: replace(metric, dimensions=COMPONENT)
    for metric in (
        INVOCATIONS,
        INVOCATION_4XX_ERRORS,
        INVOCATION_5XX_ERRORS,
        INVOCATION_MODEL_ERRORS,
        MODEL_LATENCY,
        OVERHEAD_LATENCY,
        NO_CAPACITY_INVOCATION_FAILURES,
    )
} | {INVOCATIONS_PER_INSTANCE: INVOCATIONS_PER_COPY}
"""The metrics of a variant that an inference component on it has for itself, in CloudWatch: see `OF_DEPLOYMENT`."""

JOB_METRICS: tuple[Metric, ...] = tuple(
    replace(metric, namespace=TRANSFORM_JOBS, dimensions=JOB_INSTANCE)
    for metric in (CPU_UTILIZATION, MEMORY_UTILIZATION, DISK_UTILIZATION)
)
"""Of the instances of transform jobs. CloudWatch has them; Prometheus and OpenTelemetry have endpoints only."""


def is_reserved(namespace: str) -> bool:
    """Whether callers may not write the namespace. AWS: "Do not specify a namespace that begins with AWS/"."""
    return namespace.startswith("AWS/") or namespace in (INSTANCES, COMPONENTS, TRANSFORM_JOBS, TORPOR)
