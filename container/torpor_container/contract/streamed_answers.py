"""Sends an answer in parts by ASGI, part by part as the model makes them, and ends it when its caller leaves."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from typing import Any

from starlette.types import Receive, Send

from torpor_container.errors import ContainerError, TimedOut
from torpor_container.transport import parts as records
from torpor_container.transport.frames import Header
from torpor_container.transport.parts import IN_PARTS, StreamFault


def wants_parts(headers: Iterable[Header]) -> bool:
    """Whether the caller takes the answer in parts."""
    return IN_PARTS in headers


async def send_parts(
    head: tuple[int, list[Header]], parts: AsyncIterator[Sequence[bytes]], send: Send
) -> ContainerError | None:
    """Send the answer. `send` waits while the caller is slow, and so does the model then. Returns what the model failed
    with between two parts; the caller has that as the last record."""
    status, headers = head
    await send({"type": "http.response.start", "status": status, "headers": [*headers, IN_PARTS]})
    failure: ContainerError | None = None
    last = records.END
    try:
        async for come in parts:
            await send({"type": "http.response.body", "body": records.encoded(come), "more_body": True})
    except ContainerError as error:
        failure = error
        last = records.fault(StreamFault(str(error), isinstance(error, TimedOut)))
    await send({"type": "http.response.body", "body": last})
    return failure


class StreamBroken(Exception):
    """The model failed between two parts. HTTP has no word for that: the connection ends before the answer does."""


async def send_chunks(head: tuple[int, list[Header]], parts: AsyncIterator[Sequence[bytes]], send: Send) -> None:
    """Send the answer as plain chunked HTTP, which SageMaker reads as a stream. Raises StreamBroken."""
    status, headers = head
    await send({"type": "http.response.start", "status": status, "headers": headers})
    try:
        async for come in parts:
            await send({"type": "http.response.body", "body": b"".join(come), "more_body": True})
    except ContainerError as error:
        raise StreamBroken(str(error)) from error
    await send({"type": "http.response.body", "body": b""})


async def until_caller_leaves(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Do the work, for a request whose body was read. Cancel it when the caller closes the connection."""
    working, watching = asyncio.ensure_future(work), asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            await working
    finally:
        working.cancel()
        watching.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
