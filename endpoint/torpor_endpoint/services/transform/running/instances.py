"""The instances of one job: waits for them, asks them for advice, and sends payloads to them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from torpor_container import wire
from torpor_container.transport.upstream import Body, UpstreamAnswer, UpstreamError, UpstreamTimedOut
from torpor_endpoint.fleet.incarnation import Incarnation
from torpor_endpoint.fleet.instance_pool import InstancePool

PARAMETERS = "/execution-parameters"
ADVICE_S = 60.0
ANSWER_MAX_BYTES = 1 << 30
CONTENT_TYPE = b"content-type"

Headers = Sequence[tuple[bytes, bytes]]


class NoInstance(Exception):
    """No instance of the job becomes ready. The text tells a person why."""


class PayloadFailed(Exception):
    """The model did not answer a payload with success. The text tells a person what it did."""


class JobInstances:
    """The instances in a pool, for the payloads of a job."""

    def __init__(self, pool: InstancePool) -> None:
        self._pool = pool

    async def advice(self) -> Mapping[str, Any]:
        """What the first container advises; empty if it advises nothing. Raises NoInstance."""
        incarnation = await self._ready("")
        try:
            to = incarnation.containers[0].upstream
            answer = await to.send("GET", PARAMETERS, [], [], ADVICE_S)
            found = json.loads(b"".join(answer.chunks)) if answer.status == 200 else {}
        except (UpstreamError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    async def answer(self, key: str, headers: Headers, payload: bytes, timeout_s: float, retries: int) -> bytes:
        """The answer to a payload of the object `key`. What breaks, or gets 5xx, is sent again, `retries` times.

        Raises PayloadFailed, NoInstance.
        """
        failure = PayloadFailed("Unable to get response from algorithm")
        for _ in range(retries + 1):
            incarnation = await self._ready(key)
            incarnation.in_flight += 1
            try:
                answer = await self._through(incarnation, headers, payload, timeout_s)
            except UpstreamTimedOut:
                failure = PayloadFailed(f"Unable to get response from algorithm within {timeout_s:g} s")
                continue
            except UpstreamError:
                self._pool.suspect(incarnation)
                continue
            finally:
                self._pool.released(incarnation)
            if 200 <= answer.status < 300:
                return b"".join(answer.chunks)
            failure = PayloadFailed(_refusal(answer))
            if answer.status < 500:
                break
        raise failure

    async def _through(
        self, incarnation: Incarnation, headers: Headers, payload: bytes, timeout_s: float
    ) -> UpstreamAnswer:
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

    async def _ready(self, key: str) -> Incarnation:
        """One object's payloads go to one instance, as long as that is ready and no busier than the others."""
        pool = self._pool
        await pool.until(lambda: bool(pool.ready) or pool.hopeless)
        if not pool.ready:
            assert pool.trouble is not None
            raise NoInstance(str(pool.trouble.reason))
        return pool.ready.pick(key)


def _refusal(answer: UpstreamAnswer) -> str:
    kind = "ClientError" if answer.status < 500 else "ServerError"
    return f"{kind}: {answer.status}"
