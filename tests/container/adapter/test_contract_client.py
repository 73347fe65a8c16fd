"""What a container gets of a request of OpenAI's API."""

import asyncio
from collections.abc import Sequence
from typing import Any

from torpor_container.adapter.contract_client import ContractClient, invoked_alone
from torpor_container.invocation import Invocation
from torpor_container.transport.upstream_answers import UpstreamAnswer

KIND = "application/vnd.torpor.openai+json;operation=chat-completions"


class Container:
    """A container that answers everything, and keeps what it got."""

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[bytes, bytes], bytes]] = []

    async def send(
        self, method: str, path: str, headers: Sequence[tuple[bytes, bytes]], body: Sequence[bytes], timeout_s: float
    ) -> UpstreamAnswer:
        self.got.append((path, dict(headers), b"".join(body)))
        return UpstreamAnswer(200, [])


def request(content_type: str) -> Invocation:
    call = Invocation(b'{"model": "m"}', content_type)
    call.headers = [(b"content-type", content_type.encode()), (b"accept", b"text/event-stream")]
    return call


def got(content_type: str, alone: bool) -> tuple[str, dict[bytes, bytes], bytes]:
    container = Container()
    upstream: Any = container
    if alone:
        asyncio.run(invoked_alone(upstream, request(content_type), 1.0))
    else:
        asyncio.run(ContractClient(upstream).invoke("m1", "m.tar.gz", request(content_type), 1.0))
    (found,) = container.got
    return found


def test_a_container_of_one_model_gets_it_at_the_operations_own_path() -> None:
    path, headers, body = got(KIND, alone=True)
    assert (path, body) == ("/v1/chat/completions", b'{"model": "m"}')
    assert (headers[b"Content-Type"], headers[b"Accept"]) == (b"application/json", b"text/event-stream")
    assert got("application/json", alone=True)[0] == "/invocations"


def test_a_container_of_many_models_is_told_the_operation_by_a_header() -> None:
    path, headers, _ = got(KIND, alone=False)
    assert (path, headers[b"Content-Type"]) == ("/models/m1/invoke", b"application/json")
    assert headers[b"X-Amzn-SageMaker-Model-Invocation-Path"] == b"/v1/chat/completions"
    assert b"X-Amzn-SageMaker-Model-Invocation-Path" not in got("application/json", alone=False)[1]
