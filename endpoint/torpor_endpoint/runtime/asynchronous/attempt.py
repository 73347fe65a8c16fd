"""One attempt to answer a request: reads its input, sends it to an instance, and writes the answer to S3.

Input and answer are files meanwhile: memory stays flat, whatever their size.
"""

import asyncio
import logging
import mmap
import shutil
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import field
from itertools import count
from pathlib import Path

from torpor_account.core.outages.waiting import pause_s
from torpor_account.log_lines import about
from torpor_account.metrics import metrics
from torpor_account.s3.access.embedded import (
    AsRole,
    NotStored,
    Storage,
    StorageAway,
    StorageError,
    as_endpoint,
)
from torpor_account.storage.failures import is_machines
from torpor_account.storage.outage_log import OutageLog
from torpor_container.frozen_class import frozen
from torpor_container.transport.stream_client import StreamConnection, StreamFailed
from torpor_container.transport.upstream import size_of
from torpor_container.transport.upstream_answers import Body, UpstreamBroken
from torpor_endpoint.core.async_inference.attempts import (
    Completed,
    MachineFailed,
    ModelFailed,
    Outcome,
    OutOfTime,
    PlatformFailed,
    Postponed,
    Unanswerable,
)
from torpor_endpoint.core.async_inference.requests import AsyncRequest
from torpor_endpoint.core.async_inference.topic_messages import RESPONSE_MAX_BYTES
from torpor_endpoint.core.sending.adapter_headers import INFERENCE_COMPONENT
from torpor_endpoint.core.sending.machine import CONTENT_TYPE
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.in_service.served_endpoints import ServedEndpoint
from torpor_endpoint.runtime.admitting import adapter_of, path_of, version_in
from torpor_endpoint.runtime.asynchronous.metering import AsyncMeter
from torpor_endpoint.runtime.errors import (
    FAULTS,
    ErrorPlace,
    RuntimeFault,
    Situation,
    from_answer,
    message_of,
)
from torpor_endpoint.runtime.holding import NobodyReady, PoolClosed
from torpor_endpoint.runtime.observing.observers import Observers
from torpor_endpoint.runtime.passage import CallLimits, Passage, Route, Served, routed
from torpor_endpoint.runtime.passage_end import PassageEnd
from torpor_endpoint.runtime.request import Invoke
from torpor_endpoint.runtime.sending import RequestSender
from torpor_endpoint.services.jobs.work import WorkThreads

INPUT_MAX_BYTES = 1024 * 1024 * 1024
"""AWS: "payload sizes up to 1 GB"."""
PIECE_BYTES = 1 << 20
PUTS = 4
"""How often a result is written that the store fails for a reason that is not the machine's. The model is not asked
again for what it has answered."""

WAITED = {Situation.NOT_READY, Situation.DEPENDENCY, Situation.HOLD_FULL, Situation.BODIES_FULL, Situation.UNAVAILABLE}
"""Failures that pass: the request waits."""
AGAIN = {Situation.INTERNAL}
"""Failures that are the platform's."""

UNWRITTEN = (
    "results of asynchronous requests wait to be written",
    "results of asynchronous requests are written again",
)

log = logging.getLogger(__name__)


@frozen
class AttemptSite:
    """What all attempts share. `place` names a new request to an endpoint. `epoch` gives seconds since 1970, and
    `steady` seconds that only go forward. `as_role` makes of `storage` one that acts as the role of a model."""

    folder: Path
    storage: Storage
    threads: WorkThreads
    sender: RequestSender
    observers: Observers
    meter: AsyncMeter
    place: Callable[[str], ErrorPlace]
    epoch: Callable[[], float]
    steady: Callable[[], float]
    as_role: AsRole = as_endpoint
    unwritten: OutageLog = field(default_factory=lambda: OutageLog(*UNWRITTEN))


