"""Telemetry of a running endpoint, at a collector in this process: spans, metrics, and the caller's trace context."""

import json
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many, one
from tests.endpoint.helpers.model_artifacts import put, script
from tests.endpoint.helpers.otlp_receiver import Received, ReceivedSpan, attributes_of, otlp_receiver
from tests.helpers.waiting import until

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED, NOT_SAMPLED = f"00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-00"

TELLING = """
import json
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept, context):
    if body == "fail":
        raise ValueError("as told")
    return json.dumps(context.get_all_request_header(0)), "application/json"
"""
STREAMING = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    for part in ("one", "two", "three"):
        yield part
"""


@dataclass
class Observed:
    """An endpoint, its collector, and the trace headers that a script has got."""

    live: LiveEndpoint
    collector: Received

    def call(self, endpoint: str, body: bytes = b"1", target: str | None = None, **context: str) -> tuple[str, Any]:
        """The request's id, and what the script tells, or the error. `context` are further headers."""
        sent = dict(context)
        if target is not None:
            sent["x-amzn-sagemaker-target-model"] = target
        url = f"{self.live.url}/endpoints/{endpoint}/invocations"
        request = urllib.request.Request(url, body, {"content-type": "text/csv", **sent})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.headers["x-amzn-requestid"], json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.headers["x-amzn-requestid"], json.loads(error.read())


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    with (
        otlp_receiver() as collector,
        LiveEndpoint(
            tmp_path_factory.mktemp("otel"), "--otel", environment=collector.environment(OTEL_SERVICE_NAME="shops")
        ) as live,
    ):
        put(live.folder("models"), {f"many/{name}.tar.gz": script(TELLING) for name in "ab"})
        put(live.folder("models"), {"telling.tar.gz": script(TELLING), "streaming.tar.gz": script(STREAMING)})
        live.create("shop", Variant(many("models/many")))
        containers = [one("models/telling.tar.gz", ContainerHostname=name) for name in ("first", "second")]
        live.create("pipeline", Variant(containers))
        live.create("stream", Variant(one("models/streaming.tar.gz")))
        for name in ("shop", "pipeline", "stream"):
            assert live.settled(name)["EndpointStatus"] == "InService"
        yield Observed(live, collector)


def shown(spans: list[ReceivedSpan]) -> list[tuple[str, str | None]]:
    """Each span with the name of the one above it."""
    names = {span.id: span.name for span in spans}
    return [(span.name, names.get(span.parent)) for span in spans]


REQUEST = "POST /endpoints/{EndpointName}/invocations"


def test_a_cold_request_and_a_warm_one_have_their_trees(observed: Observed) -> None:
    cold, _ = observed.call("shop", target="a.tar.gz")
    root, *below = spans = observed.collector.tree(cold)
    steps = ("queue", "download", "unpack", "load", "predict")
    assert shown(spans) == [(REQUEST, None), ("invoke", REQUEST), *((step, "invoke") for step in steps)]
    assert (root.attributes["faas.coldstart"], root.attributes["torpor.model_cache"]) == (True, "miss")
    assert root.attributes["torpor.cold.reason"]
    assert root.took_s == pytest.approx(
        sum(span.took_s for span in below[1:]) + root.attributes["torpor.overhead"], abs=1e-5
    )

    def warm() -> list[ReceivedSpan]:
        """A request that waited for nothing: on a busy machine one may wait a moment for its script."""
        spans = observed.collector.tree(observed.call("shop", target="a.tar.gz")[0])
        return [] if spans[0].attributes["faas.coldstart"] else spans

    spans = until(warm)
    assert shown(spans) == [(REQUEST, None), ("invoke", REQUEST), ("queue", "invoke"), ("predict", "invoke")]
    assert spans[0].attributes["torpor.model_cache"] == "hit"
    assert spans[0].resource["service.name"] == "shops"


def test_a_pipeline_has_a_span_for_each_container_and_each_gets_its_own(observed: Observed) -> None:
    number, told = observed.call("pipeline")
    spans = observed.collector.tree(number)
    assert shown(spans) == [
        (REQUEST, None),
        ("invoke first", REQUEST),
        ("queue", "invoke first"),
        ("predict", "invoke first"),
        ("invoke second", REQUEST),
        ("queue", "invoke second"),
        ("predict", "invoke second"),
    ]
    assert told["traceparent"] == f"00-{spans[0].trace}-{spans[4].id}-03"


def test_a_payload_of_a_batch_transform_has_a_trace_of_its_own(observed: Observed) -> None:
    live, collector = observed.live, observed.collector
    put(live.folder("scores"), {"in/a.csv": b"1\n"})
    live.sagemaker.create_transform_job(
        TransformJobName="nightly",
        ModelName="pipeline-AllTraffic",
        TransformInput={
            "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://scores/in/"}},
            "ContentType": "text/csv",
        },
        TransformOutput={"S3OutputPath": "s3://scores/out"},
        TransformResources={"InstanceType": "ml.m5.large", "InstanceCount": 1},
    )
    until(lambda: "TransformEndTime" in live.sagemaker.describe_transform_job(TransformJobName="nightly"), 60.0)
    told = json.loads((live.folder("scores") / "out" / "a.csv.out").read_text())

    def spans() -> list[ReceivedSpan]:
        [root] = [span for span in collector.spans if span.name == "transform payload"]
        return [span for span in collector.spans if span.trace == root.trace]

    until(lambda: any(span.name == "transform payload" for span in collector.spans))
    names = {span.name: span for span in spans()}
    root, second = names["transform payload"], names["invoke second"]
    assert (root.parent, root.kind, names["invoke first"].parent, second.parent) == ("", "INTERNAL", root.id, root.id)
    assert (root.attributes["torpor.transform_job"], root.error) == ("nightly", None)
    assert told["traceparent"] == f"00-{root.trace}-{second.id}-03"


