"""Answers that take long."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from torpor_endpoint.s3.documents import PROLOG
from torpor_endpoint.s3.errors import Refusal, S3Error
from torpor_endpoint.s3.exchange import Answer
from torpor_endpoint.s3.patience import soon_or_aloud

DONE = Answer(headers={"etag": "e"}, body=PROLOG + b"<Result/>")


async def joined() -> Answer:
    return DONE


async def refused() -> Answer:
    raise S3Error(Refusal.PreconditionFailed)


async def heard(work: Callable[[], Awaitable[Answer]], spaces: int) -> tuple[int, list[bytes]]:
    """What a caller hears of work that is done only after it has heard so many spaces."""
    enough = asyncio.Event()
    pieces: list[bytes] = []

    async def slowly() -> Answer:
        await enough.wait()
        return await work()

    answer = await soon_or_aloud(slowly(), quiet_s=0.001)
    assert not isinstance(answer.body, bytes)
    async for piece in answer.body:
        pieces.append(piece)
        if pieces.count(b" ") == spaces:
            enough.set()
    return answer.status, pieces


def test_what_is_done_soon_is_answered_as_it_is() -> None:
    assert asyncio.run(soon_or_aloud(joined())) is DONE
    with pytest.raises(S3Error):
        asyncio.run(soon_or_aloud(refused()))


def test_what_takes_long_is_a_document_with_space_before_it() -> None:
    status, pieces = asyncio.run(heard(joined, spaces=3))
    assert (status, pieces[0], pieces[-1]) == (200, PROLOG, b"<Result/>")
    assert set(pieces[1:-1]) == {b" "}


def test_what_fails_late_tells_its_error_in_the_body() -> None:
    status, pieces = asyncio.run(heard(refused, spaces=1))
    assert (status, pieces[-1].startswith(b"<Error><Code>PreconditionFailed</Code>")) == (200, True)
