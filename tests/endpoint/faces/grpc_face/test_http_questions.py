"""A call over gRPC asks as a request over REST: its metadata are headers, but for those of the transport."""

import asyncio
from types import SimpleNamespace

from torpor_account.aws.wire.asgi import Receive, Scope, Send
from torpor_endpoint.faces.grpc_face.http_questions import HttpQuestions


def test_metadata_are_headers_but_for_those_of_the_transport() -> None:
    seen: list[tuple[bytes, bytes]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.extend(scope["headers"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    metadata = [("tenant", "a"), ("hostile", "b"), ("te", "trailers"), ("grpc-timeout", "1S"), ("x-bin", b"c")]
    context = SimpleNamespace(invocation_metadata=lambda: metadata, peer=lambda: "ipv4:127.0.0.1:5000")

    asyncio.run(HttpQuestions(app, secured=False).ask(context, "GET", "/v2"))

    assert seen == [(b"host", b"localhost"), (b"content-length", b"0"), (b"tenant", b"a"), (b"hostile", b"b")]
