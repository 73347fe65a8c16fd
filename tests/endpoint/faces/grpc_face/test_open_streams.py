"""Streams that say nothing leave room for calls: only so many are open, and each gives its place back as it ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from tests.helpers.waiting import PATIENCE_S
from torpor_account.aws.wire.asgi import Receive, Scope, Send
from torpor_endpoint.faces.grpc_face.grpc_messages import PACKAGE, SERVICE, STREAM, message
from torpor_endpoint.faces.grpc_face.grpc_service import InferenceService
from torpor_endpoint.faces.grpc_face.http_questions import HttpQuestions

PATH = f"/{PACKAGE}.{SERVICE}/"


async def unknown(scope: Scope, receive: Receive, send: Send) -> None:
    """An endpoint that has no model, and is live."""
    await send({"type": "http.response.start", "status": 200 if scope["path"].endswith("live") else 404, "headers": []})
    await send({"type": "http.response.body", "body": b'{"error": "model m not found"}'})


@asynccontextmanager
async def served(streams_max: int) -> AsyncIterator[grpc.aio.Channel]:
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(InferenceService(HttpQuestions(unknown, False), streams_max).handlers())
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel
    finally:
        await server.stop(None)


async def opened(channel: grpc.aio.Channel) -> Any:
    """A stream that has been answered once."""
    stream = channel.stream_stream(PATH + STREAM)()
    await stream.write(message("ModelInferRequest")(model_name="m").SerializeToString())
    assert b"model m not found" in await stream.read()
    return stream


def test_idle_streams_leave_room_for_calls() -> None:
    async def story() -> None:
        async with served(2) as channel:
            first, _ = await opened(channel), await opened(channel)
            with pytest.raises(grpc.aio.AioRpcError, match="2 streams are open") as refused:
                await opened(channel)
            assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            await channel.unary_unary(PATH + "ServerLive")(b"")
            await first.done_writing()
            assert await first.read() is grpc.aio.EOF
            await opened(channel)

    asyncio.run(asyncio.wait_for(story(), PATIENCE_S))
