"""The process of one router, composed: it answers the runtime API, follows the control, and owns no instance."""

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from secrets import token_hex
from urllib.parse import urlsplit

from torpor_account.access.denial_notes import DenialNotes
from torpor_account.access.throttling import Throttle
from torpor_account.access.verifying import AccessClocks, Verifier
from torpor_account.aws.calls import Unanswered
from torpor_account.aws.lazy import LazyApp
from torpor_account.aws.wire.asgi import App, AwsRequest, Response
from torpor_account.core.access.rates import CallRates
from torpor_account.core.origins.cross_origin import is_loopback, own_hosts
from torpor_account.gateway import Gateway
from torpor_account.web_pages import WebPages
from torpor_endpoint.access.invocations import InvocationDoor
from torpor_endpoint.clocks.repeating import repeated
from torpor_endpoint.pages.lifespan import Lifespan
from torpor_endpoint.routing.protocol.facts import ControlFacts
from torpor_endpoint.routing.protocol.identities import Identities
from torpor_endpoint.routing.router.capture_stores import CaptureStores
from torpor_endpoint.routing.router.control_client import ControlAway, ControlClient
from torpor_endpoint.routing.router.followed_identities import FollowedIdentities
from torpor_endpoint.routing.router.following import FollowedRoster, TableFollower
from torpor_endpoint.routing.router.forwarding import AtOnePort, ForwardedAsync
from torpor_endpoint.routing.router.proving.router_proof import RouterProof
from torpor_endpoint.routing.router.reports.pending_accounts import DenialRows, LedgerRows, MeterRows, PendingAccounts
from torpor_endpoint.routing.router.reports.reporting import Reporting
from torpor_endpoint.routing.router.router_door import RouterDoor
from torpor_endpoint.routing.router.router_options import RouterOptions
from torpor_endpoint.routing.router.router_page import RouterPages
from torpor_endpoint.runtime.app import AccountAndRegion, RuntimeApp
from torpor_endpoint.runtime.composed_router import ComposedRouter, RouterSite, Steps, Tracer, close_within, plain_steps
from torpor_endpoint.services.service_register import ADDRESSES, RUNTIME
from torpor_endpoint.telemetry.access_log import AccessLog
from torpor_endpoint.telemetry.environment import signals

FIRST_TABLE_S = 5.0
"""How long a router waits for its first table before it answers that it knows no endpoint."""
FINISH_S = 2.0
"""How long its last report may take."""
ELSEWHERE = "This is a router, which answers invocations alone. Call {operation} of {service} at the control: {url}"