def test_a_stream_has_a_span_for_the_time_after_its_first_part(observed: Observed) -> None:
    answer = observed.live.runtime.invoke_endpoint_with_response_stream(EndpointName="stream", Body=b"1")
    assert b"".join(event["PayloadPart"]["Bytes"] for event in answer["Body"]) == b"onetwothree"
    spans = observed.collector.tree(answer["ResponseMetadata"]["RequestId"])
    assert [name for name, _ in shown(spans)] == [f"{REQUEST}-response-stream", "invoke", "queue", "predict", "stream"]


def test_the_caller_s_context_is_kept_and_reaches_the_script(observed: Observed) -> None:
    context = {"traceparent": SAMPLED, "tracestate": "vendor=1", "baggage": "user=me"}
    number, told = observed.call("shop", b"1", "a.tar.gz", **context)
    spans = observed.collector.tree(number)
    assert {(span.trace, span.state) for span in spans} == {(TRACE, "vendor=1")}
    assert spans[0].parent == SPAN
    assert told["traceparent"] == f"00-{TRACE}-{spans[1].id}-01"
    assert (told["tracestate"], told["baggage"]) == ("vendor=1", "user=me")


def test_a_request_that_its_caller_does_not_sample_has_no_spans_and_the_script_learns_that(observed: Observed) -> None:
    quiet, told = observed.call("shop", target="a.tar.gz", traceparent=NOT_SAMPLED)
    loud, _ = observed.call("shop", target="a.tar.gz")
    observed.collector.tree(loud)
    assert quiet not in observed.collector.trees()
    assert told["traceparent"].startswith(f"00-{TRACE}-")
    assert told["traceparent"].endswith("-00")


def test_an_error_is_the_status_of_the_span_and_a_wrong_request_is_not(observed: Observed) -> None:
    failed, _ = observed.call("shop", b"fail", target="a.tar.gz")
    root, leg = observed.collector.tree(failed)[:2]
    assert (root.error, root.attributes["error.type"]) == ("ModelError", "ModelError")
    assert (leg.error, leg.attributes["http.response.status_code"]) == ("500", 500)
    wrong, _ = observed.call("shop")
    (span,) = observed.collector.tree(wrong)
    assert (span.error, span.attributes["error.type"]) == (None, "ValidationError")


def test_the_metrics_arrive_under_their_names(observed: Observed) -> None:
    observed.call("shop", target="b.tar.gz")

    def of_shop(metric: Metric) -> list[dict[str, Any]]:
        points = [*metric.histogram.data_points, *metric.sum.data_points]
        return [named for point in points if (named := attributes_of(point))["torpor.endpoint"] == "shop"]

    assert of_shop(observed.collector.metric("torpor.invocations", of_shop)) == [
        {"torpor.endpoint": "shop", "torpor.variant": "AllTraffic"}
    ]
    durations = observed.collector.metric("http.server.request.duration", of_shop)
    assert {
        "http.request.method": "POST",
        "http.route": "/endpoints/{EndpointName}/invocations",
        "http.response.status_code": 200,
        "url.scheme": "http",
        "torpor.endpoint": "shop",
        "torpor.variant": "AllTraffic",
    } in of_shop(durations)
    assert observed.collector.resources[-1]["service.name"] == "shops"


@pytest.mark.thorough
def test_a_collector_that_hangs_delays_no_request_and_the_lost_are_shown(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with (
        otlp_receiver(hangs=True) as collector,
        LiveEndpoint(
            tmp_path_factory.mktemp("hangs"),
            "--otel",
            environment=collector.environment(OTEL_BSP_MAX_QUEUE_SIZE="8"),
        ) as live,
    ):
        put(live.folder("models"), {"telling.tar.gz": script(TELLING)})
        live.deploy("shop", Variant(one("models/telling.tar.gz")))
        hanging = Observed(live, collector)
        began_s = time.monotonic()
        for _ in range(20):
            hanging.call("shop")
        assert time.monotonic() - began_s < 100.0  # the SDK waits 10 s for each batch: those that waited took 200 s
        with urllib.request.urlopen(f"{live.url}/_torpor/metrics") as page:
            lines = page.read().decode().splitlines()
        dropped = [line.rpartition(" ")[2] for line in lines if line.startswith("torpor_traces_dropped_total{")]
        assert 10 <= float(dropped[0]) < 20
        assert live.stop() == 0


def test_without_the_option_no_trace_header_reaches_a_script(live: LiveEndpoint) -> None:
    put(live.folder("models"), {"telling.tar.gz": script(TELLING)})
    live.deploy("Untraced", Variant(one("models/telling.tar.gz")))
    _, told = Observed(live, Received()).call("Untraced", traceparent=SAMPLED, tracestate="a=1", baggage="k=v")
    assert not {"traceparent", "tracestate", "baggage"} & set(told)
