"""The one table of Torpor's metrics: names, units, dimensions and meanings, for CloudWatch, Prometheus and the docs.

Names, units and dimensions are SageMaker's own. `metrics.registry` holds the samples.
"""

from dataclasses import dataclass
from enum import StrEnum

SAGEMAKER = "AWS/SageMaker"
INSTANCES = "/aws/sagemaker/Endpoints"

VARIANT = ("EndpointName", "VariantName")

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


@dataclass(frozen=True)
class Metric:
    """One metric. AWS documents `statistics`, but a caller may request any. `prometheus` is a name in base units."""

    name: str
    unit: str
    statistics: tuple[str, ...]
    meaning: str
    shown: Shown
    prometheus: str
    namespace: str = SAGEMAKER
    dimensions: tuple[str, ...] = VARIANT


INVOCATIONS = Metric(
    "Invocations",
    "None",
    COUNTED,
    "Requests sent to the endpoint.",
    Shown.COUNTER,
    "torpor_invocations",
)
INVOCATIONS_PER_INSTANCE = Metric(
    "InvocationsPerInstance",
    "None",
    COUNTED,
    "Each request adds one divided by the instances active at that time.",
    Shown.COUNTER,
    "torpor_invocations_per_instance",
)
INVOCATION_4XX_ERRORS = Metric(
    "Invocation4XXErrors",
    "None",
    FLAGGED,
    "1 for a request that the model answered with 4xx, else 0.",
    Shown.COUNTER,
    "torpor_invocation_4xx_errors",
)
INVOCATION_5XX_ERRORS = Metric(
    "Invocation5XXErrors",
    "None",
    FLAGGED,
    "1 for a request that the model answered with 5xx, else 0.",
    Shown.COUNTER,
    "torpor_invocation_5xx_errors",
)
INVOCATION_MODEL_ERRORS = Metric(
    "InvocationModelErrors",
    "None",
    FLAGGED,
    "1 for a request without a 2xx answer from the model, broken connections and timeouts included, else 0.",
    Shown.COUNTER,
    "torpor_invocation_model_errors",
)
MODEL_LATENCY = Metric(
    "ModelLatency",
    "Microseconds",
    TIMED,
    "Time in the instance, local transfer included.",
    Shown.HISTOGRAM,
    "torpor_model_latency_seconds",
)
OVERHEAD_LATENCY = Metric(
    "OverheadLatency",
    "Microseconds",
    TIMED,
    "Total time minus ModelLatency; holding and waking an instance included.",
    Shown.HISTOGRAM,
    "torpor_overhead_latency_seconds",
)
CONCURRENT_REQUESTS_PER_MODEL = Metric(
    "ConcurrentRequestsPerModel",
    "Count",
    LEVELLED,
    "Requests in flight, queued ones included.",
    Shown.GAUGE_SUM,
    "torpor_concurrent_requests",
)
NO_CAPACITY_INVOCATION_FAILURES = Metric(
    "NoCapacityInvocationFailures",
    "Count",
    COUNTED,
    "Requests refused because no instance was running, where AWS's behaviour at zero was asked for.",
    Shown.COUNTER,
    "torpor_no_capacity_invocation_failures",
)
MODEL_LOADING_WAIT_TIME = Metric(
    "ModelLoadingWaitTime",
    "Microseconds",
    TIMED,
    "Time a request waited for its model's download, load, or both.",
    Shown.HISTOGRAM,
    "torpor_model_loading_wait_seconds",
)
MODEL_UNLOADING_TIME = Metric(
    "ModelUnloadingTime",
    "Microseconds",
    TIMED,
    "Time to unload a model; SampleCount is the number of unloads.",
    Shown.HISTOGRAM,
    "torpor_model_unloading_seconds",
)
MODEL_DOWNLOADING_TIME = Metric(
    "ModelDownloadingTime",
    "Microseconds",
    TIMED,
    "Time to download a model from S3.",
    Shown.HISTOGRAM,
    "torpor_model_downloading_seconds",
)
MODEL_LOADING_TIME = Metric(
    "ModelLoadingTime",
    "Microseconds",
    TIMED,
    "Time to load a model into memory.",
    Shown.HISTOGRAM,
    "torpor_model_loading_seconds",
)
MODEL_CACHE_HIT = Metric(
    "ModelCacheHit",
    "None",
    ("Average", "Sum", "SampleCount"),
    "1 for a request whose model was in memory, else 0; Average is the hit ratio.",
    Shown.SUMMARY,
    "torpor_model_cache_hit",
)
LOADED_MODEL_COUNT = Metric(
    "LoadedModelCount",
    "None",
    TIMED,
    "Models in memory, one sample per instance and minute.",
    Shown.GAUGE_SUM,
    "torpor_loaded_models",
    namespace=INSTANCES,
)
CPU_UTILIZATION = Metric(
    "CPUUtilization",
    "Percent",
    TIMED,
    "Processor use of an instance; each core adds 100.",
    Shown.GAUGE_MEAN,
    "torpor_cpu_utilization_ratio",
    namespace=INSTANCES,
)
MEMORY_UTILIZATION = Metric(
    "MemoryUtilization",
    "Percent",
    TIMED,
    "Memory in use, of the instance's budget.",
    Shown.GAUGE_MEAN,
    "torpor_memory_utilization_ratio",
    namespace=INSTANCES,
)
DISK_UTILIZATION = Metric(
    "DiskUtilization",
    "Percent",
    TIMED,
    "Disk in use, of the instance's budget.",
    Shown.GAUGE_MEAN,
    "torpor_disk_utilization_ratio",
    namespace=INSTANCES,
)

