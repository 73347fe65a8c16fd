"""The legs of a request as values: which containers it passes, and what each of them gets and adds."""

import json
from dataclasses import replace
from itertools import count

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.passages import passage
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from torpor_container import wire
from torpor_container.transport.upstream import UpstreamAnswer
from torpor_endpoint.core.records import Container, Variant
from torpor_endpoint.fleet.endpoints import FleetEndpoint
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.legs import (
    STRICT_HOP_BYTES,
    first_leg,
    lacked_room,
    next_leg,
    note,
    path_of,
    takes_target,
)
from torpor_endpoint.runtime.passage import Leg, Passage, Route, Served, parsed
from torpor_endpoint.runtime.request import (
    ACCEPT,
    CONTENT_TYPE,
    CUSTOM_ATTRIBUTES,
    INFERENCE_ID,
    TARGET_CONTAINER,
    TARGET_MODEL,
)
from torpor_endpoint.telemetry.trace_context import SAMPLED, TRACEPARENT, RequestTrace

NAMES = ("before", "models", "after")
CONTAINERS = tuple(Container("torpor", name=name, multi_model=name == "models") for name in NAMES)
SERIAL = Variant("v", "m", CONTAINERS)
DIRECT = replace(SERIAL, direct=True)
SINGLE = Variant("v", "m", CONTAINERS[:1])

CALLER = (
    (CONTENT_TYPE, b"text/csv"),
    (ACCEPT, b"text/plain"),
    (CUSTOM_ATTRIBUTES, b"mine"),
    (INFERENCE_ID, b"7"),
)


def path(variant: Variant, host: bytes | None = None) -> tuple[int, ...]:
    headers = () if host is None else ((TARGET_CONTAINER, host),)
    return path_of(variant, parsed(passage("shop", *headers)), "shop")


def sent(variant: Variant, *path: int) -> Passage:
    """A request with all of the caller's headers, on its way through these containers."""
    with FakeHost() as host:
        pool = PoolOnFakeHost(host, containers=len(variant.containers)).pool
    pool.variant = variant
    route = Route(FleetEndpoint("shop", "arn", {"v": pool}), "v", pool, "a.tar.gz", path or (0, 1, 2))
    request = passage("shop", *CALLER, route=route)
    request.body = [b"x"]
    return request


def answer(body: bytes, *headers: tuple[bytes, bytes], status: int = 200) -> UpstreamAnswer:
    return UpstreamAnswer(status, [(b"content-type", b"text/x-new"), *headers], [body])


def noted(request: Passage, leg: Leg, answer: UpstreamAnswer, sent_s: float = 0.25) -> Served:
    return note(request, leg, Served(answer, "i-1", 1, 1, sent_s))


def test_a_serial_variant_passes_all_containers_and_a_direct_one_that_which_is_named() -> None:
    assert (path(SINGLE), path(SINGLE, b""), path(SERIAL), path(SERIAL, b"")) == ((0,), (0,), (0, 1, 2), (0, 1, 2))
    assert [path(DIRECT, name.encode()) for name in NAMES] == [(0,), (1,), (2,)]


@pytest.mark.parametrize(
    ("variant", "host", "text"),
    [
        (DIRECT, None, "needs TargetContainerHostname, one of before, models, after"),
        (DIRECT, b"", "needs TargetContainerHostname"),
        (DIRECT, b"Models", "has no container Models"),
        (SERIAL, b"models", "its requests pass all containers"),
        (SINGLE, b"before", "its variants have one container each"),
    ],
)
def test_a_hostname_that_names_no_container_of_the_variant_is_refused(
    variant: Variant, host: bytes | None, text: str
) -> None:
    with pytest.raises(RuntimeFault) as refused:
        path(variant, host)
    assert text in str(refused.value.fields["detail"])


def test_a_target_model_is_for_a_path_with_a_multi_model_container() -> None:
    assert [takes_target(DIRECT, (place,)) for place in range(3)] == [False, True, False]
    assert takes_target(SERIAL, (0, 1, 2))
    assert not takes_target(SINGLE, (0,))


def test_one_container_gets_the_caller_s_headers_and_leaves_no_trail() -> None:
    request = sent(SINGLE, 0)
    leg = first_leg(request)
    assert (leg.container, leg.body, dict(leg.headers)) == (0, request.body, dict(CALLER))
    assert leg.body is request.body
    assert next_leg(request, leg, answer(b"y"), strict=False) is None
    assert (request.trail, request.place.container) == (None, "primary")
    assert noted(request, leg, answer(b"y")).sent_s == 0.25


def test_each_container_of_a_traced_request_gets_the_headers_of_its_place() -> None:
    request = sent(SERIAL)
    request.trace = RequestTrace(7, 8, SAMPLED, None, b"", b"", count(9).__next__)
    first = first_leg(request)
    second = next_leg(request, first, answer(b"y"), strict=False)
    assert second is not None
    spans = [dict(leg.headers)[TRACEPARENT].split(b"-")[2] for leg in (first, second)]
    assert spans == [b"0000000000000009", b"000000000000000a"]


