"""The dispatcher of asynchronous requests, composed: its attempts, its ends and its messages."""

import time
from collections.abc import Callable
from pathlib import Path

from torpor_account.metrics.registry import MetricRegistry
from torpor_account.s3.access.embedded import AsRole, Storage
from torpor_account.storage.data_dir import DataDir
from torpor_account.topics import Topics
from torpor_container.frozen_class import frozen
from torpor_endpoint.in_service.served_endpoints import ServedEndpoints
from torpor_endpoint.runtime.app import AccountAndRegion
from torpor_endpoint.runtime.asynchronous.async_queue import AsyncQueue
from torpor_endpoint.runtime.asynchronous.attempt import AttemptSite
from torpor_endpoint.runtime.asynchronous.dispatcher import AsyncDispatcher
from torpor_endpoint.runtime.asynchronous.metering import AsyncMeter
from torpor_endpoint.runtime.asynchronous.notifying import NoticeBoard
from torpor_endpoint.runtime.asynchronous.request_ends import RequestEnds
from torpor_endpoint.runtime.composed_router import ComposedRouter
from torpor_endpoint.services.jobs.work import WorkThreads

THREADS = 8
"""For the inputs and results of asynchronous requests on their way from and to S3."""


@frozen
class AsyncSite:
    """What asynchronous requests share with their endpoint. `noted` is called with a log that has grown."""

    queue: AsyncQueue
    roster: ServedEndpoints
    router: ComposedRouter
    storage: Storage
    as_role: AsRole
    topics: Topics
    registry: MetricRegistry
    folders: DataDir
    noted: Callable[[Path], object]
    account: AccountAndRegion
    epoch: Callable[[], float]


def composed_dispatcher(site: AsyncSite) -> AsyncDispatcher:
    meter, threads = AsyncMeter(site.registry, site.epoch), WorkThreads("async", THREADS)
    attempts = AttemptSite(
        folder=site.folders.attempts,
        storage=site.storage,
        threads=threads,
        sender=site.router.sender,
        observers=site.router.observers,
        meter=meter,
        place=site.account.place,
        epoch=site.epoch,
        steady=time.perf_counter,
        as_role=site.as_role,
    )
    ends = RequestEnds(
        site.queue,
        site.storage,
        threads,
        NoticeBoard(site.queue, site.topics, meter, time.monotonic),
        meter,
        site.account.region,
        site.epoch,
        site.folders.endpoint_logs,
        site.noted,
        site.account.number,
        site.as_role,
    )
    return AsyncDispatcher(site.queue, site.roster, attempts, ends, meter, site.epoch)
