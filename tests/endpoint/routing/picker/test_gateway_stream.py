"""A gateway asks a picker by Envoy's protocol, and is sent to the instance that a router would send to."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest

from tests.endpoint.helpers.still_picker import NOW_S, PickerGround, picker, secret
from tests.helpers.waiting import PATIENCE_S
from torpor_container.transport.address import GuardedAddress
from torpor_container.transport.tickets import admits
from torpor_endpoint.core.resource_records import DataCapture, Serverless
from torpor_endpoint.core.sending.machine import MODEL_CACHE
from torpor_endpoint.routing.picker.gateway_messages import BUFFERED, NONE, STREAMED, message

PATH = "/endpoints/shop/invocations"
CSV = {"content-type": "text/csv", "authorization": "AWS4…"}


def told(story: Callable[[PickerGround], Awaitable[None]], **ground: Any) -> None:
    async def whole() -> None:
        async with asyncio.timeout(PATIENCE_S), picker(**ground) as made:
            await story(made)

    asyncio.run(whole())


def target(model: str) -> dict[str, str]:
    return {**CSV, "x-amzn-sagemaker-target-model": model}


def test_each_model_goes_where_a_router_sends_it_and_the_body_as_it_came() -> None:
    async def story(ground: PickerGround) -> None:
        seen = set()
        for name in ("a", "b", "c", "d", "e"):
            said = await ground.stream().asks(PATH, target(name), (b"1,2", b"", b"x" * 200_000))
            assert said.immediate is None
            assert said.destination == said.metadata == ground.owner(name)
            assert (said.body, said.ends) == (b"1,2" + b"x" * 200_000, True)
            seen.add(said.destination)
        assert len(seen) > 1

    told(story)


def test_the_instance_gets_what_a_router_sends_and_a_ticket_of_its_own() -> None:
    async def story(ground: PickerGround) -> None:
        own = {
            "cookie": "x",
            "x-torpor-ticket": "forged",
            "x-gateway-destination-endpoint": "6.6.6.6:1",
            "x-envoy-y": "z",
        }
        said = await ground.stream().asks(PATH, target("a") | own)
        number = int(said.destination.split(":")[0].rpartition(".")[2])
        ticket = said.headers.pop("x-torpor-ticket")
        assert admits(secret(number), b"a", ticket, NOW_S)
        assert not admits(secret(number + 1), b"a", ticket, NOW_S)
        assert said.headers == {
            "content-type": b"text/csv",
            "x-amzn-sagemaker-target-model": b"a",
            "x-gateway-destination-endpoint": said.destination.encode(),
        }
        assert set(said.removed) == {"authorization", "cookie"}

    told(story)


def test_a_model_that_is_under_way_to_another_instance_goes_to_its_former_owner_as_any_request() -> None:
    """A gateway sends a request once: one that may be told that its model is absent would be lost."""
    silent = socket.create_server(("127.0.0.1", 0))  # so the newcomer's load does not end
    port = silent.getsockname()[1]

    async def story(ground: PickerGround) -> None:
        ready = ground.pool.ready
        newcomer = ready.withdraw(ready.pick("a").slot.number)
        assert newcomer is not None
        former = ready.pick("a")
        ready.offer(newcomer.slot.number, newcomer)
        said = await ground.stream().asks(PATH, target("a"))
        assert (ready.moving["a"].former, former.in_flight) == (former, 1)
        assert MODEL_CACHE.decode() not in said.headers

    with silent:
        told(story, instances=2, address=lambda number: GuardedAddress("127.0.0.1", port, secret(number)))


def test_a_request_is_in_flight_until_the_instance_answers_and_the_caller_gets_a_routers_headers() -> None:
    async def story(ground: PickerGround) -> None:
        stream = ground.stream()
        await stream.asks(PATH, target("a"))
        assert (ground.pool.traffic.in_flight, ground.pool.ready.pick("a").in_flight) == (1, 1)
        came = {
            "content-type": "application/json",
            "server-timing": "predict;dur=1",
            "x-torpor-cold": "bytes=1",
            "date": "now",
        }
        said = await stream.answers(200, came, (b"[1", b".0]"))
        assert (ground.pool.traffic.in_flight, ground.pool.ready.pick("a").in_flight) == (0, 0)
        assert said.answer_headers["x-amzn-invoked-production-variant"] == b"v"
        assert said.answer_headers["content-type"] == b"application/json"
        assert b"predict;dur=1" in said.answer_headers["server-timing"]
        assert "content-length" not in said.answer_headers
        assert "date" not in said.answer_removed
        assert (said.answer_body, said.immediate) == (b"[1.0]", None)

    told(story)


@pytest.mark.parametrize(
    "subset", [["10.0.0.5:8080", "10.0.0.6:8080"], "10.0.0.5:8080, 10.0.0.6:8080", ["10.0.0.5", "10.0.0.6"]]
)
def test_a_gateway_that_allows_some_instances_is_sent_to_these_alone(subset: object) -> None:
    async def story(ground: PickerGround) -> None:
        places = set()
        for name in map(str, range(12)):
            places.add((await ground.stream().asks(PATH, target(name), subset=subset)).destination)
        assert places == {"10.0.0.5:8080", "10.0.0.6:8080"}

    told(story)


@pytest.mark.parametrize("subset", [[], ["10.9.9.9:8080"], ["10.0.0.5:9"], ""])
def test_a_gateway_that_allows_no_ready_instance_gets_503(subset: object) -> None:
    async def story(ground: PickerGround) -> None:
        said = await ground.stream().asks(PATH, target("a"), subset=subset)
        assert said.immediate is not None
        assert (said.immediate[0], said.destination) == (503, "")

    told(story)


def test_no_ready_instance_is_woken_and_503() -> None:
    async def story(ground: PickerGround) -> None:
        said = await ground.stream().asks(PATH, target("a"))
        assert said.immediate is not None
        assert said.immediate[0] == 503
        assert ground.pool.woken
        assert ground.pool.traffic.in_flight == 0

    told(story, instances=0)


def test_more_requests_than_a_serverless_variant_takes_are_refused_as_at_a_router() -> None:
    async def story(ground: PickerGround) -> None:
        ground.pool.share = 0
        said = await ground.stream().asks(PATH, target("a"))
        assert said.immediate is not None
        assert said.immediate[0] == 400

    told(story, variant={"serverless": Serverless(2048, 5)})


@pytest.mark.parametrize("mode", [BUFFERED, NONE])
def test_a_gateway_may_buffer_the_body_or_keep_it(mode: int) -> None:
    async def story(ground: PickerGround) -> None:
        stream = ground.stream(mode)
        said = await stream.asks(PATH, target("a"), () if mode == NONE else (b"1,", b"2"))
        assert said.destination == said.metadata == ground.owner("a")
        assert (await stream.answers(200, {"server-timing": "predict;dur=1"}, ())).answer_headers

    told(story)


def test_a_models_failure_comes_in_the_words_of_the_runtime_api() -> None:
    async def story(ground: PickerGround) -> None:
        stream = ground.stream()
        await stream.asks(PATH, target("a"))
        said = await stream.answers(500, {"server-timing": "predict;dur=1"}, (b"bad", b" row"))
        assert said.immediate is not None
        status, body = said.immediate
        assert status == 424
        assert json.loads(body)["OriginalMessage"] == "bad row"
        assert json.loads(body)["OriginalStatusCode"] == 500

    told(story)


def test_an_instance_that_the_gateway_does_not_reach_is_suspected_and_the_caller_may_try_again() -> None:
    async def story(ground: PickerGround) -> None:
        stream = ground.stream()
        await stream.asks(PATH, target("a"))
        first = ground.pool.ready.pick("a")
        said = await stream.answers(503, {}, (b"upstream connect error",))
        assert said.immediate is not None
        assert said.immediate[0] == 503
        assert not ground.pool.offered(first)
        assert ground.pool.traffic.in_flight == 0

    told(story)


def test_a_caller_who_leaves_is_in_flight_no_longer() -> None:
    async def story(ground: PickerGround) -> None:
        stream = ground.stream()
        await stream.asks(PATH, target("a"))
        instance = ground.pool.ready.pick("a")
        stream.call.cancel()
        while ground.pool.traffic.in_flight:
            await asyncio.sleep(0)
        assert instance.in_flight == 0
        assert ground.pool.offered(instance)

    told(story)


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/endpoints/none/invocations", target("a"), 400),
        (PATH, CSV, 400),
        (PATH, target("../a"), 400),
        ("/endpoints/shop/other", target("a"), 400),
        ("/endpoints/shop/invocations-response-stream", target("a"), 400),
    ],
)
def test_what_a_router_refuses_a_picker_refuses(path: str, headers: dict[str, str], status: int) -> None:
    async def story(ground: PickerGround) -> None:
        said = await ground.stream().asks(path, headers)
        assert said.immediate is not None
        assert said.immediate[0] == status

    told(story)


@pytest.mark.parametrize(
    ("ground", "why"),
    [
        ({"TORPOR_TICKETS": "false"}, "TORPOR_TICKETS=true"),
        ({"address": lambda number: f"/run/{number}.sock"}, "--instances-on"),
        ({"variant": {"capture": DataCapture("s3://c", 100)}}, "captured"),
    ],
)
def test_endpoints_that_no_gateway_can_send_to_say_why(ground: dict[str, Any], why: str) -> None:
    async def story(made: PickerGround) -> None:
        said = await made.stream().asks(PATH, target("a"))
        assert said.immediate is not None
        assert said.immediate[0] == 400
        assert why in said.immediate[1].decode()

    told(story, **ground)


def test_a_gateway_that_is_set_up_wrong_is_told_how() -> None:
    async def story(ground: PickerGround) -> None:
        streamed = ground.stream(STREAMED)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await streamed.asks(PATH, target("a"))
        assert "FULL_DUPLEX_STREAMED" in (refused.value.details() or "")
        body = message("ProcessingRequest")()
        body.request_body.body = b"1"
        begun = ground.stream()
        await begun.call.write(body)
        with pytest.raises(grpc.aio.AioRpcError) as early:
            await begun.call.read()
        assert "request_header_mode" in (early.value.details() or "")

    told(story)
