"""Serves the endpoint picker: Envoy's external processing on a port of its own, and the health that gateways check."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc

from torpor_account.aws.wire.asgi import App
from torpor_endpoint.faces.grpc_face.grpc_server import grpc_port, show_serving
from torpor_endpoint.routing.picker.gateway_heads import BadGateway
from torpor_endpoint.routing.picker.gateway_messages import METHOD, SERVICE, message
from torpor_endpoint.routing.picker.gateway_stream import GatewayStreams

FLAG = "--picker-port"
LIVENESS = "liveness"
READY = ("", "readiness", SERVICE)
"""The services whose health says whether the picker can pick."""


@asynccontextmanager
async def picker_served(
    app: App, host: str, port: int, files: tuple[Path, Path] | None, known: asyncio.Event
) -> AsyncIterator[None]:
    """Serve while this lasts. `app` is the router's own application; `files` are the certificate and its key, in PEM;
    `known` is set once the router knows the endpoints. Raises HostError."""
    streams = GatewayStreams(app)

    async def process(messages: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        try:
            async for answer in streams.process(aiter(messages)):
                yield answer
        except BadGateway as why:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(why))

    handler = grpc.stream_stream_rpc_method_handler(
        process,
        request_deserializer=message("ProcessingRequest").FromString,
        response_serializer=message("ProcessingResponse").SerializeToString,
    )
    service = grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler})
    async with grpc_port(FLAG, (service,), host, port, files) as (server, states):
        await show_serving(states, (LIVENESS,), True)
        showing = asyncio.create_task(_show_ready(states, known))
        await server.start()
        try:
            yield
        finally:
            showing.cancel()


async def _show_ready(states: Any, known: asyncio.Event) -> None:
    """Say that the picker is ready, once it knows the endpoints: from then on it does, whatever its control does."""
    await show_serving(states, READY, False)
    await known.wait()
    await show_serving(states, READY, True)
