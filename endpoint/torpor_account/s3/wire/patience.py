"""Keeps connections open during slow operations: sends white space until the answer is there, as S3 does."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from typing import Final

from torpor_account.s3.edge import refusal
from torpor_account.s3.wire.http_exchange import S3Answer
from torpor_account.s3.wire.xml_elements import PROLOG

QUIET_S: Final = 10.0
"""Seconds without a byte. boto3 waits for a minute, and then sends its request again."""


async def soon_or_aloud(working: Awaitable[S3Answer], quiet_s: float = QUIET_S) -> S3Answer:
    """The answer itself if it is there within `quiet_s`. Else a 200 whose body is white space, then the document or the
    error.

    AWS: S3 "periodically sends white space characters to keep the connection from timing out. A request could fail
    after the initial 200 OK response has been sent." The work goes on if the caller closes the connection.
    """
    task = asyncio.ensure_future(working)
    await asyncio.wait({task}, timeout=quiet_s)
    if task.done():
        return task.result()
    return S3Answer(headers={"content-type": "application/xml"}, body=_white_space_first(task, quiet_s))


async def _white_space_first(task: "asyncio.Future[S3Answer]", quiet_s: float) -> AsyncGenerator[bytes, None]:
    yield PROLOG
    while not task.done():
        yield b" "
        await asyncio.wait({task}, timeout=quiet_s)
    error = task.exception()
    body = task.result().body if error is None else refusal(error).body()
    assert isinstance(body, bytes)  # a document
    yield body.removeprefix(PROLOG)
