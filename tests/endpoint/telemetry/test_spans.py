"""The spans of a request as values: how they nest, how long they are, and what they say."""

import json
import pkgutil
from dataclasses import replace
from importlib import import_module
from itertools import count, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.semconv import attributes, metrics
from opentelemetry.semconv._incubating import attributes as newer_attributes
from opentelemetry.semconv._incubating import metrics as newer_metrics

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.passages import passage
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from torpor_account.metrics.metrics import METRICS
from torpor_container import wire
from torpor_container.transport.upstream_answers import UpstreamAnswer
from torpor_endpoint.core.sending.trail import Trail
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.passage import Passage, Route, Served, StreamFacts
from torpor_endpoint.telemetry.durations import DURATION
from torpor_endpoint.telemetry.spans import PlannedSpan, planned
from torpor_endpoint.telemetry.trace_context import SAMPLED, RequestTrace

AT_S = 1.7e9
MODEL_ERROR = [(b"x-amzn-errortype", b"ModelError:")]
HIT = (wire.MODEL_CACHE.lower().encode(), b"hit")
STEPS = ("queue", "download", "unpack", "load", "predict")
CLOCK_S = 1e-6
"""Seconds since 1970 have no finer steps than this as a float."""


def trace(*legs: int) -> RequestTrace:
    """A place whose request was sent to the containers at these places of its path."""
    ids = count(100)
    made = RequestTrace(1, 2, SAMPLED, None, b"", b"", ids.__next__)
    for step in legs:
        made.headers(step)
    return made


def route(containers: int = 1, **members: Any) -> Route:
    with FakeHost() as host:
        pool = PoolOnFakeHost(host, containers=containers).pool
    pool.variant = replace(pool.variant, **members)
    return Route(FleetEndpoint("shop", "arn", {"v": pool}), "v", pool, "a.tar.gz", tuple(range(containers)))


def served(sent_s: float, *headers: tuple[bytes, bytes], status: int = 200) -> Served:
    return Served(UpstreamAnswer(status, list(headers)), "i-1", 1, 1, sent_s)


def ended(
    outcome: Served | RuntimeFault | None, total_s: float, routed: Route | None, status: int = 200, **steps: float
) -> Passage:
    request = passage("shop", (b"host", b"[::1]:4700"), (b"user-agent", b"a/1"), route=routed)
    request.scope["method"] = "POST"
    request.at_s, request.outcome, request.steps = AT_S, outcome, dict(steps)
    request.end(status, 5, total_s)
    return request


def shown(spans: list[PlannedSpan]) -> list[tuple[str, str | None, float, float]]:
    """Each span with the name of the one above it, its beginning and its length in seconds."""
    names = {span.span_id: span.name for span in spans if span.span_id is not None}
    return [
        (
            span.name,
            names.get(span.parent_id) if span.parent_id is not None else None,
            round(span.began_s - AT_S, 3),
            round(span.ended_s - span.began_s, 3),
        )
        for span in spans
    ]


REQUEST = "POST /endpoints/{EndpointName}/invocations"


def test_a_warm_request_is_itself_its_container_and_its_prediction() -> None:
    request = ended(served(0.010, HIT), 0.012, route(), predict=0.006)
    assert shown(planned(request, [], trace(0))) == [
        (REQUEST, None, 0.0, 0.012),
        ("invoke", REQUEST, 0.002, 0.010),
        ("predict", "invoke", 0.004, 0.006),
    ]


def test_a_cold_request_shows_its_wake_and_every_step_of_the_load() -> None:
    request = ended(served(1.0), 3.0, route(), wake=1.9, queue=0.1, download=0.2, unpack=0.1, load=0.5, predict=0.1)
    spans = planned(request, [], trace(0))
    assert [(name, above) for name, above, _, _ in shown(spans)] == [
        (REQUEST, None),
        ("wake", REQUEST),
        ("invoke", REQUEST),
        *((step, "invoke") for step in STEPS),
    ]
    assert spans[0].attributes["faas.coldstart"] is True
    assert spans[1].ended_s == pytest.approx(spans[2].began_s, abs=CLOCK_S)


def test_a_pipeline_shows_each_container_with_its_own_steps() -> None:
    request = ended(served(0.5), 0.6, route(2), predict=0.35, load=0.1)
    request.trail = Trail(
        {"container-1": 0.2, "container-2": 0.3}, steps=[{"predict": 0.15}, {"load": 0.1, "predict": 0.2}]
    )
    assert shown(planned(request, [], trace(0, 1))) == [
        (REQUEST, None, 0.0, 0.6),
        ("invoke container-1", REQUEST, 0.1, 0.2),
        ("predict", "invoke container-1", 0.125, 0.15),
        ("invoke container-2", REQUEST, 0.3, 0.3),
        ("load", "invoke container-2", 0.3, 0.1),
        ("predict", "invoke container-2", 0.4, 0.2),
    ]


def test_the_container_that_gave_no_answer_has_the_rest_of_the_time_and_the_error() -> None:
    fault = RuntimeFault(Situation.MODEL_SERVER, original=(0, "no answer"), status=0)
    request = ended(fault, 1.0, route(2), status=424)
    request.trail = Trail({"container-1": 0.2}, steps=[{"predict": 0.2}])
    spans = planned(request, MODEL_ERROR, trace(0, 1))
    assert [(span.name, span.error) for span in spans] == [
        (REQUEST, "ModelError"),
        ("invoke container-1", None),
        ("predict", None),
        ("invoke container-2", "ModelError"),
    ]
    assert spans[-1].ended_s - spans[-1].began_s == pytest.approx(0.8, abs=CLOCK_S)


