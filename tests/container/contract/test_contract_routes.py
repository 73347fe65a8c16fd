"""An answer in parts to a caller that speaks plain HTTP, as SageMaker does: chunks, in the order in which they come."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.types import Message

from torpor_container import wire
from torpor_container.contract.contract_invocations import ContractInvocations
from torpor_container.contract.contract_routes import Routes
from torpor_container.contract.streamed_answers import StreamBroken
from torpor_container.errors import PredictionFailed
from torpor_container.invocation import Invocation, Reply, StreamReply, in_one_part
from torpor_container.measuring.server_timing import LoadSpans, Timing
from torpor_container.modes.kept_mode import KeptMode
from torpor_container.modes.single_mode import Single
from torpor_container.wire import ColdLoad

SCOPE = {"type": "http", "method": "POST", "path": "/invocations", "headers": []}


class Answering:
    """A mode whose one model answers so. It has no other method."""

    def __init__(self, reply: StreamReply) -> None:
        self._reply = reply
        self.given_back = False

    @asynccontextmanager
    async def stream(self, target: str | None, invocation: Invocation, timing: Timing) -> AsyncIterator[StreamReply]:
        try:
            yield self._reply
        finally:
            self.given_back = True


async def parts(*come: bytes, failure: Exception | None = None) -> AsyncIterator[Sequence[bytes]]:
    for one in come:
        yield (one,)
    if failure is not None:
        raise failure


async def nothing(*arguments: Any) -> Any:
    raise AssertionError("nobody asks for this page")


def sent(reply: StreamReply) -> tuple[Answering, list[Message], BaseException | None]:
    """What the caller gets, and what ends the connection early."""
    serving, messages = Answering(reply), list[Message]()
    invocations = ContractInvocations(serving, 1000, lambda: 0.0, chunked=True)  # type: ignore[arg-type]
    bodies = iter([{"type": "http.request", "body": b"x", "more_body": False}])

    async def receive() -> Message:
        for message in bodies:
            return message
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        messages.append(message)

    async def story() -> BaseException | None:
        try:
            await invocations.invoke(None, SCOPE, receive, send)
        except StreamBroken as broken:
            return broken
        return None

    return serving, messages, asyncio.run(story())


def bodies(messages: Sequence[Message]) -> list[tuple[bytes, bool]]:
    return [(one["body"], one.get("more_body", False)) for one in messages[1:]]


def test_the_parts_leave_as_they_come_without_a_length() -> None:
    serving, messages, broken = sent(StreamReply(Reply(b"", "text/plain"), parts(b"one", b"two")))
    assert bodies(messages) == [(b"one", True), (b"two", True), (b"", False)]
    names = [name for name, _ in messages[0]["headers"]]
    assert b"content-length" not in names
    assert (messages[0]["status"], (b"content-type", b"text/plain") in messages[0]["headers"]) == (200, True)
    assert (broken, serving.given_back) == (None, True)


@pytest.mark.parametrize("status", [200, 418])
def test_a_whole_answer_has_its_length(status: int) -> None:
    _, messages, _ = sent(in_one_part(Reply(b"at once", "text/plain", status)))
    assert bodies(messages) == [(b"at once", False)]
    assert (messages[0]["status"], (b"content-length", b"7") in messages[0]["headers"]) == (status, True)


def test_a_model_that_fails_between_two_parts_ends_the_connection() -> None:
    failing = StreamReply(Reply(b"", "text/plain"), parts(b"one", failure=PredictionFailed("no more")))
    serving, messages, broken = sent(failing)
    assert bodies(messages) == [(b"one", True)], "no end: a caller must not take it for whole"
    assert "no more" in str(broken)
    assert serving.given_back


def test_an_instance_without_a_script_of_one_model_advises_nothing_for_transform_jobs() -> None:
    serving, messages = Answering(in_one_part(Reply(b"1", "text/csv"))), list[Message]()
    app = Routes(serving, nothing, nothing, lambda: 0.0).app("", lambda app: nothing())  # type: ignore[arg-type]
    scope = {**SCOPE, "method": "GET", "path": "/execution-parameters", "query_string": b"", "root_path": ""}

    async def send(message: Message) -> None:
        messages.append(message)

    async def story() -> None:
        await app(scope, nothing, send)

    asyncio.run(story())
    assert messages[0]["status"] == 404


def test_an_instance_that_was_not_started_for_one_model_takes_no_adapter() -> None:
    serving, messages = Answering(in_one_part(Reply(b"1", "text/csv"))), list[Message]()
    app = Routes(serving, nothing, nothing, lambda: 0.0).app("", lambda app: nothing())  # type: ignore[arg-type]
    scope = {**SCOPE, "path": wire.LOAD_ADAPTER, "query_string": b"", "root_path": ""}

    async def send(message: Message) -> None:
        messages.append(message)

    asyncio.run(app(scope, nothing, send))
    assert messages[0]["status"] == 405
    assert b"takes no adapters" in messages[1]["body"]


@pytest.mark.parametrize(
    ("leads", "path"),
    [(True, wire.LOAD_MODEL), (False, wire.LOAD_MODEL), (True, wire.LOAD_ADAPTER), (False, wire.LOAD_ADAPTER)],
)
def test_an_order_to_load_says_whether_it_led_the_load(leads: bool, path: str) -> None:
    spans = LoadSpans(lambda: 0.0, cold=ColdLoad(bytes=1, victims=[], reason="", took_s=8.0, efforts={}))

    class Kept(KeptMode):
        def __init__(self) -> None: ...

        async def load(self, target: str, timing: Timing, reason: str = "") -> None:
            timing.cold = spans.report(leads)

    class Alone(Single):
        def __init__(self) -> None: ...

        async def load_adapter(self, invocation: Invocation, timing: Timing) -> None:
            timing.cold = spans.report(leads)

    serving = Kept() if path == wire.LOAD_MODEL else Alone()
    app = Routes(serving, nothing, nothing, lambda: 0.0).app("", lambda app: nothing())
    scope, messages = {**SCOPE, "path": path, "query_string": b"", "root_path": ""}, list[Message]()

    async def receive() -> Message:
        return {"type": "http.request", "body": b'{"model": "a.tar.gz"}', "more_body": False}

    async def send(message: Message) -> None:
        messages.append(message)

    asyncio.run(app(scope, receive, send))
    assert json.loads(messages[1]["body"]) == {"led": leads}
