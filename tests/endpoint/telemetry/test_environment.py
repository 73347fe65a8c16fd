"""OpenTelemetry's variables as values: what they ask for, and those that would be ignored are refused."""

import pytest

from torpor_endpoint.telemetry.environment import BadTelemetry, QueueLimits, Signals, signals


def test_without_variables_both_signals_are_sent() -> None:
    assert signals({}) == Signals(True, True, True, QueueLimits(2048, 512), 60.0)


@pytest.mark.parametrize(
    ("variables", "traces", "metrics", "baggage"),
    [
        ({"OTEL_SDK_DISABLED": "TRUE"}, False, False, True),
        ({"OTEL_TRACES_EXPORTER": "none"}, False, True, True),
        ({"OTEL_METRICS_EXPORTER": "None", "OTEL_PROPAGATORS": "tracecontext"}, True, False, False),
        ({"OTEL_PROPAGATORS": "baggage, tracecontext", "OTEL_TRACES_EXPORTER": ""}, True, True, True),
    ],
)
def test_the_variables_choose_the_signals(
    variables: dict[str, str], traces: bool, metrics: bool, baggage: bool
) -> None:
    chosen = signals(variables)
    assert (chosen.traces, chosen.metrics, chosen.baggage) == (traces, metrics, baggage)


def test_a_short_queue_is_sent_in_shorter_batches() -> None:
    assert signals({"OTEL_BSP_MAX_QUEUE_SIZE": "8"}).queue == QueueLimits(8, 8)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("OTEL_METRICS_EXPORTER", "prometheus"),
        ("OTEL_PROPAGATORS", "b3"),
        ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
        ("OTEL_SDK_DISABLED", "yes"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "0"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "many"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4096"),
        ("OTEL_BSP_SCHEDULE_DELAY", "-1"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "inf"),
        ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta"),
        ("OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", "base2_exponential_bucket_histogram"),
    ],
)
def test_a_value_that_would_be_ignored_is_refused_by_its_name(name: str, value: str) -> None:
    with pytest.raises(BadTelemetry, match=f"^{name}={value}: it must"):
        signals({name: value})


@pytest.mark.parametrize("share", ["2", "-0.1", "nan", "some"])
def test_a_share_of_sampled_requests_is_from_0_to_1(share: str) -> None:
    with pytest.raises(BadTelemetry, match="OTEL_TRACES_SAMPLER_ARG"):
        signals({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": share})
