"""One process's router of requests, composed: its steps, its observers, what it captures, and its trace.

The endpoint's own process has one (`parts`), and so has each router in a process of its own (`routing.router`). What
differs between the two comes in as values: which endpoints they route to, where their books go, and their clocks.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Protocol

from torpor_account.storage.lone_thread import LoneThread
from torpor_container.frozen_class import frozen
from torpor_endpoint.in_service.served_endpoints import ServedEndpoints
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.app import AccountAndRegion, AsyncFace, Clocks, RuntimeApp
from torpor_endpoint.runtime.capture.capturing import Capturing
from torpor_endpoint.runtime.capture.delivery import StoreOf
from torpor_endpoint.runtime.capture.observer import CaptureObserver
from torpor_endpoint.runtime.choosing.model_chooser import ModelChooser
from torpor_endpoint.runtime.observing.ledger_observer import LedgerObserver, LedgerWriter
from torpor_endpoint.runtime.observing.metrics_observer import MetricsObserver, RequestMeters
from torpor_endpoint.runtime.observing.observers import BatchObserver, Observers
from torpor_endpoint.runtime.passage import Passage
from torpor_endpoint.runtime.sending import RequestSender
from torpor_endpoint.runtime.shadowing import Shadowing

CAPTURE_STOP_S = 5.0
"""How long the last captured data may take to reach S3 when the process stops."""
TELEMETRY_STOP_S = 1.0
"""How long the last spans and metrics may take to reach the collector when the process stops."""

Draw = Callable[[], float]
"""Gives numbers from 0 to 1."""


class RouterMeters(RequestMeters, Protocol):
    """Counts all that a router counts."""

    def dropped(self, endpoint: str, variant: str, at_s: float) -> None: ...

    def untraced(self, endpoint: str, variant: str, requests: int) -> None: ...

    def captured(self, endpoint: str, variant: str, records: int, delivered: bool) -> None: ...


class Tracer(Protocol):
    """What `--otel` adds (`telemetry.telemetry_parts`)."""

    observers: list[BatchObserver]

    def begin(self, request: Passage) -> None: ...

    def settle(self) -> None: ...

    async def close(self) -> None: ...


@frozen
class RouterSite:
    """What a router is made from. `idle_clock` is that of the variants' idle times; `access_log` writes a line for each
    request."""

    roster: ServedEndpoints
    account: AccountAndRegion
    strict: bool
    ledger: LedgerWriter
    meters: RouterMeters
    capture_store: StoreOf
    seed: int | None = None
    tracer: Tracer | None = None
    access_log: BatchObserver | None = None
    epoch: Callable[[], float] = time.time
    idle_clock: Callable[[], float] = time.perf_counter


def plain_steps(site: RouterSite, draw: Draw) -> tuple[Router, RequestSender]:
    """The steps of every router in which no fault of a test strikes."""
    sender = RequestSender(time.perf_counter, site.strict, traffic_clock=site.idle_clock)
    return Router(site.roster, draw, site.strict, ModelChooser(sender, time.perf_counter)), sender


Steps = Callable[[RouterSite, Draw], tuple[Router, RequestSender]]
"""Makes the steps that decide and send."""


class ComposedRouter:
    """The router of one process."""

    def __init__(self, site: RouterSite, steps: Steps = plain_steps) -> None:
        self._site = site
        self._draw = random.Random(site.seed).random
        self.steps, self.sender = steps(site, self._draw)
        thread = LoneThread("data capture")
        self.capturing = Capturing(site.capture_store, thread, site.idle_clock, site.meters.captured)
        further = [] if site.tracer is None else site.tracer.observers
        logged = [] if site.access_log is None else [site.access_log]
        books: Sequence[BatchObserver] = (LedgerObserver(site.ledger), MetricsObserver(site.meters))
        samples = random.Random(site.seed).random
        sampling = CaptureObserver(samples, self.capturing.backlog.add, self.capturing.missed)
        self.observers = Observers([*books, *further, *logged], [sampling])

    def app(self, asynchronous: AsyncFace) -> RuntimeApp:
        """The runtime API. `asynchronous` answers InvokeEndpointAsync."""
        site, steady = self._site, time.perf_counter
        return RuntimeApp(
            self.steps,
            self.sender,
            self.observers,
            site.account,
            Clocks(site.epoch, steady),
            shadowing=Shadowing(self.steps, self.sender, steady, self._draw, site.meters.dropped),
            trace=None if site.tracer is None else site.tracer.begin,
            asynchronous=asynchronous,
        )

    def settle(self) -> None:
        """Count the requests that ended lately, and those whose spans are lost."""
        self.observers.settle()
        if self._site.tracer is not None:
            self._site.tracer.settle()

    async def close(self) -> None:
        """Count what has ended, and send what was captured and then the spans, each within its time."""
        async with AsyncExitStack() as closing:
            if self._site.tracer is not None:
                closing.push_async_callback(close_within, self._site.tracer.close, TELEMETRY_STOP_S)
            closing.push_async_callback(close_within, self.capturing.close, CAPTURE_STOP_S)
            closing.callback(self.observers.settle)


async def close_within(close: Callable[[], Awaitable[None]], within_s: float) -> None:
    """Close a part, and stop waiting after `within_s`: what is left of it ends with the process."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            await close()
