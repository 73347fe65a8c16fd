"""The instances of one job: waits for them, asks them for advice, and sends payloads to them."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from torpor_container import wire
from torpor_container.transport.chunked_post import chunked
from torpor_container.transport.upstream import (
    Body,
    UpstreamAnswer,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimedOut,
)
from torpor_container.wire import Fault
from torpor_endpoint.core.outages.error_owners import ErrorOwner, of_fault
from torpor_endpoint.core.outages.waiting import pause_s
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.in_service.incarnation import Incarnation

ADVICE_S = 60.0
ANSWER_MAX_BYTES = 1 << 30
MESSAGE_MAX = 2048
ATTEMPTS = 5
BUSY = 429
"""A model that is still being loaded."""
CONTENT_TYPE = b"content-type"
FAULT = b"x-torpor-fault"
NO_ANSWER = "Unable to get response from algorithm"

Headers = Sequence[tuple[bytes, bytes]]


class NoInstance(Exception):
    """No instance of the job becomes ready. The text tells a person why."""


class PayloadFailed(Exception):
    """The model did not answer a payload with success. `message` is the beginning of what it answered."""

    def __init__(self, text: str, message: str = "") -> None:
        super().__init__(text)
        self.message = message


class Patience(NamedTuple):
    """How long a payload's answer may take, and how often the payload is sent again."""

    timeout_s: float
    retries: int


class ChunkedExchange(Protocol):
    """What is sent in chunks, and where its answer goes."""

    async def begin(self) -> None:
        """Begin anew: nothing is sent or taken yet."""

    def body(self) -> AsyncIterator[bytes]: ...

    async def take(self, piece: bytes) -> None:
        """Take the next piece of the answer."""


class JobInstances:
    """The instances in a pool, for the payloads of a job. Each has at most `at_once` of them at the same time."""

    def __init__(self, pool: InstancePool) -> None:
        self.at_once = 1
        self._pool = pool
        self._freed = asyncio.Event()

    async def advice(self) -> Mapping[str, Any]:
        """What the first container advises; empty if it advises nothing. Raises NoInstance."""
        incarnation = await self._ready("")
        try:
            to = incarnation.containers[0].upstream
            answer = await to.send("GET", wire.EXECUTION_PARAMETERS, [], [], ADVICE_S)
            found = json.loads(b"".join(answer.chunks)) if answer.status == 200 else {}
        except (UpstreamError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    async def answer(self, key: str, headers: Headers, payload: bytes, patience: Patience) -> bytes:
        """The answer to a payload. Those of one `key` go to one instance, as long as that is ready and has room.

        A payload that breaks, or gets 5xx or 429, is sent again. A connection that was refused does not count, nor does
        an instance whose machine fails, or whose model still comes. Raises PayloadFailed, NoInstance.
        """

        async def sent(incarnation: Incarnation) -> UpstreamAnswer:
            return await _through(incarnation, headers, payload, patience.timeout_s)

        return b"".join((await self._tried(key, patience, sent)).chunks)

    async def stream(self, key: str, headers: Headers, exchange: ChunkedExchange, patience: Patience) -> None:
        """Send a body in chunks, and take its answer in pieces. Both begin anew with each try. Raises as `answer`."""

        async def sent(incarnation: Incarnation) -> UpstreamAnswer:
            address = incarnation.containers[0].upstream.address
            await exchange.begin()
            async with chunked(address, wire.INVOCATIONS, headers, exchange.body(), patience.timeout_s) as connection:
                answer = connection.answer
                while parts := await connection.taken():
                    if 200 <= answer.status < 300:
                        await exchange.take(b"".join(parts))
                    elif not answer.chunks:
                        answer.chunks += parts
            return answer

        await self._tried(key, patience, sent)

    async def _tried(
        self, key: str, patience: Patience, sent: Callable[[Incarnation], Awaitable[UpstreamAnswer]]
    ) -> UpstreamAnswer:
        """Raises PayloadFailed, NoInstance."""
        failure, left, waits = PayloadFailed(NO_ANSWER), patience.retries + 1, 0
        while left:
            left -= 1
            incarnation = await self._ready(key)
            incarnation.took()
            try:
                answer = await sent(incarnation)
            except UpstreamTimedOut:
                failure = PayloadFailed(f"{NO_ANSWER} within {patience.timeout_s:g} s")
                continue
            except UpstreamRefused:
                self._pool.suspect(incarnation)
                left += 1
                continue
            except UpstreamError:
                self._pool.suspect(incarnation)
                continue
            finally:
                self._pool.released(incarnation)
                self._freed.set()
            if 200 <= answer.status < 300:
                return answer
            if _passes(answer):
                waits += 1
                left += 1
                await asyncio.sleep(pause_s(waits))
                continue
            failure = _refusal(answer)
            if answer.status < 500 and answer.status != BUSY:
                break
        raise failure

    async def _ready(self, key: str) -> Incarnation:
        """Raises NoInstance."""
        pool = self._pool
        while True:
            await pool.until(lambda: bool(pool.ready) or _failed_starts(pool) >= ATTEMPTS)
            if not pool.ready:
                assert pool.trouble is not None
                raise NoInstance(str(pool.trouble.reason))
            if (free := pool.ready.with_room(key, self.at_once)) is not None:
                return free
            self._freed.clear()
            await self._freed.wait()  # of those that are ready, each answers something


def _failed_starts(pool: InstancePool) -> int:
    """Those in a row. A start that failed for good is tried again too: what killed it may have been no fault of the
    model, and a job has more patience than a request. One that the machine failed does not count."""
    return 0 if pool.trouble is None or pool.trouble.machine else pool.trouble.failures


async def _through(incarnation: Incarnation, headers: Headers, payload: bytes, timeout_s: float) -> UpstreamAnswer:
    """The answer of the last container; of several, each gets the answer of the one before it."""
    body: Body = [payload]
    last = len(incarnation.containers) - 1
    for place, container in enumerate(incarnation.containers):
        answer = await container.upstream.send(
            "POST", wire.INVOCATIONS, headers, body, timeout_s, answer_max_bytes=ANSWER_MAX_BYTES
        )
        if place == last or not 200 <= answer.status < 300:
            return answer
        body = answer.chunks
        kind = answer.header(CONTENT_TYPE)
        if kind is not None:
            headers = [*(header for header in headers if header[0] != CONTENT_TYPE), (CONTENT_TYPE, kind)]
    raise AssertionError("an instance has a container")


def _passes(answer: UpstreamAnswer) -> bool:
    """Whether an instance of Torpor says that its machine fails, or that the model still comes."""
    fault = answer.header(FAULT)
    return fault is not None and of_fault(Fault(fault.decode())) is ErrorOwner.MACHINE


def _refusal(answer: UpstreamAnswer) -> PayloadFailed:
    kind = "ClientError" if answer.status < 500 else "ServerError"
    message = b"".join(answer.chunks)[:MESSAGE_MAX].decode(errors="replace").strip()
    return PayloadFailed(f"{kind}: {answer.status}", message)