def test_the_steps_of_each_container_are_kept_apart_and_add_up() -> None:
    request = sent(SERIAL, 0, 1)
    first = first_leg(request)
    came = answer(b"y", (b"server-timing", b"load;dur=5, predict;dur=10"))
    noted(request, first, came)
    second = next_leg(request, first, came, strict=False)
    assert second is not None
    request.measured(noted(request, second, answer(b"z", (b"server-timing", b"predict;dur=20"))).answer)
    assert request.trail is not None
    assert request.trail.steps == [{"load": 0.005, "predict": 0.01}, {"predict": 0.02}]
    assert request.steps == pytest.approx({"load": 0.005, "predict": 0.03})


def test_each_container_of_a_pipeline_gets_the_answer_before_it_and_the_last_one_the_accept() -> None:
    request = sent(SERIAL)
    first = first_leg(request)
    assert dict(first.headers) == {CONTENT_TYPE: b"text/csv", CUSTOM_ATTRIBUTES: b"mine", INFERENCE_ID: b"7"}
    came = answer(b"y", (CUSTOM_ATTRIBUTES, b"theirs"))
    second = next_leg(request, first, came, strict=False)
    assert second is not None
    assert second.body is came.chunks
    assert dict(second.headers) == {
        CONTENT_TYPE: b"text/x-new",
        CUSTOM_ATTRIBUTES: b"theirs",
        INFERENCE_ID: b"7",
        TARGET_MODEL: b"a.tar.gz",
    }
    third = next_leg(request, second, answer(b"z"), strict=False)
    assert third is not None
    assert dict(third.headers)[ACCEPT] == b"text/plain"
    assert TARGET_MODEL not in dict(third.headers)
    assert dict(third.headers)[CUSTOM_ATTRIBUTES] == b"mine", "the container before set none"
    assert next_leg(request, third, answer(b"w"), strict=False) is None


def test_errors_name_the_container_that_the_request_is_at() -> None:
    request, names = sent(SERIAL), []
    leg: Leg | None = first_leg(request)
    while leg is not None:
        names.append(request.place.container)
        leg = next_leg(request, leg, answer(b"y"), strict=False)
    assert tuple(names) == NAMES
    direct = sent(DIRECT, 2)
    first_leg(direct)
    assert direct.place.container == "after"


@pytest.mark.parametrize("status", [302, 400, 500])
def test_an_answer_that_is_no_success_ends_the_pipeline(status: int) -> None:
    request = sent(SERIAL)
    assert next_leg(request, first_leg(request), answer(b"no", status=status), strict=False) is None
    assert request.place.container == "before"


def test_the_time_is_that_of_all_containers_and_each_of_them_has_its_own() -> None:
    request = sent(SERIAL)
    first = first_leg(request)
    came = answer(b"y", (b"server-timing", b"predict;dur=250"), (b"x-torpor-model-cache", b"miss"))
    assert noted(request, first, came, 0.25).sent_s == 0.25
    second = next_leg(request, first, came, strict=False)
    assert second is not None
    noted(request, second, answer(b"y", (b"server-timing", b"predict;dur=500")), 0.5)
    third = next_leg(request, second, answer(b"y"), strict=False)
    assert third is not None
    last = noted(request, third, answer(b"z", (b"server-timing", b"predict;dur=1000")), 1.0)
    assert last.sent_s == 1.75
    assert request.trail is not None
    assert request.trail.seconds == {"before": 0.25, "models": 0.5, "after": 1.0}
    assert last.answer.header(b"x-torpor-model-cache") == b"miss", "the ledger reads it at the end"
    request.measured(last.answer)
    assert request.steps["predict"] == pytest.approx(1.75)


def test_only_strict_mode_has_aws_s_limit_between_two_containers() -> None:
    large = answer(bytes(STRICT_HOP_BYTES + 1))
    request = sent(SERIAL)
    assert next_leg(request, first_leg(request), large, strict=False) is not None
    strict = sent(SERIAL)
    with pytest.raises(RuntimeFault) as refused:
        next_leg(strict, first_leg(strict), large, strict=True)
    assert refused.value.situation is Situation.HOP_OVERSIZE
    assert (refused.value.fields["container"], refused.value.fields["following"]) == ("before", "models")


def cold(*victims: str) -> list[tuple[bytes, bytes]]:
    return [(wire.COLD.lower().encode(), json.dumps({"victims": victims}).encode())]


@pytest.mark.parametrize(
    ("answer", "lacked"),
    [
        (UpstreamAnswer(200), False),
        (UpstreamAnswer(200, cold()), False),
        (UpstreamAnswer(200, cold("a.tar.gz")), True),
        (UpstreamAnswer(500), False),
        (UpstreamAnswer(507), True),
    ],
)
def test_a_container_lacked_room_if_a_model_left_or_found_no_memory(answer: UpstreamAnswer, lacked: bool) -> None:
    assert lacked_room(answer) is lacked
