"""The endpoint as one ASGI application: makes its parts, starts them in order, and ends them in the opposite order."""

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from torpor_endpoint.aws.lazy import LazyApp
from torpor_endpoint.core.autoscaling.delays import TimeScale
from torpor_endpoint.core.cross_origin import OwnHosts, own_hosts
from torpor_endpoint.fleet.sizer import Sizer
from torpor_endpoint.gateway import Gateway
from torpor_endpoint.metrics.registry import age
from torpor_endpoint.options import Options
from torpor_endpoint.pages.lifespan import Lifespan
from torpor_endpoint.parts import Parts
from torpor_endpoint.service_apps import ServiceApps
from torpor_endpoint.services.autoscaling.acting.rescaling import Rescaling
from torpor_endpoint.services.autoscaling.acting.scaler import Scaler, World
from torpor_endpoint.services.autoscaling.acting.tracking_alarms import judged_by_cloudwatch
from torpor_endpoint.services.cloudwatch.alarms.watch import Watch
from torpor_endpoint.services.logs.files.gauge import LogGrowth
from torpor_endpoint.services.registry import RUNTIME
from torpor_endpoint.services.sagemaker.experiments.runner import ExperimentRunner
from torpor_endpoint.storage.private import close_all
from torpor_endpoint.web_pages import WebPages

STOP_S = 1.0
"""How long the instances of all endpoints have to end by themselves when the endpoint stops."""

CAPTURE_STOP_S = 5.0
"""How long the last captured data may take to reach S3 when the endpoint stops."""

TELEMETRY_STOP_S = 1.0
"""How long the last spans and metrics may take to reach the collector when the endpoint stops."""

CHORE_PAUSE_S = 1.0
"""The pause before a failed chore starts again."""

log = logging.getLogger(__name__)


class EndpointProcess:
    """One endpoint and its life. Raises DataDirInUse, BadImages."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._parts = Parts(options)

    def app(self) -> WebPages:
        """The outermost application: refuses foreign web pages, and hands all else to the gateway."""
        options, apps = self._options, ServiceApps(self._parts)
        health = {"status": "ok", "region": options.region, "account": options.account}
        lifespan = Lifespan(self._running, health, LazyApp(apps.pages))
        inline = {RUNTIME: apps.runtime.take_inline}
        gateway = Gateway(apps.by_name(), lifespan, options.account, self._parts.long_tail.answer, inline)
        return WebPages(gateway, own_hosts_of(options, socket.gethostname()), apps.for_web_pages())

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        """Start the parts, and end each of them afterwards, the last one first, whatever another raises."""
        parts = self._parts
        async with AsyncExitStack() as closing:
            for part in (parts.lock, parts.objects, parts.database, parts.ledger):
                closing.callback(part.close)
            if parts.telemetry is not None:  # after the captured data, which has the time first
                closing.push_async_callback(close_within, parts.telemetry.close, TELEMETRY_STOP_S)
            closing.push_async_callback(close_within, parts.capturing.close, CAPTURE_STOP_S)
            closing.callback(parts.observers.settle)
            closing.callback(parts.long_tail.close)
            closing.push_async_callback(parts.host.close)
            for served in (parts.trainer, parts.controller):
                closing.push_async_callback(close_within, served.close, STOP_S)
            closing.callback(parts.heartbeat.call)
            if parts.was_open:
                await asyncio.to_thread(close_all, parts.folders.root)
            await asyncio.to_thread(lambda: parts.surroundings.disks.sweep(parts.store.endpoints()))
            await parts.controller.start()
            await parts.trainer.start()
            tasks = [asyncio.create_task(repeated(name, chore)) for name, chore in chores(parts).items()]
            closing.push_async_callback(_cancel, tasks)
            yield


def chores(parts: Parts) -> dict[str, Callable[[], Awaitable[None]]]:
    """The work that runs beside the requests for as long as the endpoint lives, by a name for the log."""
    options = parts.options
    rescaling = Rescaling(parts.roster, parts.control(), options.account, options.region)
    world = World(rescaling.load, parts.registry, rescaling.apply)
    return {
        "collector": parts.collector.run,
        "metrics": lambda: age(parts.registry, parts.roster),
        "sizer": Sizer(parts.roster, time.perf_counter).run,
        "ledger": parts.ledger.run,
        "heartbeat": parts.heartbeat.run,
        "zygote": lambda: parts.host.retire(lambda: bool(parts.trainer.writing), options.warm_idle_s),
        "alarms": Watch(parts.alarms, parts.registry, parts.refresh_metrics, judges=judged_by_cloudwatch).run,
        "scaler": Scaler(parts.autoscaling, world, TimeScale(options.time_scale)).run,
        "data capture": parts.capturing.run,
        "inference experiments": ExperimentRunner(parts.experimenting).run,
        "logs": LogGrowth(parts.logs).run,
        **({} if parts.telemetry is None else {"telemetry": parts.telemetry.run}),
    }


def own_hosts_of(options: Options, machine: str) -> OwnHosts:
    """The addresses and names of this endpoint on a machine of this name, and the web pages that may call it."""
    return own_hosts((options.host or "0.0.0.0",), options.allow_hosts, options.allow_origins, machine)


async def close_within(close: Callable[[], Awaitable[None]], within_s: float) -> None:
    """Close a part, and stop waiting after `within_s`: what is left of it ends with the host's processes."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            await close()


async def repeated(name: str, chore: Callable[[], Awaitable[None]]) -> None:
    """Do a chore for ever. If it fails, the log says so and it starts again."""
    while True:
        try:
            await chore()
        except Exception:  # outer edge of a chore: one fault must not end it while the endpoint runs
            log.exception("the chore %r failed; starting it again in %g s", name, CHORE_PAUSE_S)
            await asyncio.sleep(CHORE_PAUSE_S)


async def _cancel(tasks: Sequence["asyncio.Task[None]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
