"""The ASGI applications behind the one port, made of an endpoint's parts: one for each AWS service, and Torpor's pages.

Most are made when their first request comes: an endpoint that only answers invocations never imports the others.
"""

import asyncio
import random
import time
from functools import partial
from typing import TYPE_CHECKING

from torpor_endpoint.aws.lazy import LazyApp
from torpor_endpoint.aws.wire.asgi import App
from torpor_endpoint.chores import Chores
from torpor_endpoint.clocks.travelling import TravellingClock
from torpor_endpoint.parts import Parts
from torpor_endpoint.services.parts import ServiceParts
from torpor_endpoint.services.registry import RUNTIME, SERVICES
from torpor_endpoint.services.runtime.app import AccountAndRegion, Clocks, RuntimeApp
from torpor_endpoint.services.runtime.router import Router
from torpor_endpoint.services.runtime.sending import RequestSender
from torpor_endpoint.services.runtime.shadowing import Shadowing

if TYPE_CHECKING:
    from torpor_endpoint.ledger.reading import LedgerReader
    from torpor_endpoint.pages.clock import ClockPage
    from torpor_endpoint.pages.ledger import Pages


class ServiceApps:
    """Makes the applications of one endpoint."""

    def __init__(self, parts: Parts, chores: Chores) -> None:
        self._parts = parts
        self._chores = chores
        self._options = parts.options
        self.runtime = self._runtime()
        self._of_services = ServiceParts(
            options=parts.options,
            clock=parts.clock.epoch,
            database=parts.database,
            store=parts.store,
            objects=parts.objects,
            control=parts.control(),
            experimenting=parts.experimenting,
            jobs=parts.jobs,
            trainer=parts.trainer,
            transform_jobs=parts.transform_jobs,
            transforming=parts.transforming,
            autoscaling=parts.autoscaling,
            alarms=parts.alarms,
            logs=parts.logs,
            registry=parts.registry,
            refresh=parts.refresh_metrics,
            runtime=self.runtime,
            otherwise=parts.long_tail.answer,
        )

    def by_name(self) -> dict[str, App]:
        """The services by botocore's names."""
        services: dict[str, App] = {one.name: LazyApp(partial(one.compose, self._of_services)) for one in SERVICES}
        if self._parts.faults is not None:
            from torpor_endpoint.faults.store import FaultyStore

            services["s3"] = FaultyStore(services["s3"], self._parts.faults)
        services[RUNTIME] = self.runtime  # it is on the warm path: the gateway calls it without a step between
        return services

    def for_web_pages(self) -> dict[str, App]:
        """The services that allow web pages of other origins by rules of their own."""
        return {} if self._options.s3_endpoint is not None else {"s3": LazyApp(self._s3_cross_origin)}

    def pages(self) -> App:
        """Torpor's own pages."""
        from torpor_endpoint.pages.app import OwnPages

        parts = self._parts
        pages = OwnPages(
            parts.roster,
            parts.registry,
            parts.refresh_metrics,
            parts.folders.endpoint_logs,
            self._ledger_pages,
            self._clock_page(),
            parts.faults,
            parts.observers.settle,
        )
        return pages.app()

    def dashboard(self) -> App:
        """The dashboard."""
        from torpor_endpoint.dashboard.app import Dashboard
        from torpor_endpoint.dashboard.feed import Feed
        from torpor_endpoint.dashboard.looking import Looking
        from torpor_endpoint.dashboard.simulating import Simulating

        parts = self._parts
        cards = partial(asyncio.to_thread, parts.store.endpoint_cards)
        looking = Looking(parts.roster, cards, parts.registry, parts.readings, parts.refresh_some, parts.clock.epoch)
        simulating = Simulating(parts.options.what_if, parts.folders.ledger.resolve())
        feed = Feed(looking.look, looking.later, parts.clock.epoch)
        return Dashboard(feed, looking, self._ledger_reader(), parts.flush_ledger, simulating).app()

    def _runtime(self) -> RuntimeApp:
        router, sender = self._routing()
        shadowing = Shadowing(router, sender, time.perf_counter, random.random, self._parts.meters.dropped)
        account = AccountAndRegion(self._options.account, self._options.region, console=self._options.strict)
        clocks = Clocks(self._parts.clock.epoch, time.perf_counter)
        telemetry = self._parts.telemetry
        trace = None if telemetry is None else telemetry.begin
        return RuntimeApp(router, sender, self._parts.observers, account, clocks, shadowing=shadowing, trace=trace)

    def _routing(self) -> tuple[Router, RequestSender]:
        parts, strict, idle = self._parts, self._options.strict, self._parts.clock.steady
        if parts.faults is None:
            sender = RequestSender(time.perf_counter, strict, traffic_clock=idle)
            return Router(parts.roster, random.random, strict), sender
        from torpor_endpoint.faults.routing import FaultyRouter, FaultySender

        faulty = FaultySender(time.perf_counter, strict, traffic_clock=idle, injector=parts.faults, host=parts.host)
        return FaultyRouter(parts.roster, random.random, strict, parts.faults), faulty

    def _clock_page(self) -> "ClockPage | None":
        """None unless the clock travels."""
        clock = self._parts.clock
        if not isinstance(clock, TravellingClock):
            return None
        from torpor_endpoint.pages.clock import ClockPage

        return ClockPage(clock, partial(clock.travel, company=self._chores))

    def _ledger_pages(self) -> "Pages":
        from torpor_endpoint.pages.ledger import Pages

        return Pages(self._parts.flush_ledger, self._ledger_reader())

    def _ledger_reader(self) -> "LedgerReader":
        from torpor_endpoint.ledger.reading import LedgerReader

        return LedgerReader(self._parts.ledger.tables, self._parts.clock.epoch)

    def _s3_cross_origin(self) -> App:
        from torpor_endpoint.services.s3.service import compose_cross_origin

        return compose_cross_origin(self._of_services)