MODEL_SETUP_TIME = Metric(
    "ModelSetupTime",
    "Microseconds",
    ("Average", "Minimum", "Maximum", "SampleCount"),
    "Time to launch an instance of a serverless variant.",
    Shown.HISTOGRAM,
    "torpor_model_setup_seconds",
)
SERVERLESS_CONCURRENT_EXECUTIONS_UTILIZATION = Metric(
    "ServerlessConcurrentExecutionsUtilization",
    "None",
    LEVELLED,
    "Requests in flight divided by MaxConcurrency, as each request comes.",
    Shown.SUMMARY,
    "torpor_serverless_concurrency_ratio",
)
SERVERLESS_PROVISIONED_CONCURRENCY_EXECUTIONS = Metric(
    "ServerlessProvisionedConcurrencyExecutions",
    "Count",
    LEVELLED,
    "Requests in flight within ProvisionedConcurrency, as each request comes.",
    Shown.SUMMARY,
    "torpor_serverless_provisioned_executions",
)
SERVERLESS_PROVISIONED_CONCURRENCY_UTILIZATION = Metric(
    "ServerlessProvisionedConcurrencyUtilization",
    "None",
    LEVELLED,
    "The same divided by ProvisionedConcurrency.",
    Shown.SUMMARY,
    "torpor_serverless_provisioned_ratio",
)
SERVERLESS_PROVISIONED_CONCURRENCY_INVOCATIONS = Metric(
    "ServerlessProvisionedConcurrencyInvocations",
    "Count",
    (*LEVELLED, "Sum"),
    "Requests within ProvisionedConcurrency.",
    Shown.COUNTER,
    "torpor_serverless_provisioned_invocations",
)
SERVERLESS_PROVISIONED_CONCURRENCY_SPILLOVER_INVOCATIONS = Metric(
    "ServerlessProvisionedConcurrencySpilloverInvocations",
    "Count",
    (*LEVELLED, "Sum"),
    "Requests beyond ProvisionedConcurrency.",
    Shown.COUNTER,
    "torpor_serverless_spillover_invocations",
)
METRICS: tuple[Metric, ...] = (
    INVOCATIONS,
    INVOCATIONS_PER_INSTANCE,
    INVOCATION_4XX_ERRORS,
    INVOCATION_5XX_ERRORS,
    INVOCATION_MODEL_ERRORS,
    MODEL_LATENCY,
    OVERHEAD_LATENCY,
    CONCURRENT_REQUESTS_PER_MODEL,
    NO_CAPACITY_INVOCATION_FAILURES,
    MODEL_LOADING_WAIT_TIME,
    MODEL_UNLOADING_TIME,
    MODEL_DOWNLOADING_TIME,
    MODEL_LOADING_TIME,
    MODEL_CACHE_HIT,
    MODEL_SETUP_TIME,
    SERVERLESS_CONCURRENT_EXECUTIONS_UTILIZATION,
    SERVERLESS_PROVISIONED_CONCURRENCY_EXECUTIONS,
    SERVERLESS_PROVISIONED_CONCURRENCY_UTILIZATION,
    SERVERLESS_PROVISIONED_CONCURRENCY_INVOCATIONS,
    SERVERLESS_PROVISIONED_CONCURRENCY_SPILLOVER_INVOCATIONS,
    LOADED_MODEL_COUNT,
    CPU_UTILIZATION,
    MEMORY_UTILIZATION,
    DISK_UTILIZATION,
)


def is_reserved(namespace: str) -> bool:
    """Whether callers may not write the namespace. AWS: "Do not specify a namespace that begins with AWS/"."""
    return namespace.startswith("AWS/") or namespace == INSTANCES
