"""The endpoint as one ASGI application: makes its parts, starts them in order, and ends them in the opposite order."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from torpor_endpoint.aws.lazy import LazyApp
from torpor_endpoint.chores import Chores, repeated
from torpor_endpoint.core.origins.cross_origin import OwnHosts, own_hosts
from torpor_endpoint.dashboard.door import Door
from torpor_endpoint.gateway import Gateway
from torpor_endpoint.options import Options
from torpor_endpoint.pages.lifespan import Lifespan
from torpor_endpoint.parts import Parts
from torpor_endpoint.service_apps import ServiceApps
from torpor_endpoint.services.registry import RUNTIME
from torpor_endpoint.storage.private import close_all
from torpor_endpoint.web_pages import WebPages

STOP_S = 1.0
"""How long the instances of all endpoints have to end by themselves when the endpoint stops."""

CAPTURE_STOP_S = 5.0
"""How long the last captured data may take to reach S3 when the endpoint stops."""

TELEMETRY_STOP_S = 1.0
"""How long the last spans and metrics may take to reach the collector when the endpoint stops."""


class EndpointProcess:
    """One endpoint and its life. Raises DataDirInUse, BadImages."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._parts = Parts(options)
        self._chores = Chores(self._parts)

    def app(self) -> WebPages:
        """The outermost application: refuses foreign web pages, and hands all else to the gateway."""
        options, apps = self._options, ServiceApps(self._parts, self._chores)
        health = {"status": "ok", "region": options.region, "account": options.account}
        pages = Door(LazyApp(apps.dashboard), LazyApp(apps.pages))
        lifespan = Lifespan(self._running, health, pages)
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
            for served in (parts.trainer, parts.transforming, parts.controller):
                closing.push_async_callback(close_within, served.close, STOP_S)
            closing.callback(parts.heartbeat.call)
            if parts.was_open:
                await asyncio.to_thread(close_all, parts.folders.root)
            await asyncio.to_thread(lambda: parts.surroundings.disks.sweep(parts.store.endpoints()))
            await parts.controller.start()
            await parts.trainer.start()
            await parts.transforming.start()
            tasks = [
                asyncio.create_task(repeated(name, chore, parts.clock.pause_of(name)))
                for name, chore in self._chores.runs().items()
            ]
            closing.push_async_callback(_cancel, tasks)
            yield


def own_hosts_of(options: Options, machine: str) -> OwnHosts:
    """The addresses and names of this endpoint on a machine of this name, and the web pages that may call it."""
    return own_hosts((options.host or "0.0.0.0",), options.allow_hosts, options.allow_origins, machine)


async def close_within(close: Callable[[], Awaitable[None]], within_s: float) -> None:
    """Close a part, and stop waiting after `within_s`: what is left of it ends with the host's processes."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            await close()


async def _cancel(tasks: Sequence["asyncio.Task[None]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