class Attempt:
    """An attempt for one request, by the instances of a pool."""

    def __init__(self, site: AttemptSite, number: int, request: AsyncRequest, live: ServedEndpoint, pool: VariantPool):
        self._site = site
        self._end = PassageEnd(site.observers, site.steady)
        self._folder = site.folder / str(number)
        self._request = request
        self._storage = site.as_role(site.storage, request.config.role, live.arn)
        self._live = live
        self._pool = pool

    async def outcome(self) -> Outcome:
        """Raises nothing but CancelledError: what goes wrong is an outcome."""
        threads, request = self._site.threads, self._request
        try:
            await threads.finished(self._folder.mkdir, parents=True, exist_ok=True)
            return await self._tried()
        except Exception as error:  # outer edge of one request: its fault must not stop the others
            if is_machines(error):
                return MachineFailed(str(error))
            log.exception("request %s failed", request.inference_id, extra=about(endpoint=request.endpoint))
            return PlatformFailed("InternalServerError: The request failed because of an unknown error.")
        finally:
            await threads.finished(shutil.rmtree, self._folder, ignore_errors=True)

    async def _tried(self) -> Outcome:
        request, site = self._request, self._site
        try:
            bucket, key = _split(request.output)
            await site.threads.finished(self._storage.check, bucket)
            await site.threads.finished(self._storage.check_writable, bucket, key)
        except NotStored as error:
            return Unanswerable(f"ClientError: The result cannot be written: {error}")
        except StorageAway:
            raise
        except StorageError as error:
            return PlatformFailed(f"InternalServerError: {error}")
        try:
            body, content_type = await self._input()
        except StorageError as error:
            site.meter.count(metrics.REQUEST_DOWNLOAD_FAILURES, request.endpoint, request.variant)
            if isinstance(error, StorageAway):
                raise
            if isinstance(error, NotStored):
                return Unanswerable(f"ClientError: The input cannot be read: {error}")
            return PlatformFailed(f"InternalServerError: The input cannot be read: {error}")
        return await self._answered(body, content_type)

    # -- the input -------------------------------------------------------------------------------------------------
    async def _input(self) -> tuple[Body, str]:
        """The input in pieces, and the content type of its object. The pieces of a file are not read before they are
        sent. Raises StorageError."""
        request, site = self._request, self._site
        if request.body is not None:
            return [request.body], ""
        bucket, key = _split(request.input or "")
        began_s, path = site.steady(), self._folder / "input"
        head = await site.threads.finished(self._storage.head, bucket, key)
        if head.size_bytes > INPUT_MAX_BYTES:
            raise NotStored(f"{request.input} has {head.size_bytes} bytes, and {INPUT_MAX_BYTES} are allowed")
        await site.threads.finished(self._storage.fetch, bucket, key, path)
        site.meter.took(metrics.REQUEST_DOWNLOAD_LATENCY, request.endpoint, request.variant, site.steady() - began_s)
        return await site.threads.finished(_mapped, path), head.content_type

    # -- the answer ------------------------------------------------------------------------------------------------
    async def _answered(self, body: Body, content_type: str) -> Outcome:
        passage = self._passage(body, content_type)
        try:
            self._choose_version(passage)
            async with asyncio.timeout(self._request.timeout_s), AsyncExitStack() as use:
                connection, served = await use.enter_async_context(self._site.sender.stream(passage, waits=False))
                if connection is None or not 200 <= served.answer.status < 300:
                    return self._refused(passage, served)
                result_bytes = await self._keep(connection)
        except (PoolClosed, NobodyReady):
            return Postponed()
        except TimeoutError:
            self._end.unread(passage, RuntimeFault(Situation.MODEL_SERVER, original=(0, ""), status=0), 0)
            return OutOfTime(self._request.timeout_s)
        except StreamFailed as failed:
            self._end.unread(passage, RuntimeFault(Situation.MODEL_SERVER, original=(500, ""), status=500), 0)
            return ModelFailed(500, failed.failure.message.encode(), "text/plain")
        except UpstreamBroken as error:
            self._end.unread(passage, RuntimeFault(Situation.MODEL_SERVER, original=(0, ""), status=0), 0)
            return PlatformFailed(f"InternalServerError: {error}")
        except RuntimeFault as fault:
            self._end.unread(passage, fault, 0)
            return _of_fault(fault, passage.place)
        self._end.unread(passage, served, result_bytes)
        kind = served.answer.header(b"content-type")
        return await self._delivered(result_bytes, "" if kind is None else kind.decode("latin-1"))

    def _choose_version(self, passage: Passage) -> None:
        """The version that answers the request's target now, and not the one when it came. Raises RuntimeFault."""
        route = routed(passage)
        if route.target is not None and route.pool.versions is not None:
            target = version_in(route.pool, route.target)
            passage.route = route._replace(target=target, asked=None if target == route.target else route.target)

    async def _keep(self, connection: StreamConnection) -> int:
        """Write the answer to a file as it comes. Returns its size."""
        threads = self._site.threads
        size, held, held_bytes = 0, [], 0
        file = await threads.finished(self._result.open, "wb")
        try:
            while parts := await connection.taken():
                held += parts
                held_bytes += size_of(parts)
                if held_bytes >= PIECE_BYTES:
                    await threads.finished(file.writelines, held)
                    size, held, held_bytes = size + held_bytes, [], 0
            await threads.finished(file.writelines, held)
        finally:
            await threads.finished(file.close)
        return size + held_bytes

    async def _delivered(self, result_bytes: int, content_type: str) -> Outcome:
        """The result is in S3, or it can never be. While the machine fails, it is a file here, and is written again."""
        request, site = self._request, self._site
        began_s, tries, head = site.steady(), count(1), b""
        while True:
            try:
                if result_bytes <= RESPONSE_MAX_BYTES:
                    head = await site.threads.finished(self._result.read_bytes)
                await site.threads.finished(self._storage.put, self._result, *_split(request.output), content_type)
                site.unwritten.ended()
                break
            except (StorageError, OSError, RuntimeError) as error:
                tried, away = next(tries), is_machines(error)
                site.meter.count(metrics.RESPONSE_UPLOAD_FAILURES, request.endpoint, request.variant)
                if isinstance(error, NotStored) or (tried >= PUTS and not away):
                    return Unanswerable(f"InternalServerError: The result cannot be written: {error}")
                site.unwritten.began(error)
                await asyncio.sleep(pause_s(tried))
        site.meter.took(metrics.RESPONSE_UPLOAD_LATENCY, request.endpoint, request.variant, site.steady() - began_s)
        return Completed(content_type, result_bytes, head)

    def _refused(self, passage: Passage, served: Served) -> Outcome:
        """The outcome of an instance's answer that is no success."""
        answer = served.answer
        self._end.unread(passage, served, 0)
        fault = from_answer(answer, passage.place)
        if fault.situation in FAULTS.values() or fault.timed_out:
            return _of_fault(fault, passage.place)
        kind = answer.header(b"content-type")
        return ModelFailed(answer.status, answer.body, "" if kind is None else kind.decode("latin-1"))

    # -- the passage -----------------------------------------------------------------------------------------------
    @property
    def _result(self) -> Path:
        return self._folder / "result"

    def _passage(self, body: Body, content_type: str) -> Passage:
        """The request as the runtime knows it, with `content_type` unless the call names one. Observers that read
        bodies do not see it."""
        request, pool = self._request, self._pool
        size = size_of(body)
        site, limits = self._site, CallLimits()
        scope = {"method": "POST", "path": f"/endpoints/{request.endpoint}/async-invocations", "headers": []}
        passage = Passage(scope, site.place(request.endpoint), limits, site.epoch(), site.steady())
        headers = {name.encode(): value.encode("latin-1") for name, value in request.headers.items()}
        if content_type.isascii() and content_type:
            headers.setdefault(CONTENT_TYPE, content_type.encode("latin-1"))
        invoke = Invoke(headers)
        passage.request = invoke
        passage.body, passage.request_bytes, passage.readers = body, size, ()
        path = path_of(pool.variant, invoke, request.endpoint)
        adapter = adapter_of(self._live, headers.get(INFERENCE_COMPONENT))
        passage.route = Route(self._live, pool.variant.name, pool, request.target, path, adapter=adapter)
        return passage


def _split(url: str) -> tuple[str, str]:
    """Bucket and key."""
    bucket, _, key = url.removeprefix("s3://").partition("/")
    return bucket, key


def _mapped(path: Path) -> Body:
    """The pieces of a file. They hold it open and in reach, and no memory that the system cannot take back."""
    if not (size := path.stat().st_size):
        return []
    with path.open("rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return [view[at : at + PIECE_BYTES] for at in range(0, size, PIECE_BYTES)]  # type: ignore[misc]


def _of_fault(fault: RuntimeFault, place: ErrorPlace) -> Outcome:
    """The outcome of a request that no model answered."""
    text = message_of(fault, place) or fault.situation.name
    broken = fault.original is not None and fault.original[0] == 0 and not fault.timed_out
    if fault.situation in WAITED:
        return Postponed(text)
    if fault.situation in AGAIN or broken:
        return PlatformFailed(f"InternalServerError: {text}")
    return Unanswerable(f"ClientError: {text}")
