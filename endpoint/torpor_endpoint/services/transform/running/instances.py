"""The instances of one job: waits for them, asks them for advice, and sends payloads to them."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, NamedTuple, Protocol

from torpor_container import wire
from torpor_container.transport.chunked_post import chunked
from torpor_container.transport.upstream import size_of
from torpor_container.transport.upstream_answers import UpstreamAnswer, UpstreamError
from torpor_endpoint.core.sending.machine import HOP_OVERSIZE, Sending, SendingFailure, SendingRules, TraceCarrier
from torpor_endpoint.core.sending.trail import Trail
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.in_service.sending_driver import driven, instance_of, whole

ADVICE_S = 60.0
ANSWER_MAX_BYTES = 1 << 30
MESSAGE_MAX = 2048
ATTEMPTS = 5
NO_ANSWER = "Unable to get response from algorithm"


Exchange = Callable[[Sending[Incarnation]], Awaitable[UpstreamAnswer]]
"""Sends the leg that the machine has now."""


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


class PayloadTrace(Protocol):
    """The place of one payload in a trace."""

    @property
    def trace(self) -> TraceCarrier | None: ...

    def ended(self, sending: Sending[Incarnation]) -> None:
        """The payload has its outcome."""


class PayloadTraces(Protocol):
    """Finds the place of each payload of a job."""

    def begun(self, model: str | None, size_bytes: int) -> PayloadTrace: ...


class JobPayload(NamedTuple):
    """What is sent. Payloads of one `key` go to one instance, as long as that is ready and has room. `model` names one
    of many models; it is empty where there is one."""

    key: str
    headers: Mapping[bytes, bytes]
    body: bytes = b""
    model: str = ""


class JobInstances:
    """The instances in a pool, for the payloads of a job. `clock` gives seconds that only go forward. `strict`: AWS's
    limits hold between containers too. `traces` gives each payload its place in a trace."""

    def __init__(
        self,
        pool: InstancePool,
        clock: Callable[[], float],
        strict: bool = False,
        traces: PayloadTraces | None = None,
    ) -> None:
        self._pool = pool
        self._clock = clock
        self._strict = strict
        self._traces = traces
        self.bound(1)

    def bound(self, at_once: int) -> None:
        """Each instance has at most so many payloads at the same time."""
        self._pool.ready.most = self._pool.ready.busy_min = at_once

    async def advice(self) -> Mapping[str, Any]:
        """What the first container advises; empty if it advises nothing. Raises NoInstance."""
        await self._held()
        try:
            to = self._pool.ready.least_busy().containers[0].upstream
            answer = await to.send("GET", wire.EXECUTION_PARAMETERS, [], [], ADVICE_S)
            found = json.loads(b"".join(answer.chunks)) if answer.status == 200 else {}
        except (UpstreamError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    async def answer(self, payload: JobPayload, patience: Patience) -> bytes:
        """The answer to a payload.

        A payload that breaks, or gets 5xx or 429, is sent again. A connection that was refused does not count, nor does
        an instance whose machine fails, or whose model still comes. Raises PayloadFailed, NoInstance.
        """

        async def exchange(sending: Sending[Incarnation]) -> UpstreamAnswer:
            return await whole(sending, ANSWER_MAX_BYTES)

        return b"".join((await self._sent(payload, patience, exchange)).chunks)

    async def stream(self, payload: JobPayload, exchange: ChunkedExchange, patience: Patience) -> None:
        """Send a body to the one container in chunks, and take its answer in pieces. Both begin anew with each try.
        Raises as `answer`."""

        async def sent(sending: Sending[Incarnation]) -> UpstreamAnswer:
            address = instance_of(sending).containers[sending.container].upstream.address
            headers, timeout_s = sending.headers, sending.timeout_s
            await exchange.begin()
            async with chunked(address, wire.INVOCATIONS, headers, exchange.body(), timeout_s) as connection:
                answer = connection.answer
                while parts := await connection.taken():
                    if 200 <= answer.status < 300:
                        await exchange.take(b"".join(parts))
                    elif not answer.chunks:
                        answer.chunks += parts
            return answer

        await self._sent(payload, patience, sent)

    async def _sent(self, payload: JobPayload, patience: Patience, exchange: Exchange) -> UpstreamAnswer:
        """Raises PayloadFailed, NoInstance."""
        containers = self._pool.variant.containers
        traced = None if self._traces is None else self._traces.begun(payload.model or None, len(payload.body))
        sending = Sending(
            self._pool,
            containers,
            tuple(range(len(containers))),
            [patience.timeout_s] * len(containers),
            0.0,
            payload.headers,
            payload.model or None,
            payload.model or payload.key,
            [payload.body],
            SendingRules(self._strict, patient=True, retries=patience.retries, needs_room=True),
            None if len(containers) == 1 else Trail(),
            trace=None if traced is None else traced.trace,
        )

        async def exchanged() -> UpstreamAnswer:
            try:
                return await exchange(sending)
            finally:
                self._pool.changed()  # those who wait for room look again, once the machine has let go of the instance

        try:
            await driven(sending, self._clock, lambda: self._held(sending.pause_s), exchanged)
        finally:
            sending.let_go()
            if traced is not None:
                traced.ended(sending)
        answer = sending.answer
        if sending.failure is SendingFailure.TIMED_OUT:
            raise PayloadFailed(f"{NO_ANSWER} within {patience.timeout_s:g} s")
        if not isinstance(answer, UpstreamAnswer):
            raise PayloadFailed(NO_ANSWER)
        if sending.failure is SendingFailure.HOP_OVERSIZE:
            places = {"container": sending.place, "following": sending.following}
            raise PayloadFailed(HOP_OVERSIZE.format(**places, status=answer.status, size=size_of(answer.chunks)))
        if not 200 <= answer.status < 300:
            raise _refusal(answer)
        return answer

    async def _held(self, pause_s: float = 0.0) -> None:
        """Wait until an instance has room. Raises NoInstance."""
        pool = self._pool
        await asyncio.sleep(pause_s)
        await pool.until(lambda: pool.ready.has_room or (not pool.ready and _failed_starts(pool) >= ATTEMPTS))
        if not pool.ready:
            assert pool.trouble is not None
            raise NoInstance(str(pool.trouble.reason))


def _failed_starts(pool: InstancePool) -> int:
    """Those in a row. A start that failed for good is tried again too: what killed it may have been no fault of the
    model, and a job has more patience than a request. One that the machine failed does not count."""
    return 0 if pool.trouble is None or pool.trouble.machine else pool.trouble.failures


def _refusal(answer: UpstreamAnswer) -> PayloadFailed:
    kind = "ClientError" if answer.status < 500 else "ServerError"
    message = b"".join(answer.chunks)[:MESSAGE_MAX].decode(errors="replace").strip()
    return PayloadFailed(f"{kind}: {answer.status}", message)
