"""Ends requests: writes failure objects and the data log, keeps the end with its notice in the queue, and counts it."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import field
from itertools import count
from pathlib import Path

from torpor_account.core.outages.waiting import pause_s
from torpor_account.metrics import metrics
from torpor_account.s3.access.embedded import (
    AsRole,
    NotStored,
    Storage,
    StorageError,
    as_endpoint,
)
from torpor_account.storage.failures import is_machines
from torpor_account.storage.outage_log import OutageLog
from torpor_container.frozen_class import frozen
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
from torpor_endpoint.core.async_inference.requests import AsyncRequest, AsyncState, KeptRequest
from torpor_endpoint.core.async_inference.topic_messages import RESPONSE_MAX_BYTES, notice_of_failure, notice_of_result
from torpor_endpoint.runtime.asynchronous.async_queue import AsyncQueue
from torpor_endpoint.runtime.asynchronous.metering import AsyncMeter
from torpor_endpoint.runtime.asynchronous.notifying import NoticeBoard
from torpor_endpoint.services.jobs.data_log import DataLog
from torpor_endpoint.services.jobs.work import WorkThreads

EXPIRED = "ClientError: The request waited longer than its RequestTTLSeconds."
UNKEPT = ("the ends of asynchronous requests wait to be kept", "the ends of asynchronous requests are kept again")
UNLOGGED = ("the data logs of asynchronous requests cannot be written", "the data logs of requests are written again")
JSON = "application/json"
LOGGED_BYTES = 2048
"""So much of what a model answered is in the data log."""

log = logging.getLogger(__name__)


@frozen
class RequestEnds:
    """What an instance has answered is never asked again: its end is kept until that succeeds.

    `logs` has a folder for each endpoint, and `noted` is called with a data log that has grown. `clock` gives epoch
    seconds.
    """

    queue: AsyncQueue
    storage: Storage
    threads: WorkThreads
    board: NoticeBoard
    meter: AsyncMeter
    region: str
    clock: Callable[[], float]
    logs: Path
    noted: Callable[[Path], object]
    account: str = ""
    as_role: AsRole = as_endpoint
    unkept: OutageLog = field(default_factory=lambda: OutageLog(*UNKEPT))
    unlogged: OutageLog = field(default_factory=lambda: OutageLog(*UNLOGGED))

    async def end(self, number: int, request: AsyncRequest, outcome: Outcome) -> None:
        """The request's last attempt came to this. Raises nothing but CancelledError."""
        match outcome:
            case Completed():
                await self._kept(number, request, AsyncState.COMPLETED, None, outcome)
            case ModelFailed():
                await self._failed(number, request, AsyncState.FAILED, outcome.reason, outcome)
            case Unanswerable() | OutOfTime() | PlatformFailed():
                await self._failed(number, request, AsyncState.FAILED, outcome.reason)
            case Postponed() | MachineFailed():
                raise AssertionError("a request that is postponed has not ended")
        self._processed(request)

    def has_ended(self, kept: KeptRequest) -> None:
        """The request's end was kept by an attempt that was stopped before it knew so: tell its topic, and count it."""
        self.board.news()
        if kept.state is AsyncState.FAILED:
            self.meter.count(metrics.INVOCATION_FAILURES, kept.request.endpoint, kept.request.variant)
        self._processed(kept.request)

    async def give_up(self, kept: KeptRequest) -> None:
        """The request has waited too long, or must not be answered any more. Raises as `end`."""
        if kept.reason is None:
            await self._failed(kept.number, kept.request, AsyncState.EXPIRED, EXPIRED)
            self.meter.count(metrics.EXPIRED_REQUESTS, kept.request.endpoint, kept.request.variant)
        else:
            await self._failed(kept.number, kept.request, AsyncState.FAILED, kept.reason)

    def _processed(self, request: AsyncRequest) -> None:
        took_s = max(0.0, self.clock() - request.received_s)
        self.meter.took(metrics.TOTAL_PROCESSING_TIME, request.endpoint, request.variant, took_s)
        self.meter.count(metrics.INVOCATIONS_PROCESSED, request.endpoint, request.variant)

    async def _failed(
        self, number: int, request: AsyncRequest, state: AsyncState, reason: str, answer: ModelFailed | None = None
    ) -> None:
        """`answer` is the container's; without one, the failure object has the reason. It counts once its end is kept:
        a request whose endpoint is deleted before that ends anew."""
        body = answer.body if answer is not None and answer.body else json.dumps({"message": reason}).encode()
        kind = answer.content_type if answer is not None and answer.body else JSON
        failure = await self._kept_failure(request, body, kind)
        await self._log(request, reason, body if answer is not None else b"")
        await self._kept(number, request, state, reason, ModelFailed(0, body, kind), failure)
        self.meter.count(metrics.INVOCATION_FAILURES, request.endpoint, request.variant)

    async def _kept(
        self,
        number: int,
        request: AsyncRequest,
        state: AsyncState,
        reason: str | None,
        answer: Completed | ModelFailed,
        failure: str | None = None,
    ) -> None:
        """Keep the end, with its notice, however often it takes."""
        now_s = self.clock()
        if isinstance(answer, Completed):
            small = answer.head if answer.result_bytes <= RESPONSE_MAX_BYTES else None
            notice = notice_of_result(request, self.region, now_s, answer.content_type, small)
        else:
            notice = notice_of_failure(request, self.region, now_s, reason or "", failure, answer.body)
        await self._until_done(lambda: self.queue.end(number, state, reason, notice))
        if notice is not None:
            self.board.news()

    async def _kept_failure(self, request: AsyncRequest, body: bytes, content_type: str) -> str | None:
        """Where the failure object is; None if there is none, since the request wants none or S3 refuses it."""
        if request.failure is None:
            return None
        bucket, _, key = request.failure.removeprefix("s3://").partition("/")

        async def write() -> None:
            try:
                await self.threads.finished(self._storage(request).write, body, bucket, key, content_type)
            except StorageError:
                self.meter.count(metrics.RESPONSE_UPLOAD_FAILURES, request.endpoint, request.variant)
                raise

        try:
            await self._until_done(write)
        except NotStored as error:
            log.warning("the failure of request %s cannot be written: %s", request.inference_id, error)
            return None
        return request.failure

    async def _until_done(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do it, however often it takes: what a model has answered must not be asked again. Raises NotStored."""
        for tried in count(1):
            try:
                await work()
            except NotStored:
                raise
            except Exception as error:  # whatever it is, the request has ended
                if not is_machines(error):
                    log.exception("the end of an asynchronous request cannot be kept")
                else:
                    self.unkept.began(error)
                await asyncio.sleep(pause_s(tried))
            else:
                self.unkept.ended()
                return

    async def _log(self, request: AsyncRequest, reason: str, answer: bytes) -> None:
        """Say in the variant's data log why the request has no result. A log that cannot be written stops nothing: the
        failure object says the same."""
        data_log = DataLog(self.logs / request.endpoint / request.variant, self.clock, self.noted)
        lines = [reason, *answer[:LOGGED_BYTES].decode(errors="replace").splitlines()]
        try:
            await self.threads.finished(data_log.write, *lines, about=request.inference_id)
        except (OSError, RuntimeError) as error:  # such as of a full disk
            self.unlogged.began(error)
        else:
            self.unlogged.ended()

    def _storage(self, request: AsyncRequest) -> Storage:
        """It acts as the role of the model that was to answer."""
        arn = f"arn:aws:sagemaker:{self.region}:{self.account}:endpoint/{request.endpoint.lower()}"
        return self.as_role(self.storage, request.config.role, arn)
