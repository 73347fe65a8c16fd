"""The process of one router, composed: it answers the runtime API, follows the control, and owns no instance."""

import asyncio
import os
import random
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING

from torpor_endpoint.access.invocations import InvocationDoor
from torpor_endpoint.access.throttling import Throttle
from torpor_endpoint.access.verifying import AccessClocks, Verifier
from torpor_endpoint.aws.calls import Unanswered
from torpor_endpoint.aws.lazy import LazyApp
from torpor_endpoint.aws.wire.asgi import App, AwsRequest, Response
from torpor_endpoint.clocks.repeating import repeated
from torpor_endpoint.core.access.rates import CallRates
from torpor_endpoint.core.origins.cross_origin import own_hosts
from torpor_endpoint.gateway import Gateway
from torpor_endpoint.pages.lifespan import Lifespan
from torpor_endpoint.routing.protocol.accounts import LedgerRows, MeterRows, PendingAccounts
from torpor_endpoint.routing.protocol.facts import ControlFacts
from torpor_endpoint.routing.protocol.identities import Identities
from torpor_endpoint.routing.router.capture_stores import CaptureStores
from torpor_endpoint.routing.router.control_client import ControlAway, ControlClient
from torpor_endpoint.routing.router.followed_identities import FollowedIdentities
from torpor_endpoint.routing.router.following import FollowedRoster, TableFollower
from torpor_endpoint.routing.router.forwarding import ForwardedAsync
from torpor_endpoint.routing.router.options import RouterOptions
from torpor_endpoint.routing.router.reporting import Reporting
from torpor_endpoint.routing.router.router_door import RouterDoor
from torpor_endpoint.routing.router.router_page import RouterPages
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.app import AccountAndRegion, Clocks, RuntimeApp
from torpor_endpoint.runtime.capture.capturing import Capturing
from torpor_endpoint.runtime.capture.observer import CaptureObserver
from torpor_endpoint.runtime.observing.ledger_observer import LedgerObserver
from torpor_endpoint.runtime.observing.metrics_observer import MetricsObserver
from torpor_endpoint.runtime.observing.observers import BatchObserver, Observers
from torpor_endpoint.runtime.sending import RequestSender
from torpor_endpoint.runtime.shadowing import Shadowing
from torpor_endpoint.services.registry import ADDRESSES, RUNTIME
from torpor_endpoint.storage.lone_thread import LoneThread
from torpor_endpoint.telemetry.access_log import AccessLog
from torpor_endpoint.telemetry.environment import signals
from torpor_endpoint.web_pages import WebPages

if TYPE_CHECKING:
    from torpor_endpoint.telemetry.composing import Telemetry

