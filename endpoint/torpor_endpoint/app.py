"""The endpoint as one ASGI application: makes its parts, starts them in order, and ends them in the opposite order."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from torpor_account.aws.lazy import LazyApp
from torpor_account.aws.wire.asgi import Inline
from torpor_account.core.origins.cross_origin import OwnHosts, own_hosts
from torpor_account.gateway import Gateway
from torpor_account.storage.private import close_all
from torpor_account.web_pages import WebPages
from torpor_endpoint.chores import Chores
from torpor_endpoint.clocks.repeating import repeated
from torpor_endpoint.dashboard.dashboard_door import Door
from torpor_endpoint.endpoint_parts import EndpointParts
from torpor_endpoint.fleet.components.component_controller import served_variants
from torpor_endpoint.options import Options
from torpor_endpoint.pages.lifespan import Lifespan
from torpor_endpoint.runtime.composed_router import close_within
from torpor_endpoint.service_apps import ServiceApps
from torpor_endpoint.services.service_register import ADDRESSES, OPEN_INFERENCE, OPENAI, RUNTIME, TF_SERVING
from torpor_endpoint.starting.importing_ahead import import_ahead

if TYPE_CHECKING:
    from torpor_account.access.callers import Callers
    from torpor_account.access.door import AccessDoor
    from torpor_endpoint.core.pages.own_models import MayInvoke, OwnEndpoint

STOP_S = 1.0
"""How long the instances of all endpoints have to end by themselves when the endpoint stops."""


class EndpointProcess:
    """One endpoint and its life. Raises DataDirInUse, BadImages."""

    def __init__(self, options: Options) -> None:
        self._options = options
        if options.standby:
            import_ahead(options)
        self._parts = EndpointParts(options)
        self._chores = Chores(self._parts)
        self._outermost: WebPages | None = None

    def app(self) -> WebPages:
        """The outermost application: refuses foreign web pages, and hands all else to the gateway."""
        options, apps = self._options, ServiceApps(self._parts, self._chores)
        health = {"status": "ok", "region": options.region, "account": options.account}
        health |= {"auth": "on"} if options.auth else {}
        pages = Door(LazyApp(apps.dashboard), LazyApp(apps.pages))
        lifespan = Lifespan(self._running, health, pages, lambda: self._parts.account.proof.is_unproven)
        otherwise = self._parts.account.long_tail.answer
        gateway = Gateway(apps.by_name(), lifespan, options.account, ADDRESSES, otherwise, apps.inline())
        own, excepted = own_hosts_of(options, socket.gethostname()), self._parts.account.cross_origin()
        peers = None if self._parts.peers is None else self._parts.peers.tls
        callers = self._callers()
        if callers is None:
            self._outermost = WebPages(gateway, own, excepted, peers)
            return self._outermost
        door = self._door(gateway, callers, apps.invocations.inline)
        self._outermost = WebPages(door, own, {name: partial(door.s3, app) for name, app in excepted.items()}, peers)
        return self._outermost

    def _callers(self) -> "Callers | None":
        """None where callers are not verified."""
        if not self._options.auth:
            return None
        from torpor_endpoint.access.page_rights import ROUTERS_PAGES
        from torpor_endpoint.dashboard.look import LOOK

        return self._parts.account.callers(LOOK, (ROUTERS_PAGES,))

    def _door(self, gateway: Gateway, callers: "Callers", inline: Inline) -> "AccessDoor":
        from torpor_endpoint.access.invocations import AT_THE_DOOR, InvocationDoor
        from torpor_endpoint.access.own_models import OwnModelsFace
        from torpor_endpoint.faces.face_door import FACE_AT_THE_DOOR, OPENAI_AT_THE_DOOR

        roles = self._parts.role_parts
        return callers.door(
            gateway,
            tokened={} if roles is None else roles.pages,
            about_callers=OwnModelsFace(self._own_models, self._hosts_of, callers.login),
            by_head={
                RUNTIME: AT_THE_DOOR,
                OPEN_INFERENCE: FACE_AT_THE_DOOR,
                TF_SERVING: FACE_AT_THE_DOOR,
                OPENAI: OPENAI_AT_THE_DOOR,
            },
            inline=InvocationDoor(callers.verifier, inline, callers.throttle).inline,
        )

    async def _own_models(self, may_invoke: "MayInvoke") -> tuple["OwnEndpoint", ...]:
        from torpor_endpoint.ledger.reader import LedgerReader
        from torpor_endpoint.pages.own_models import found_own_models

        parts = self._parts
        ledger = LedgerReader(parts.ledger.tables, parts.clock.epoch)
        return await found_own_models(parts.roster, parts.flush_ledger, ledger, may_invoke)

    def _hosts_of(self, endpoint: str) -> tuple[str, ...]:
        live = self._parts.roster.get(endpoint)
        variants = () if live is None else [pool.variant for pool in live.every_pool if pool.variant.direct]
        return tuple(dict.fromkeys(container.name for variant in variants for container in variant.containers))

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        """Start the parts, and end each of them afterwards, the last one first, whatever another raises."""
        parts = self._parts
        async with AsyncExitStack() as closing:
            for part in (parts.account, parts.async_queue, parts.ledger):
                closing.callback(part.close)
            closing.push_async_callback(parts.router.close)
            closing.push_async_callback(parts.warm_parent.close)
            closing.push_async_callback(parts.local_host.close)
            if parts.host is not parts.local_host:
                closing.push_async_callback(parts.host.close)
            stop = partial(parts.controller.close, detach=self._options.keep_instances)
            for close in (parts.jobs.close, stop, parts.components.close, parts.dispatcher.close):
                closing.push_async_callback(close_within, close, STOP_S)
            closing.callback(parts.heartbeat.call)
            if parts.account.was_open:
                await asyncio.to_thread(close_all, parts.folders.root)
            if parts.role_parts is not None and parts.role_parts.apart is not None:
                closing.push_async_callback(parts.role_parts.apart.close)
                await parts.role_parts.apart.start()
            if parts.account.log_copies is not None:  # a pod that is adopted goes on with its log
                await asyncio.to_thread(parts.account.log_copies.restore)
            await parts.launching.open(await asyncio.to_thread(served_variants, parts.store))
            closing.push_async_callback(parts.versions.close)
            await parts.versions.start()
            await parts.controller.start()
            await parts.components.start()
            await parts.versions.catch_up()
            parts.serving.set()
            await parts.jobs.start()
            await parts.dispatcher.start()
            tasks = [
                asyncio.create_task(repeated(name, chore, parts.clock.pause_of(name)))
                for name, chore in self._chores.runs().items()
            ]
            closing.push_async_callback(_cancel, tasks)
            closing.callback(parts.tables.close)
            if self._options.grpc_port is not None:
                await closing.enter_async_context(self._grpc(self._options.grpc_port))
            yield

    def _grpc(self, port: int) -> AbstractAsyncContextManager[None]:
        from torpor_endpoint.faces.grpc_face.grpc_server import grpc_served

        options, app = self._options, self._outermost
        assert app is not None, "it is made before it runs"
        certificate, key = options.tls_cert, options.tls_key
        files = None if certificate is None or key is None else (certificate, key)
        return grpc_served(app, options.host, port, files)


def own_hosts_of(options: Options, machine: str) -> OwnHosts:
    """The addresses and names of this endpoint on a machine of this name, and the web pages that may call it."""
    scheme = "https" if options.tls else "http"
    return own_hosts((options.host or "0.0.0.0",), options.called_as, options.allow_origins, machine, scheme)


async def _cancel(tasks: Sequence["asyncio.Task[None]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
