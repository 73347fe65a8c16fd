"""Answers that take long."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from starlette.types import Message, Scope

from torpor_account.s3.edge import served
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.wire.http_exchange import Body, S3Answer
from torpor_account.s3.wire.patience import soon_or_aloud
from torpor_account.s3.wire.xml_elements import PROLOG

DONE = S3Answer(headers={"etag": "e"}, body=PROLOG + b"<Result/>")


async def joined() -> S3Answer:
    return DONE


async def refused() -> S3Answer:
    raise S3Error(Refusal.PreconditionFailed)


async def heard(work: Callable[[], Awaitable[S3Answer]], spaces: int) -> tuple[int, list[bytes]]:
    """The answer to a caller whose work ends only after this many spaces."""
    enough = asyncio.Event()
    pieces: list[bytes] = []

    async def slowly() -> S3Answer:
        await enough.wait()
        return await work()

    answer = await soon_or_aloud(slowly(), quiet_s=0.001)
    assert not isinstance(answer.body, bytes)
    async for piece in answer.body:
        pieces.append(piece)
        if pieces.count(b" ") == spaces:
            enough.set()
    return answer.status, pieces


def test_a_quick_result_is_answered_as_it_is() -> None:
    assert asyncio.run(soon_or_aloud(joined())) is DONE
    with pytest.raises(S3Error):
        asyncio.run(soon_or_aloud(refused()))


def test_a_slow_result_is_a_document_with_spaces_before_it() -> None:
    status, pieces = asyncio.run(heard(joined, spaces=3))
    assert (status, pieces[0], pieces[-1]) == (200, PROLOG, b"<Result/>")
    assert set(pieces[1:-1]) == {b" "}


def test_a_late_failure_puts_its_error_into_the_body() -> None:
    status, pieces = asyncio.run(heard(refused, spaces=1))
    assert (status, pieces[-1].startswith(b"<Error><Code>PreconditionFailed</Code>")) == (200, True)


async def answer_to(*messages: Message) -> list[Message]:
    """The answer to an upload that has sent this much, and then nothing more."""
    sent: list[Message] = []
    coming = iter(messages)

    async def receive() -> Message:
        for message in coming:
            return message
        return await asyncio.Future()

    async def send(message: Message) -> None:
        sent.append(message)

    async def read(scope: Scope, body: Body) -> S3Answer:
        return S3Answer(body=b"".join([piece async for piece in body.pieces()]))

    scope: Scope = {"type": "http", "method": "PUT", "path": "/bucket/key", "headers": []}
    await served(scope, receive, send, read, patience_s=0.001)
    return sent


BEGUN: Message = {"type": "http.request", "body": b"begun", "more_body": True}


def test_an_upload_that_stalls_gets_a_timeout_and_its_connection_is_closed() -> None:
    start, body = asyncio.run(answer_to(BEGUN))
    assert (start["status"], b"<Code>RequestTimeout</Code>" in body["body"]) == (400, True)
    assert (b"connection", b"close") in start["headers"]


def test_a_disconnected_client_gets_no_answer() -> None:
    assert asyncio.run(answer_to(BEGUN, {"type": "http.disconnect"})) == []
