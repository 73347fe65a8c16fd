"""The greeting of a connection between machines: who takes part without the secret gets nothing."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.waiting import PATIENCE_S
from torpor_container.transport.address import GuardedAddress
from torpor_container.transport.greeting import (
    HELLO_BYTES,
    MAGIC,
    PROOF_BYTES,
    InstancesEnd,
    Unproven,
    answer,
    hello,
    is_proven,
    reply,
    secret_of,
)
from torpor_container.transport.upstream import Upstream
from torpor_container.transport.upstream_answers import UpstreamRefused

SECRET = secret_of(b"of the deployment", "i-1")
NONCES = st.binary(min_size=32, max_size=32)
LOOPS = (asyncio.new_event_loop, uvloop.new_event_loop)


@given(NONCES, NONCES)
def test_two_ends_with_the_same_secret_prove_it_to_each_other(router: bytes, instance: bytes) -> None:
    asked = hello(router)
    assert is_proven(SECRET, asked, instance, answer(SECRET, router, reply(SECRET, asked, instance)))


@given(NONCES, NONCES, st.sampled_from([secret_of(b"of the deployment", "i-2"), secret_of(b"of another", "i-1")]))
def test_another_secret_proves_nothing_at_either_end(router: bytes, instance: bytes, other: bytes) -> None:
    asked = hello(router)
    with pytest.raises(Unproven):
        answer(SECRET, router, reply(other, asked, instance))
    assert not is_proven(SECRET, asked, instance, answer(other, router, reply(other, asked, instance)))


@given(NONCES, NONCES, NONCES)
def test_no_proof_serves_for_another_greeting_or_for_the_other_end(router: bytes, once: bytes, again: bytes) -> None:
    asked = hello(router)
    replied = reply(SECRET, asked, once)
    last = answer(SECRET, router, replied)
    assert (once == again) or not is_proven(SECRET, asked, again, last)
    assert not is_proven(SECRET, asked, once, replied[-PROOF_BYTES:])


@pytest.mark.parametrize("first", [b"GET / HTTP/1.1\r\n".ljust(HELLO_BYTES), MAGIC.upper().ljust(HELLO_BYTES)])
def test_an_instance_tells_nothing_to_who_does_not_greet(first: bytes) -> None:
    with pytest.raises(Unproven):
        reply(SECRET, first, bytes(32))


class Answers(asyncio.Protocol):
    """Answers every request with 200."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")


@asynccontextmanager
async def listening(secret: bytes = SECRET, within_s: float = 5.0) -> AsyncIterator[int]:
    """The port of an instance that serves those who know its secret."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: InstancesEnd(secret, Answers, within_s), "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def asked(port: int, secret: bytes) -> bytes:
    upstream = Upstream(GuardedAddress("127.0.0.1", port, secret))
    try:
        return (await upstream.send("GET", "/ping", (), [], 5.0)).body
    finally:
        upstream.close()


@pytest.mark.parametrize("loop", LOOPS)
def test_requests_follow_the_greeting_on_the_same_connection(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def story() -> None:
        async with listening() as port:
            assert await asked(port, SECRET) == b"hi"

    run(story(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_nothing_is_sent_to_an_instance_with_another_secret(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def story() -> None:
        async with listening(secret_of(b"of the deployment", "i-2")) as port:
            with pytest.raises(UpstreamRefused, match="another instance, or a stranger"):
                await asked(port, SECRET)

    run(story(), loop)


@pytest.mark.parametrize("said", [b"", MAGIC, b"GET /ping HTTP/1.1\r\n\r\n", hello(bytes(32)) + bytes(PROOF_BYTES)])
def test_a_stranger_gets_no_answer_and_no_patience(said: bytes) -> None:
    async def story() -> None:
        async with listening(within_s=0.05) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(said)
            heard = b""
            try:
                heard = await reader.read(4096)
                assert await reader.read(4096) == b""
            except ConnectionResetError:
                pass
            assert b"HTTP" not in heard
            writer.close()

    run(story())


def run(story: Coroutine[Any, Any, None], loop: Callable[[], asyncio.AbstractEventLoop] = LOOPS[0]) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(asyncio.wait_for(story, PATIENCE_S))