class RouterProcess:
    """`facts` are what the control said of itself, and `callers` who may call: None if it verifies nobody."""

    def __init__(
        self,
        options: RouterOptions,
        facts: ControlFacts,
        control: ControlClient,
        callers: tuple[str, Identities] | None = None,
    ) -> None:
        self._options = options
        self._facts = facts
        self._control = control
        self._name = f"r-{token_hex(8)}"
        self._roster = FollowedRoster()
        self._identities = None if callers is None else FollowedIdentities(control, *callers, facts.account, time.time)
        self._accounts = PendingAccounts()
        self._rates = CallRates.read(facts.rate_limits)
        self._rates.shared_by(0)  # until the control says by how many
        self._router = ComposedRouter(self._site(), _steps(options))
        self._guarded: App | None = None
        self._known = asyncio.Event()
        self._proof = _proof(self._name, control, options, facts) if facts.encrypts else None
        self._follower = TableFollower(control, self._roster, applied=self._table_came)
        self._reporting = Reporting(
            self._name,
            control,
            self._follower,
            self._roster,
            self._accounts,
            self._rates,
            time.perf_counter,
            self._router.settle,
        )

    def _table_came(self) -> None:
        self._known.set()
        self._reporting.hurry()

    def _site(self) -> RouterSite:
        """Raises BadTelemetry."""
        options, facts, meters = self._options, self._facts, MeterRows(self._accounts)
        return RouterSite(
            roster=self._roster,
            account=AccountAndRegion(facts.account, facts.region, console=facts.strict),
            strict=facts.strict,
            ledger=LedgerRows(self._accounts),
            meters=meters,
            capture_store=CaptureStores(facts, self._control, time.time).of,
            seed=options.seed,
            tracer=_tracer(meters) if options.otel else None,
            access_log=AccessLog() if options.log_format == "json" else None,
        )

    def app(self) -> WebPages | AtOnePort:
        """The outermost application: refuses foreign web pages, and hands all else to the gateway."""
        options, facts = self._options, self._facts
        runtime = self._router.app(ForwardedAsync(self._control))
        health = {"status": "ok", "role": "router", "region": facts.region, "account": facts.account}
        health |= {"auth": "on"} if facts.auth else {}
        pages = RouterPages(self._name, self._control.url, self._follower, self._roster, self._accounts, self._rates)
        lifespan = Lifespan(self._running, health, pages.app())
        services: Mapping[str, App] = {RUNTIME: runtime, "s3": LazyApp(partial(_no_objects, self._control.url))}
        gateway = Gateway(services, lifespan, facts.account, ADDRESSES, self._elsewhere, {RUNTIME: runtime.inline})
        guarded = gateway if self._identities is None else self._door(gateway, runtime, self._identities)
        self._guarded = guarded
        hosts, scheme = (options.host or "0.0.0.0",), "https" if options.tls else "http"
        own = own_hosts(hosts, options.allow_hosts, options.allow_origins, socket.gethostname(), scheme)
        app = WebPages(guarded, own, {})
        return app if options.shared is None else AtOnePort(app, gateway.service_named)

    def _door(self, gateway: Gateway, runtime: RuntimeApp, identities: FollowedIdentities) -> RouterDoor:
        clocks = AccessClocks(time.time, time.time)
        facts, directory = self._facts, identities.directory
        verifier = Verifier(directory, clocks, facts.account, facts.region, identities.tags.of)
        throttle = Throttle(self._rates)
        invocations = InvocationDoor(verifier, runtime.inline, throttle)
        denied = DenialNotes(DenialRows(self._accounts, time.time).keep)
        return RouterDoor(gateway, verifier, invocations, throttle, identities, denied)

    async def _elsewhere(self, service: str, operation: str, request: AwsRequest) -> Response:
        """An `Otherwise`: no other service is here."""
        raise Unanswered(ELSEWHERE.format(service=service, operation=operation, url=self._control.url))

    def _chores(self) -> dict[str, Callable[[], Awaitable[None]]]:
        """What each chore does for ever, by its name."""
        return {
            "routing table": self._follower.run,
            "reports": self._reporting.run,
            "shares": self._reporting.keep_shares,
            "data capture": self._router.capturing.run,
            **({} if self._proof is None else {"certificate": self._proof.run}),
            **({} if self._identities is None else {"identities": self._identities.run}),
        }

    def _pickers(self, port: int) -> AbstractAsyncContextManager[None]:
        from torpor_endpoint.routing.picker.picker_server import picker_served

        options = self._options
        assert self._guarded is not None, "it is made before it runs"
        certificate, key = options.tls_cert, options.tls_key
        files = None if certificate is None or key is None else (certificate, key)
        return picker_served(self._guarded, options.host, port, files, self._known)

    async def _last_report(self) -> None:
        with suppress(ControlAway):
            await self._reporting.finish()

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as closing:
            closing.callback(self._control.close)
            closing.push_async_callback(close_within, self._last_report, FINISH_S)
            closing.push_async_callback(self._router.close)
            with suppress(ControlAway):
                if self._proof is not None:
                    await self._proof.look()
                table = await self._control.table(None, FIRST_TABLE_S)
                if table is not None:
                    self._follower.apply(table)
                await self._reporting.report()  # its answer has the shares of what several routers share
            closing.callback(self._follower.close)
            tasks = [asyncio.create_task(repeated(name, run, asyncio.sleep)) for name, run in self._chores().items()]
            closing.push_async_callback(_ended, tasks)
            if self._options.picker_port is not None:
                await closing.enter_async_context(self._pickers(self._options.picker_port))
            yield


def _proof(name: str, control: ControlClient, options: RouterOptions, facts: ControlFacts) -> RouterProof:
    """A control on this machine is called without TLS: nothing of that travels."""
    called = urlsplit(options.control)
    elsewhere = options.shared is None and called.scheme == "http" and not is_loopback(called.hostname or "")
    return RouterProof(name, control, time.time, secures=facts.takes_certificates and elsewhere)


def _steps(options: RouterOptions) -> Steps:
    """Makes the steps that decide and send."""
    if options.picker_port is None:
        return plain_steps
    from torpor_endpoint.routing.picker.picking_sender import picking_steps

    return picking_steps


def _tracer(meters: MeterRows) -> Tracer:
    """Raises BadTelemetry."""
    from torpor_endpoint.telemetry.telemetry_parts import Telemetry

    return Telemetry(signals(os.environ), None, meters.untraced)


def _no_objects(url: str) -> App:
    """S3 at a router, which has no objects."""
    from torpor_account.s3.edge import refusing_with
    from torpor_account.s3.errors import Refusal, S3Error

    text = f"This is a router, which answers invocations alone. Call S3 at the control: {url}"
    return refusing_with(lambda: S3Error(Refusal.NotImplemented, text))


async def _ended(tasks: "list[asyncio.Task[None]]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
