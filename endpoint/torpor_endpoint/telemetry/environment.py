"""Reads those of OpenTelemetry's variables that the SDK leaves to the program: which signals are sent, and how.

Pure: it takes the variables as a mapping. The SDK itself reads the others: the collector's address and headers
(`OTEL_EXPORTER_OTLP_*`), the sampler (`OTEL_TRACES_SAMPLER`), the resource (`OTEL_RESOURCE_ATTRIBUTES`). A value that
would be ignored is refused. Source: OpenTelemetry's specification, "Environment Variable Specification".
"""

from collections.abc import Callable, Mapping
from math import inf
from typing import NamedTuple, TypeVar

Number = TypeVar("Number", int, float)

DISABLED = "OTEL_SDK_DISABLED"
PROTOCOLS = ("OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL")
TRACES, METRICS = "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"
PROPAGATORS = "OTEL_PROPAGATORS"
SAMPLER, SAMPLER_ARGUMENT = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
QUEUE, INTERVAL = "OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_METRIC_EXPORT_INTERVAL"
BATCH, DELAY = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "OTEL_BSP_SCHEDULE_DELAY"

TEMPORALITY = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"
HISTOGRAMS = "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION"

PROTOCOL = "http/protobuf"
EXPLICIT = "explicit_bucket_histogram"
EXPORTERS = ("otlp", "none")
PROPAGATED = ("tracecontext,baggage", "tracecontext", "baggage,tracecontext")
RATIO_SAMPLERS = ("traceidratio", "parentbased_traceidratio")
SAMPLERS = (*RATIO_SAMPLERS, "always_on", "always_off", "parentbased_always_on", "parentbased_always_off")


class BadTelemetry(Exception):
    """One of the variables has a value that would be ignored. The message names it and says what to set."""


class QueueLimits(NamedTuple):
    """How many spans may wait to be sent, and how many are sent together at most."""

    waiting: int = 2048
    together: int = 512


class Signals(NamedTuple):
    """What is sent to the collector."""

    traces: bool
    metrics: bool
    baggage: bool
    """Whether the caller's baggage is passed on."""
    queue: QueueLimits
    metrics_every_s: float


QUEUE_LIMITS = QueueLimits()


def signals(environment: Mapping[str, str]) -> Signals:
    """The signals that these variables ask for. Raises BadTelemetry."""
    for name in PROTOCOLS:
        _one_of(environment, name, (PROTOCOL,), PROTOCOL)
    sampler = _one_of(environment, SAMPLER, SAMPLERS, "parentbased_always_on")
    if sampler in RATIO_SAMPLERS:
        _number(environment, SAMPLER_ARGUMENT, float, 1.0, lambda share: 0 <= share <= 1, "a number from 0 to 1")
    _one_of(environment, TEMPORALITY, ("cumulative",), "cumulative")
    _one_of(environment, HISTOGRAMS, (EXPLICIT,), EXPLICIT)
    on = _one_of(environment, DISABLED, ("true", "false"), "false") == "false"
    propagated = _one_of(environment, PROPAGATORS, PROPAGATED, PROPAGATED[0])
    queue_max = _number(environment, QUEUE, int, QUEUE_LIMITS.waiting, _positive, "a number above 0")
    batch_max = _number(environment, BATCH, int, min(QUEUE_LIMITS.together, queue_max), _positive, "a number above 0")
    if batch_max > queue_max:
        raise BadTelemetry(f"{BATCH}={batch_max}: it must not be more than {QUEUE}, which is {queue_max}")
    _number(environment, DELAY, int, 5000, _positive, "a number of milliseconds above 0")
    interval_ms = _number(environment, INTERVAL, float, 60_000.0, _positive, "a number of milliseconds above 0")
    return Signals(
        traces=on and _one_of(environment, TRACES, EXPORTERS, EXPORTERS[0]) == "otlp",
        metrics=on and _one_of(environment, METRICS, EXPORTERS, EXPORTERS[0]) == "otlp",
        baggage="baggage" in propagated,
        queue=QueueLimits(queue_max, batch_max),
        metrics_every_s=interval_ms / 1000,
    )


def _one_of(environment: Mapping[str, str], name: str, known: tuple[str, ...], otherwise: str) -> str:
    """The variable's value. OpenTelemetry: an empty value is as an unset one, and case does not matter."""
    given = environment.get(name, "").strip().lower().replace(" ", "")
    if given and given not in known:
        raise BadTelemetry(f"{name}={environment[name]}: it must be {' or '.join(known)}")
    return given or otherwise


def _positive(number: float) -> bool:
    return 0 < number < inf


def _number(
    environment: Mapping[str, str],
    name: str,
    read: Callable[[str], Number],
    otherwise: Number,
    fits: Callable[[float], bool],
    rule: str,
) -> Number:
    given = environment.get(name, "").strip()
    try:
        number = read(given) if given else otherwise
    except ValueError:
        number = None
    if number is None or not fits(number):
        raise BadTelemetry(f"{name}={given}: it must be {rule}")
    return number
