"""The queue of spans: it has a bound, what does not fit is dropped whole, and everything that is lost is counted."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from threading import Event

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.passages import passage
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.helpers.waiting import until
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.runtime.passage import Passage, Route
from torpor_endpoint.telemetry.environment import QueueLimits
from torpor_endpoint.telemetry.span_sending import LOGGED_EVERY_S, SpanSender
from torpor_endpoint.telemetry.spans import planned
from torpor_endpoint.telemetry.trace_context import SAMPLED, RequestTrace


@dataclass
class Collector(SpanExporter):
    """A collector that takes spans, refuses them, or hangs until `held` is set."""

    result: SpanExportResult = SpanExportResult.SUCCESS
    held: Event = field(default_factory=Event)
    came: list[ReadableSpan] = field(default_factory=list)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.held.wait()
        self.came.extend(spans)
        return self.result

    def shutdown(self) -> None:
        """Nothing is open."""


class Sending:
    """A sender with a fake clock, and the requests that it has counted as lost, by variant."""

    def __init__(self, collector: Collector, waiting: int = 6) -> None:
        self.now_s = 0.0
        self.lost: Counter[tuple[str, str]] = Counter()
        ids = count(1000)
        limits = QueueLimits(waiting, 1)
        resource = Resource({"service.name": "torpor"})
        self.sender = SpanSender(collector, resource, self._lose, lambda: self.now_s, lambda bits: next(ids), limits)

    def _lose(self, endpoint: str, variant: str, requests: int) -> None:
        self.lost[endpoint, variant] += requests

    def send(self, request: Passage) -> None:
        """Its own span, and two steps."""
        trace = RequestTrace(1, 2, SAMPLED, 3, b"a=1", b"", count(100).__next__)
        self.sender.send(request, trace, planned(request, [], trace))


@contextmanager
def sending(collector: Collector, waiting: int = 6) -> Iterator[Sending]:
    made = Sending(collector, waiting)
    try:
        yield made
    finally:
        collector.held.set()
        made.sender.close()


@pytest.fixture(scope="module")
def request_of() -> Callable[[], Passage]:
    with FakeHost() as host:
        pool = PoolOnFakeHost(host).pool

    def made() -> Passage:
        request = passage("shop", route=Route(FleetEndpoint("shop", "arn", {"v": pool}), "v", pool, None))
        request.scope["method"] = "POST"
        request.steps = {"wake": 0.1, "hold": 0.1}
        request.end(200, 0, 0.2)
        return request

    return made


def test_spans_reach_the_collector_with_their_caller_s_state_and_the_request_s_own_comes_last(
    request_of: Callable[[], Passage],
) -> None:
    collector = Collector()
    collector.held.set()
    with sending(collector) as made:
        made.send(request_of())
    assert [span.name for span in collector.came][:2] == ["wake", "hold"]
    contexts = [span.get_span_context() for span in collector.came]
    assert {context and context.trace_state.to_header() for context in contexts} == {"a=1"}
    assert [span.parent and (span.parent.span_id, span.parent.is_remote) for span in collector.came] == [
        (2, False),
        (2, False),
        (3, True),
    ]


def test_a_collector_that_hangs_holds_up_nobody_and_the_dropped_are_counted(
    request_of: Callable[[], Passage], caplog: pytest.LogCaptureFixture
) -> None:
    collector = Collector()
    with sending(collector, waiting=6) as made:
        for _ in range(10):
            made.send(request_of())
        assert made.lost == {("shop", "v"): 8}
        made.now_s = LOGGED_EVERY_S
        made.send(request_of())
    assert len(collector.came) == 6
    assert [record.getMessage() for record in caplog.records] == [
        "the spans of 1 requests are lost: the collector does not take them",
        "the spans of 8 requests are lost: the collector does not take them",
    ]


def test_there_is_room_again_once_the_collector_has_taken_some(request_of: Callable[[], Passage]) -> None:
    collector = Collector()
    with sending(collector, waiting=3) as made:
        made.send(request_of())
        collector.held.set()

        def sent_again() -> bool:
            before = made.lost.total()
            made.send(request_of())
            return made.lost.total() == before

        assert until(sent_again)


def test_requests_whose_spans_the_collector_refuses_are_counted(request_of: Callable[[], Passage]) -> None:
    collector = Collector(SpanExportResult.FAILURE)
    collector.held.set()
    made = Sending(collector)
    for _ in range(2):
        made.send(request_of())
    made.sender.close()
    made.sender.settle()
    assert made.lost == {("shop", "v"): 2}


def test_a_long_attribute_is_cut_as_the_variable_says(
    request_of: Callable[[], Passage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "4")
    collector = Collector()
    collector.held.set()
    with sending(collector) as made:
        made.send(request_of())
    attributes = collector.came[-1].attributes or {}
    assert (attributes["torpor.variant"], attributes["http.route"]) == ("v", "/end")
