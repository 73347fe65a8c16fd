"""The passage of a stream, in virtual time: what the caller gets as it ends, and what it is accounted as."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from botocore.eventstream import EventStreamBuffer

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_container.transport.parts import END, StreamFault, encoded, fault
from torpor_container.transport.stream_client import StreamConnection
from torpor_endpoint.core.resource_records import Container
from torpor_endpoint.core.sending.machine import ACCEPT
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.app import AccountAndRegion, Clocks, RuntimeApp
from torpor_endpoint.runtime.kept_parts import KeptLimits
from torpor_endpoint.runtime.observing.observers import BodyObserver, Observers
from torpor_endpoint.runtime.passage import CallLimits, InvokeAnswer, Passage, Route, Served, StreamFacts
from torpor_endpoint.runtime.sending import RequestSender

HEAD = b"HTTP/1.1 200 OK\r\nx-torpor-stream: parts\r\ncontent-type: text/plain\r\n\r\n"
ONE, TWO = encoded([b"one"]), encoded([b"two"])
Pieces = Sequence[tuple[float, bytes | None]]


class Streaming(RequestSender):
    """Streams what an instance sends: after so many seconds each, or None for its end."""

    def __init__(self, pieces: Pieces) -> None:
        super().__init__(asyncio.get_running_loop().time, strict=False)
        self._pieces = pieces
        self.head = HEAD
        self.given_back = False

    @asynccontextmanager
    async def stream(
        self, passage: Passage, sent: Callable[[], None] | None = None, *, waits: bool = True
    ) -> AsyncIterator[tuple[StreamConnection, Served]]:
        connection = StreamConnection()
        sending = asyncio.create_task(self._send(connection))
        await connection.headed()
        try:
            yield connection, Served(connection.answer, "i-1", 1, 1, 0.0)
        finally:
            self.given_back = True
            sending.cancel()

    async def _send(self, connection: StreamConnection) -> None:
        connection.data_received(self.head)
        for wait_s, piece in self._pieces:
            await asyncio.sleep(wait_s)
            if piece is None:
                connection.connection_lost(ConnectionError("reset"))
            else:
                connection.data_received(piece)


class Ended(Observers):
    """Keeps the requests that have ended."""

    def __init__(self, *single: BodyObserver) -> None:
        super().__init__([], single)
        self.requests: list[Passage] = []

    def account(self, request: Passage, answer: InvokeAnswer) -> None:
        self.requests.append(request)


class Reader:
    """An observer that reads bodies. It makes no record before a stream has ended."""

    def __init__(self) -> None:
        self.seen: list[tuple[bytes, bytes, StreamFacts | None]] = []
        self.missed_count = 0

    def may_read(self, route: Route) -> bool:
        return True

    def reads(self, request: Passage) -> bool:
        return True

    def missed(self, request: Passage) -> None:
        self.missed_count += 1

    def ended(self, request: Passage, answer: InvokeAnswer) -> None:
        self.seen.append((b"".join(request.body), b"".join(answer.chunks), request.stream))


class StreamCall:
    """One call of an endpoint without instances, whose sender streams the pieces."""

    def __init__(
        self,
        *headers: tuple[bytes, bytes],
        many: bool = False,
        leaves_at_s: float = 1e9,
        reader: Reader | None = None,
        kept: KeptLimits | None = None,
    ) -> None:
        self._headers = list(headers)
        self._many = many
        self._leaves_at_s = leaves_at_s
        self._kept = kept or KeptLimits()
        self.ended = Ended() if reader is None else Ended(reader)
        self.sent: list[Any] = []

    def of(self, *pieces: tuple[float, bytes | None], head: bytes = HEAD) -> "StreamCall":
        async def story() -> None:
            with FakeHost() as host:
                roster = FleetRoster()
                pool = PoolOnFakeHost(host).pool
                pool.variant = replace(pool.variant, containers=(Container("torpor", multi_model=self._many),))
                roster.serve(FleetEndpoint("shop", "arn", {"v": pool}))
                router = Router(roster, lambda: 0.0, strict=self._many)
                self.sender = Streaming(pieces)
                self.sender.head = head
                clocks = Clocks(lambda: 0.0, asyncio.get_running_loop().time)
                limits = CallLimits(stream_s=300.0, kept=self._kept)
                app = RuntimeApp(router, self.sender, self.ended, AccountAndRegion("1"), clocks, limits)
                scope = {"path": "/endpoints/shop/invocations-response-stream", "headers": self._headers}
                await app(scope, self._receive, self._send)

        self._taken = False
        run(story())
        return self

    async def _receive(self) -> dict[str, Any]:
        if self._taken:
            await asyncio.sleep(self._leaves_at_s)
            return {"type": "http.disconnect"}
        self._taken = True
        return {"type": "http.request", "body": b"1,2"}

    async def _send(self, message: Any) -> None:
        self.sent.append(message)

    def events(self) -> list[tuple[str, bytes]]:
        """The kind of each message and its payload."""
        buffer = EventStreamBuffer()
        buffer.add_data(b"".join(message["body"] for message in self.sent[1:]))
        kinds = (":event-type", ":exception-type")
        return [(next(come.headers[kind] for kind in kinds if kind in come.headers), come.payload) for come in buffer]

    @property
    def accounted(self) -> Passage:
        (request,) = self.ended.requests
        return request


def test_each_part_leaves_as_it_comes_and_the_steps_add_up() -> None:
    call = StreamCall().of((1.0, ONE), (2.0, TWO), (4.0, END))
    assert call.events() == [("PayloadPart", b"one"), ("PayloadPart", b"two")]
    request = call.accounted
    assert isinstance(request.outcome, Served)
    assert request.stream is not None
    assert (request.stream.first_s, request.steps["stream"], request.outcome.sent_s) == (1.0, 6.0, 7.0)
    assert sum(request.steps.values()) == request.total_s == 7.0
    assert request.response_bytes == sum(len(message["body"]) for message in call.sent[1:])


@pytest.mark.parametrize(
    ("pieces", "code"),
    [
        ([(1.0, ONE), (1.0, fault(StreamFault("no more")))], "StreamBroken"),
        ([(1.0, ONE), (1.0, None)], "StreamBroken"),
        ([(1.0, ONE), (1.0, fault(StreamFault("", timed_out=True)))], "ModelInvocationTimeExceeded"),
        ([(1.0, ONE), (100.0, TWO)], "ModelInvocationTimeExceeded"),
        ([(1.0, ONE), *[(10.0, TWO)] * 100], "ModelInvocationTimeExceeded"),
    ],
    ids=["the model fails", "the instance ends", "the instance has waited", "a part is late", "eight minutes are over"],
)
def test_a_stream_that_fails_after_its_first_part_ends_with_an_exception(pieces: Pieces, code: str) -> None:
    call = StreamCall().of(*pieces)
    assert call.events()[0] == ("PayloadPart", b"one")
    kind, payload = call.events()[-1]
    assert (kind, json.loads(payload)["ErrorCode"]) == ("ModelStreamError", code)
    assert call.accounted.stream is not None
    assert call.accounted.stream.failed
    assert call.sender.given_back


@pytest.mark.parametrize("piece", [None, fault(StreamFault("not one"))], ids=["the instance ends", "the model fails"])
def test_a_stream_that_fails_before_its_first_part_is_an_ordinary_error(piece: bytes | None) -> None:
    call = StreamCall().of((1.0, piece))
    assert call.sent[0]["status"] == 424
    assert (b"x-amzn-errortype", b"ModelError:") in call.sent[0]["headers"]
    assert call.accounted.stream is None


def test_a_stream_with_custom_attributes_that_no_answer_can_have_is_an_ordinary_error() -> None:
    attributes = b"\r\nx-amzn-sagemaker-custom-attributes: " + b"x" * 1025
    call = StreamCall().of((1.0, ONE), (1.0, END), head=HEAD.replace(b"\r\n\r\n", attributes + b"\r\n\r\n"))
    assert call.sent[0]["status"] == 424
    assert b"custom attributes of 1025 bytes" in call.sent[1]["body"]
    assert call.sender.given_back


def test_a_caller_that_leaves_gives_the_instance_back_and_is_accounted_for() -> None:
    call = StreamCall(leaves_at_s=2.5).of((1.0, ONE), (1.0, TWO), (30.0, END))
    assert call.sender.given_back
    assert call.accounted.total_s == 2.5


@pytest.mark.parametrize(
    ("pieces", "answer", "failed", "left"),
    [
        ([(1.0, ONE), (1.0, TWO), (0.1, END)], b"onetwo", False, False),
        ([(1.0, ONE), (1.0, TWO), (0.1, fault(StreamFault("no more")))], b"onetwo", True, False),
        ([(1.0, ONE), (0.5, None)], b"one", True, False),
        ([(1.0, ONE), (1.0, TWO), (30.0, END)], b"onetwo", False, True),
        ([(1.0, ONE), (3.0, TWO), (1.0, END)], b"one", False, True),
    ],
    ids=["whole", "the model fails", "the instance ends", "the caller leaves", "the caller leaves before a part"],
)
def test_an_observer_reads_what_was_sent_however_the_stream_ends(
    pieces: Pieces, answer: bytes, failed: bool, left: bool
) -> None:
    reader = Reader()
    call = StreamCall(reader=reader, leaves_at_s=2.5).of(*pieces)
    ((body, sent, facts),) = reader.seen
    assert facts is not None
    assert (body, sent, facts.failed, facts.left, facts.cut) == (b"1,2", answer, failed, left, False)
    assert call.accounted.body == []


def test_an_observer_misses_what_a_stream_has_beyond_a_bound_and_its_caller_misses_nothing() -> None:
    reader = Reader()
    call = StreamCall(reader=reader, kept=KeptLimits(5)).of((1.0, ONE), (1.0, TWO), (1.0, ONE), (1.0, END))
    ((_, sent, facts),) = reader.seen
    assert facts is not None
    assert (sent, facts.cut, facts.left) == (b"onetw", True, False)
    assert [payload for _, payload in call.events()] == [b"one", b"two", b"one"]


def test_a_stream_whose_request_finds_no_memory_is_served_unobserved() -> None:
    reader = Reader()
    call = StreamCall(reader=reader, kept=KeptLimits(streams_bytes=2)).of((1.0, ONE), (1.0, END))
    assert (reader.seen, reader.missed_count) == ([], 1)
    assert call.events() == [("PayloadPart", b"one")]


def test_a_stream_that_fails_before_its_first_part_is_seen_without_parts() -> None:
    reader = Reader()
    StreamCall(reader=reader).of((1.0, None))
    ((_, _, facts),) = reader.seen
    assert facts is None


def test_the_container_gets_the_accept_of_the_operation_and_not_the_clients_own() -> None:
    call = StreamCall((b"accept", b"*/*"), (b"x-amzn-sagemaker-accept", b"text/plain")).of((0.0, END))
    assert call.accounted.request is not None
    assert call.accounted.request.headers == {ACCEPT: b"text/plain"}
    assert (b"content-type", b"application/vnd.amazon.eventstream") in call.sent[0]["headers"]
    assert (b"x-amzn-sagemaker-content-type", b"text/plain") in call.sent[0]["headers"]


def test_aws_has_no_stream_of_a_multi_model_endpoint() -> None:
    call = StreamCall((b"x-amzn-sagemaker-target-model", b"m"), many=True).of((0.0, END))
    assert call.sent[0]["status"] == 400
    assert b"has many models" in call.sent[1]["body"]
