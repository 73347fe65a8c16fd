"""Serves gRPC on a port of its own: the service, its health, and reflection, with TLS where the endpoint has it."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from torpor_account.aws.wire.asgi import App
from torpor_endpoint.faces.grpc_face.grpc_messages import pool
from torpor_endpoint.faces.grpc_face.grpc_service import NAME, InferenceService
from torpor_endpoint.faces.grpc_face.http_questions import HttpQuestions
from torpor_endpoint.host import HostError
from torpor_endpoint.runtime.app import LIMITS

GRACE_S = 1.0
CALLS_MAX = 1000
"""The most calls at once: a client of one more is told that the server has no room."""
STREAMS_MAX = 500
"""The most streams among them."""
AROUND_TENSORS_BYTES = 1 << 20
"""How much larger a message may be than a body over REST: names, shapes, and elements as protobuf writes them."""


@asynccontextmanager
async def grpc_served(app: App, host: str, port: int, files: tuple[Path, Path] | None) -> AsyncIterator[None]:
    """Serve while this lasts. `files` are the certificate and its key, in PEM. Raises HostError."""
    handlers = InferenceService(HttpQuestions(app, files is not None), STREAMS_MAX).handlers()
    known = pool()
    known.AddSerializedFile(health_pb2.DESCRIPTOR.serialized_pb)
    names = (NAME, health.SERVICE_NAME, reflection.SERVICE_NAME)
    async with grpc_port("--grpc-port", handlers, host, port, files) as (server, states):
        reflection.enable_server_reflection(names, server, pool=known)
        await server.start()
        await show_serving(states, ("", NAME), True)
        yield


@asynccontextmanager
async def grpc_port(
    flag: str, handlers: tuple[Any, ...], host: str, port: int, files: tuple[Path, Path] | None
) -> AsyncIterator[tuple[Any, Any]]:
    """A server with these handlers of calls at its port, which is still to be started, and what tells of its health. It
    stops at the end. `flag` is the option that asked for the port. Raises HostError."""
    options = [
        ("grpc.max_receive_message_length", LIMITS.body_bytes + AROUND_TENSORS_BYTES),
        ("grpc.max_send_message_length", -1),
        ("grpc.so_reuseport", 0),
    ]
    server = grpc.aio.server(options=options, maximum_concurrent_rpcs=CALLS_MAX)
    server.add_generic_rpc_handlers(handlers)
    states = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(states, server)
    address = f"[{host}]:{port}" if ":" in host else f"{host or '0.0.0.0'}:{port}"
    try:
        if files is None:
            server.add_insecure_port(address)
        else:
            server.add_secure_port(address, _secured(flag, *files))
    except RuntimeError as error:
        raise HostError(f"{flag}: {address} cannot be listened on") from error
    try:
        yield server, states
    finally:
        await server.stop(GRACE_S)


async def show_serving(states: Any, services: Iterable[str], serves: bool) -> None:
    """Have health checks of these services say whether they serve."""
    status = health_pb2.HealthCheckResponse
    for name in services:
        await states.set(name, status.SERVING if serves else status.NOT_SERVING)


def _secured(flag: str, certificate: Path, key: Path) -> Any:
    """Reads files that have changed at the next connection."""
    read: list[tuple[float, float]] = []

    def configuration() -> Any:
        try:
            changed = certificate.stat().st_mtime, key.stat().st_mtime
            if read and read[-1] == changed:
                return None
            pairs = [(key.read_bytes(), certificate.read_bytes())]
        except OSError:  # they are being replaced: the last ones hold
            return None
        read[:] = [changed]
        return grpc.ssl_server_certificate_configuration(pairs)

    first = configuration()
    if first is None:
        raise HostError(f"{flag}: {certificate} or {key} cannot be read")
    return grpc.dynamic_ssl_server_credentials(first, configuration)