FIRST_TABLE_S = 5.0
"""How long a router waits for its first table before it answers that it knows no endpoint."""
FINISH_S = 2.0
"""How long its last report may take."""
CAPTURE_STOP_S = 5.0
TELEMETRY_STOP_S = 1.0
"""How long the last spans may take to reach the collector."""
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
        self._meters = MeterRows(self._accounts)
        self._capturing = Capturing(
            CaptureStores(facts, control, time.time).of,
            LoneThread("data capture"),
            time.monotonic,
            self._meters.captured,
        )
        self._rates = CallRates.read(facts.rate_limits)
        self._rates.shared_by(0)  # until the control says by how many
        self._telemetry = self._traced() if options.otel else None
        self._observers = self._observed()
        self._follower = TableFollower(control, self._roster, applied=lambda: self._reporting.hurry())
        self._reporting = Reporting(
            self._name,
            control,
            self._follower,
            self._roster,
            self._accounts,
            self._rates,
            time.perf_counter,
            self._settle,
        )

    def app(self) -> WebPages:
        """The outermost application: refuses foreign web pages, and hands all else to the gateway."""
        options, facts, runtime = self._options, self._facts, self._runtime()
        health = {"status": "ok", "role": "router", "region": facts.region, "account": facts.account}
        health |= {"auth": "on"} if facts.auth else {}
        pages = RouterPages(self._name, self._control.url, self._follower, self._roster, self._accounts, self._rates)
        lifespan = Lifespan(self._running, health, pages.app())
        services: Mapping[str, App] = {RUNTIME: runtime, "s3": LazyApp(partial(_no_objects, self._control.url))}
        gateway = Gateway(services, lifespan, facts.account, ADDRESSES, self._elsewhere, {RUNTIME: runtime.take_inline})
        guarded = gateway if self._identities is None else self._door(gateway, runtime, self._identities)
        hosts, scheme = (options.host or "0.0.0.0",), "https" if options.tls else "http"
        own = own_hosts(hosts, options.allow_hosts, options.allow_origins, socket.gethostname(), scheme)
        return WebPages(guarded, own, {})

    def _door(self, gateway: Gateway, runtime: RuntimeApp, identities: FollowedIdentities) -> RouterDoor:
        clocks = AccessClocks(time.time, time.time)
        facts, directory = self._facts, identities.directory
        verifier = Verifier(directory, clocks, facts.account, facts.region, identities.tags.of)
        throttle = Throttle(self._rates)
        invocations = InvocationDoor(verifier, runtime.take_inline, throttle)
        return RouterDoor(gateway, verifier, invocations, throttle, identities)

    def _runtime(self) -> RuntimeApp:
        facts, draw = self._facts, random.Random(self._options.seed).random
        router = Router(self._roster, draw, facts.strict)
        sender = RequestSender(time.perf_counter, facts.strict)
        return RuntimeApp(
            router,
            sender,
            self._observers,
            AccountAndRegion(facts.account, facts.region, console=facts.strict),
            Clocks(time.time, time.perf_counter),
            shadowing=Shadowing(router, sender, time.perf_counter, draw, self._meters.dropped),
            trace=None if self._telemetry is None else self._telemetry.begin,
            asynchronous=ForwardedAsync(self._control),
        )

    def _traced(self) -> "Telemetry":
        """Raises BadTelemetry."""
        from torpor_endpoint.telemetry.composing import Telemetry

        return Telemetry(signals(os.environ), None, self._meters.untraced)

    def _settle(self) -> None:
        """Count the requests that ended lately, and those whose spans are lost."""
        self._observers.settle()
        if self._telemetry is not None:
            self._telemetry.settle()

    def _observed(self) -> Observers:
        batch: list[BatchObserver] = [LedgerObserver(LedgerRows(self._accounts)), MetricsObserver(self._meters)]
        if self._telemetry is not None:
            batch.extend(self._telemetry.observers)
        if self._options.log_format == "json":
            batch.append(AccessLog())
        draw = random.Random(self._options.seed).random
        return Observers(batch, [CaptureObserver(draw, self._capturing.backlog.add, self._capturing.missed)])

    async def _elsewhere(self, service: str, operation: str, request: AwsRequest) -> Response:
        """An `Otherwise`: no other service is here."""
        raise Unanswered(ELSEWHERE.format(service=service, operation=operation, url=self._control.url))

    def _chores(self) -> dict[str, Callable[[], Awaitable[None]]]:
        """What each chore does for ever, by its name."""
        return {
            "routing table": self._follower.run,
            "reports": self._reporting.run,
            "shares": self._reporting.keep_shares,
            "data capture": self._capturing.run,
            **({} if self._identities is None else {"identities": self._identities.run}),
        }

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as closing:
            closing.callback(self._control.close)
            closing.push_async_callback(_within, FINISH_S, self._reporting.finish)
            if self._telemetry is not None:
                closing.push_async_callback(_within, TELEMETRY_STOP_S, self._telemetry.close)
            closing.push_async_callback(_within, CAPTURE_STOP_S, self._capturing.close)
            closing.callback(self._observers.settle)
            with suppress(ControlAway):
                table = await self._control.table(None, FIRST_TABLE_S)
                if table is not None:
                    self._follower.apply(table)
                await self._reporting.report()  # its answer has the shares of what several routers share
            closing.callback(self._follower.close)
            tasks = [asyncio.create_task(repeated(name, run, asyncio.sleep)) for name, run in self._chores().items()]
            closing.push_async_callback(_ended, tasks)
            yield


def _no_objects(url: str) -> App:
    """S3 at a router, which has no objects."""
    from torpor_endpoint.services.s3.edge import refusing_with
    from torpor_endpoint.services.s3.errors import Refusal, S3Error

    text = f"This is a router, which answers invocations alone. Call S3 at the control: {url}"
    return refusing_with(lambda: S3Error(Refusal.NotImplemented, text))


async def _within(within_s: float, close: Callable[[], Awaitable[None]]) -> None:
    """Close a part, and stop waiting after so long."""
    with suppress(TimeoutError, ControlAway):
        async with asyncio.timeout(within_s):
            await close()


async def _ended(tasks: "list[asyncio.Task[None]]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