def test_a_stream_is_predicted_until_its_first_part_and_then_streamed() -> None:
    request = ended(served(1.0), 1.0, route(), predict=0.25, stream=0.75)
    request.scope["path"] += "-response-stream"
    request.stream = StreamFacts(0.25, 0.25)
    spans = planned(request, [], trace(0))
    assert spans[0].name == "POST /endpoints/{EndpointName}/invocations-response-stream"
    assert [span.name for span in spans[2:]] == ["predict", "stream"]


def test_a_stream_that_fails_on_its_way_is_an_error_in_spite_of_its_status() -> None:
    request = ended(served(1.0), 1.0, route(), predict=0.25, stream=0.75)
    request.stream = StreamFacts(0.25, 0.25, failed=True)
    spans = planned(request, [], trace(0))
    assert [(span.error, span.attributes["http.response.status_code"]) for span in spans[:2]] == [
        ("ModelStreamError", 200),
        ("ModelStreamError", 200),
    ]


@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("ModelError", 424, "ModelError"),
        ("ModelNotReadyException", 429, "ModelNotReadyException"),
        ("ThrottlingException", 400, "ThrottlingException"),
        ("ValidationError", 400, None),
    ],
)
def test_only_errors_that_are_not_the_request_s_own_fail_the_span(code: str, status: int, error: str | None) -> None:
    request = ended(RuntimeFault(Situation.INTERNAL), 0.1, None, status=status)
    (span,) = planned(request, [(b"x-amzn-errortype", f"{code}:".encode())], trace())
    assert (span.error, span.attributes["error.type"]) == (error, code)


def test_the_attributes_say_who_answered_and_why_the_model_was_not_there() -> None:
    cold = {"bytes": 7, "victims": ["b.tar.gz"], "reason": "evicted before", "took_s": 0.1, "efforts": {}}
    headers = (wire.COLD.lower().encode(), json.dumps(cold).encode()), (HIT[0], b"miss")
    span = planned(ended(served(0.1, *headers), 0.1, route(), load=0.1), [], trace(0))[0]
    assert span.attributes == {
        "http.request.method": "POST",
        "http.route": "/endpoints/{EndpointName}/invocations",
        "http.response.status_code": 200,
        "http.request.body.size": 0,
        "http.response.body.size": 5,
        "url.path": "/endpoints/shop/invocations",
        "url.scheme": "http",
        "user_agent.original": "a/1",
        "server.address": "::1",
        "server.port": 4700,
        "aws.request_id": "1",
        "faas.coldstart": True,
        "torpor.endpoint": "shop",
        "torpor.variant": "v",
        "torpor.model": "a.tar.gz",
        "torpor.instance": "i-1",
        "torpor.model_cache": "miss",
        "torpor.cold.reason": "evicted before",
        "torpor.cold.bytes": 7,
        "torpor.cold.evicted": ["b.tar.gz"],
        "torpor.overhead": 0.0,
    }


def test_the_copy_for_a_shadow_variant_is_no_request_of_a_caller() -> None:
    span = planned(ended(served(0.1), 0.1, route(shadow=True)), [], trace(0))[0]
    assert (span.name, span.kind, span.attributes["torpor.shadow"]) == ("shadow copy", "INTERNAL", True)


SECONDS = st.floats(0.0, 10.0)


@given(
    waits=st.dictionaries(st.sampled_from(["wake", "hold"]), SECONDS),
    legs=st.lists(st.tuples(st.dictionaries(st.sampled_from(STEPS), SECONDS), SECONDS), min_size=1, max_size=3),
    rest_s=SECONDS,
)
def test_spans_lie_within_the_one_above_them_and_do_not_overlap(
    waits: dict[str, float], legs: list[tuple[dict[str, float], float]], rest_s: float
) -> None:
    took_s = {f"container-{n + 1}": sum(steps.values()) + more for n, (steps, more) in enumerate(legs)}
    sums: dict[str, float] = dict(waits)
    for steps, _ in legs:
        sums = {step: sums.get(step, 0.0) + steps.get(step, 0.0) for step in {**sums, **steps}}
    sent_s = sum(took_s.values())
    request = ended(served(sent_s), sum(waits.values()) + sent_s + rest_s, route(len(legs)), 200, **sums)
    if len(legs) > 1:
        request.trail = Trail(took_s, steps=[steps for steps, _ in legs])
    spans = planned(request, [], trace(*range(len(legs))))
    by_id = {span.span_id: span for span in spans if span.span_id is not None}
    assert len(by_id) == 1 + len(legs)
    for above in by_id.values():
        below = [span for span in spans if span.parent_id == above.span_id]
        for before, after in pairwise(below):
            assert before.ended_s <= after.began_s + CLOCK_S
        assert all(above.began_s - CLOCK_S <= span.began_s <= span.ended_s <= above.ended_s + CLOCK_S for span in below)


def conventions(package: Any) -> set[str]:
    """Every name that the conventions' own package defines."""
    found = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    named = (vars(import_module(module.name)).values() for module in found)
    return {value for values in named for value in values if isinstance(value, str)}


def test_every_name_that_is_not_torpor_s_is_one_of_the_conventions() -> None:
    spans = planned(ended(served(0.1), 0.1, route()), MODEL_ERROR, trace(0))
    failed = planned(ended(served(0.1, status=500), 0.1, route(), status=424), MODEL_ERROR, trace(0))
    names = {name for span in [*spans, *failed] for name in span.attributes if not name.startswith("torpor.")}
    assert names <= conventions(attributes) | conventions(newer_attributes)
    used = {DURATION, *(metric.convention for metric in METRICS if metric.convention)}
    assert used <= conventions(metrics) | conventions(newer_metrics)
