"""Makes the parts of an endpoint, each from the parts before it: real clocks, host, client and stores are made here."""

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from torpor_account.account import AccountSurroundings, compose
from torpor_account.cloudwatch.alarms.alarm_record import Alarm, StateChange
from torpor_account.event_queue import EventQueue
from torpor_account.s3.access.embedded import Storage, as_endpoint
from torpor_container.processes.zygote_client import OwnedZygote
from torpor_endpoint.clocks.clock import EndpointClock, RealClock
from torpor_endpoint.clocks.travelling import TravellingClock
from torpor_endpoint.core import emulation
from torpor_endpoint.core.components.component_records import ComponentRecord
from torpor_endpoint.core.components.component_variants import GENERATIONS, copies_name
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.memory_shares import MemoryPlan
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.core.warm_steps import is_kept
from torpor_endpoint.fleet.collector import Collector, Wanted
from torpor_endpoint.fleet.components.component_controller import ComponentController
from torpor_endpoint.fleet.controller import Controller
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory, without_sharing
from torpor_endpoint.fleet.readings import Readings
from torpor_endpoint.fleet.rollouts.rollout_warming import warmed
from torpor_endpoint.host import Host
from torpor_endpoint.host.chosen_host import chosen_host
from torpor_endpoint.host.disks import Disks
from torpor_endpoint.host.launch import launch_spec, memory_plan
from torpor_endpoint.host.launch_names import deployment_digest
from torpor_endpoint.host.local import LocalHost
from torpor_endpoint.host.missing_device import missing_device
from torpor_endpoint.host.warm_parent import WarmParent
from torpor_endpoint.in_service.served_endpoints import machine_digest
from torpor_endpoint.ledger.heartbeat import LedgerHeartbeat
from torpor_endpoint.ledger.ledger_schema import LEDGER
from torpor_endpoint.ledger.row_collecting import Ledger
from torpor_endpoint.options import LOCAL, Options
from torpor_endpoint.routing.control.publishing import TablePublisher
from torpor_endpoint.routing.control.router_board import RouterBoard
from torpor_endpoint.runtime.app import AccountAndRegion
from torpor_endpoint.runtime.asynchronous.async_queue import ASYNC_REQUESTS, AsyncQueue
from torpor_endpoint.runtime.asynchronous.composed_dispatcher import AsyncSite, composed_dispatcher
from torpor_endpoint.runtime.capture.files import CaptureFile
from torpor_endpoint.runtime.composed_router import ComposedRouter, RouterSite
from torpor_endpoint.runtime.observing.meter import Meters
from torpor_endpoint.services.autoscaling.acting.scalable_variants import refusal
from torpor_endpoint.services.autoscaling.context import Autoscaling
from torpor_endpoint.services.late_jobs import LateJobs
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.deployments.state_events import EndpointStateEvents
from torpor_endpoint.services.sagemaker.experiments.context import Experimenting
from torpor_endpoint.services.sagemaker.experiments.experiment_records import Experiments
from torpor_endpoint.services.sagemaker.registry.package_events import PackageStateEvents
from torpor_endpoint.services.sagemaker.registry.prefix_feeding import FeedingSite, PrefixFeeding
from torpor_endpoint.shared_surroundings import surroundings_of
from torpor_endpoint.storage.schema import RECORDS
from torpor_endpoint.storage.store import Store
from torpor_endpoint.telemetry.access_log import AccessLog
from torpor_endpoint.telemetry.environment import signals
from torpor_endpoint.version_parts import VersionParts, VersionSite

if TYPE_CHECKING:
    from torpor_endpoint.faults.injector import FaultInjector
    from torpor_endpoint.peers.deployment_peers import DeploymentPeers
    from torpor_endpoint.peers.handing_rounds import HandingRounds
    from torpor_endpoint.role_parts import RoleParts
    from torpor_endpoint.services.job_parts import JobParts
    from torpor_endpoint.telemetry.telemetry_parts import Telemetry


class EndpointParts:
    """The parts of one endpoint, and what several of them do together.

    Making them locks and opens the data folder; `app.EndpointProcess` starts and ends them. Raises DataDirInUse,
    BadImages.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.named = AccountAndRegion(options.account, options.region, console=options.strict)
        self.clock: EndpointClock = TravellingClock() if options.travelling_clock else RealClock()
        epoch, pause_of = self.clock.epoch, self.clock.pause_of
        self.faults = self._injector() if options.faults else None
        # the account, with what it asks of the parts that come after it
        asked = (self._ahead_s, self._scale, self.refresh_metrics, self._growing_logs, self._in_service)
        around = AccountSurroundings(RECORDS, epoch, *asked)
        self.account = compose(options, around)
        self.folders = self.account.folders
        self.surroundings = surroundings_of(options, self.folders, self._ahead_s)
        self.store = Store(self.account.database, epoch, lambda endpoint: self.state_events.changed(endpoint))
        self.role_parts = self._role_parts()
        self.as_role = as_endpoint if self.role_parts is None else self.role_parts.as_role
        if self.role_parts is not None and self.role_parts.apart is not None:
            self.surroundings = replace(self.surroundings, script_ports=(self.role_parts.apart.port,))
        # the host
        start = partial(OwnedZygote.start, forgotten=self.surroundings.forgotten)
        self.warm_parent = WarmParent(self.folders.sockets, start, guesses=is_kept(options.warm_idle_s))
        self.local_host = LocalHost(self.folders.sockets, Disks(self.folders.instances), self.warm_parent)
        self._secret = b"" if options.instances_on == LOCAL else self.account.deployment_secret()
        self.peers = self._peers() if options.encrypts else None
        self.host = chosen_host(options, self.folders, self._secret, self.local_host, self.peers)
        self.handing = None if self.peers is None else _handing(self, self.peers)
        self.launching: Host = self.host if self.role_parts is None else self.role_parts.signing(self.host)
        # metrics and the ledger
        self.tables = TablePublisher(lambda: self.roster, token_hex(8))
        self.roster = FleetRoster(self.tables.changed)
        self.event_queue = EventQueue(self.account.event_bus)
        self.state_events = EndpointStateEvents(self.event_queue, self.roster)
        self.serving = asyncio.Event()  # set once the roster has every endpoint in service
        registry = self.account.registry
        self.meters = Meters(registry, self.roster.placed_on)
        self.ledger = Ledger(self.account.opened(LEDGER), epoch, pause=pause_of("ledger"))
        expecting = self.ledger.had_routers
        self.routers = RouterBoard(lambda: self.roster, self.tables, self.clock.steady, self.account.rates, expecting)
        self.readings = Readings()
        self.collector = Collector(
            self.roster, registry, epoch, self.ledger.looked, pause_of("collector"), self.readings
        )
        self.telemetry = self._telemetry() if options.otel else None
        self.router = self._router()
        self.heartbeat = LedgerHeartbeat(self.roster, self.ledger.served, pause_of("heartbeat"))
        # requests
        self.async_queue = AsyncQueue(self.account.opened(ASYNC_REQUESTS), epoch)
        self.dispatcher = composed_dispatcher(_async_site(self))
        # the fleet
        self.versions = _versions(self)
        self.feeding = _feeding(self)
        launching = self._launching()
        factory = self._factory(launching)
        self.controller = _controller(self, factory, self._endpoint_deleted)
        self.components = _components(self, factory)
        # the services
        self.jobs = LateJobs(self.account.database, partial(self._job_parts, launching))
        refused = refusal(self.store, strict=options.strict)
        self.autoscaling = Autoscaling(self.account.database, self.store, epoch, refused)
        self.experiments = Experiments(self.account.database)
        self.experimenting = Experimenting(self.control(), self.experiments)

    @property
    def _memory_plan(self) -> Callable[[Variant], MemoryPlan | None]:
        """Containers of an instance share its memory on this machine alone: elsewhere each is held to its own limit."""
        return memory_plan if self.options.instances_on == LOCAL else without_sharing

    def _injector(self) -> "FaultInjector":
        from torpor_endpoint.faults.injector import FaultInjector

        return FaultInjector(self.clock.epoch)

    def _peers(self) -> "DeploymentPeers":
        from torpor_endpoint.peers.authority_keeping import AuthorityFile, AuthorityInDatabase
        from torpor_endpoint.peers.deployment_peers import DeploymentPeers

        own = self.options.database is None
        keeping = AuthorityFile(self.folders.peer_authority) if own else AuthorityInDatabase(self.account.database)
        return DeploymentPeers(keeping, deployment_digest(self._secret), time.time)

    def _role_parts(self) -> "RoleParts | None":
        """None where roles are names only."""
        directory = self.account.directory
        if directory is None or not self.options.uses_roles:
            return None
        from torpor_endpoint.role_parts import RoleParts

        return RoleParts(self.options, directory, self.account.objects)

    def _capture_store(self, file: CaptureFile) -> Storage:
        return self.as_role(self.account.storage, file.role, self.named.endpoint_arn(file.endpoint))

    def control(self) -> Control:
        """What the operations of SageMaker act on."""
        return Control(
            self.store,
            self.clock.epoch,
            self.options.strict,
            self.roster,
            self.controller.changed,
            self._is_tagged,
            self.surroundings.images,
            self.autoscaling.scaled,
            self.dispatcher.introduce,
            lambda name: self.account.alarms.get(name) is not None,
            None if self.role_parts is None else self.role_parts.model_data,
            self.roster.copy_counts,
            self.components.changed,
            PackageStateEvents(self.event_queue).changed,
            self.feeding,
        )

    def _is_tagged(self, arn: str) -> bool:
        """Whether a training job, a transform job or an inference experiment has this ARN."""
        return self.jobs.has(arn) or self.experiments.has(arn)

    async def _scale(self, alarm: Alarm, change: StateChange) -> None:
        await self.autoscaling.fired(alarm, change)

    async def refresh_metrics(self) -> None:
        """Bring the metrics up to date before they are read."""
        self.router.settle()
        self.dispatcher.put_levels()
        await self.collector.refresh()

    async def refresh_some(self, wanted: Wanted) -> None:
        """Bring the metrics up to date, those of instances only where they are wanted."""
        self.router.observers.settle()
        self.dispatcher.put_levels()
        await self.collector.refresh(wanted)

    async def flush_ledger(self) -> None:
        """Bring the ledger's file up to date before it is read."""
        self.router.observers.settle()
        await self.ledger.flush()

    async def _endpoint_deleted(self, name: str) -> None:
        """Remove the instances' disks. Metrics and logs stay, as on AWS."""
        self.router.observers.settle()
        await self.router.capturing.flush(name)
        await self.dispatcher.deleted(name)
        await self.components.endpoint_deleted(name)
        await self.versions.labels.forget(name)
        self.meters.forget(name)
        await asyncio.to_thread(self.autoscaling.forget, name)
        await self.host.vacate(name)

    def _instance_changed(self, life: InstanceLife) -> None:
        """Record that an instance has begun, is ready, or has ended."""
        self.ledger.lived(life)
        self.readings.lived(life)
        if life.size.startswith("serverless") and life.ready_s is not None and life.stopped_s is None:
            self.meters.set_up(life.endpoint, life.variant, life.ready_s - life.started_s, life.ready_s)

    def _in_service(self) -> int:
        return len(self.roster)

    def _growing_logs(self) -> set[Path]:
        """The logs that a running process still writes."""
        return {launched.log for launched in self.host.list() if launched.log is not None} | self.jobs.writing()

    def _launching(self) -> InstanceFactory:
        """How instances are launched, of endpoints and of transform jobs."""
        return InstanceFactory(
            self.launching,
            partial(launch_spec, around=self.surroundings),
            self.clock.epoch,
            images=self.surroundings.images,
            memory_plan=self._memory_plan,
            digest=partial(machine_digest, key=self._secret + (b"" if self.peers is None else b"\0TLS")),
        )

    def _factory(self, launching: InstanceFactory) -> InstanceFactory:
        """What launches the instances of endpoints, and whom it tells of them."""
        dice = random.Random(self.options.seed)

        def start_delay_s(variant: Variant) -> float:
            return emulation.start_delay_s(self.options.emulate, variant.serverless is not None, lambda: dice.gauss())

        return replace(
            launching,
            lived=self._instance_changed,
            set_up=self.ledger.set_up,
            farewell=self.collector.farewell,
            start_delay_s=start_delay_s,
            vacated=self.host.vacate,
            updating=self.router.observers.settle,  # what has ended counts for the fleet before
            changed=self.tables.changed,
            others=self.routers,
            fault=self.versions.prepared(partial(_fault, self), self.feeding.bring),
            named=self.versions.joined,
        )

    def _job_parts(self, launching: InstanceFactory) -> "JobParts":
        from torpor_endpoint.composed_jobs import composed_jobs

        return composed_jobs(self, launching)

    def _router(self) -> ComposedRouter:
        """What answers invocations at the endpoint's own port."""
        options = self.options
        site = RouterSite(
            roster=self.roster,
            account=self.named,
            strict=options.strict,
            ledger=self.ledger,
            meters=self.meters,
            capture_store=self._capture_store,
            seed=options.seed,
            tracer=self.telemetry,
            access_log=AccessLog() if options.log_format == "json" else None,
            epoch=self.clock.epoch,
            idle_clock=self.clock.steady,
        )
        if self.faults is None:
            return ComposedRouter(site)
        from torpor_endpoint.faults.routing import faulty_steps

        return ComposedRouter(site, partial(faulty_steps, self.faults, self.local_host))

    def _telemetry(self) -> "Telemetry":
        """Raises BadTelemetry."""
        from torpor_endpoint.telemetry.telemetry_parts import MetricSources, Telemetry

        sources = MetricSources(self.account.registry, self.roster, self.refresh_metrics)
        return Telemetry(signals(os.environ), sources, self.meters.untraced)

    def _ahead_s(self) -> float:
        """How far the endpoint's clock is ahead of real time."""
        return self.clock.ahead_s if isinstance(self.clock, TravellingClock) else 0.0


def _handing(parts: EndpointParts, peers: "DeploymentPeers") -> "HandingRounds":
    from torpor_endpoint.peers.handing_rounds import HandingRounds

    return HandingRounds(peers, lambda: [one.address for one in parts.host.list()])


def _async_site(parts: EndpointParts) -> AsyncSite:
    return AsyncSite(
        queue=parts.async_queue,
        roster=parts.roster,
        router=parts.router,
        storage=parts.account.storage,
        as_role=parts.as_role,
        topics=parts.account.topics,
        registry=parts.account.registry,
        folders=parts.folders,
        noted=parts.account.log_marks.noted,
        account=parts.named,
        epoch=parts.clock.epoch,
    )


def _versions(parts: EndpointParts) -> VersionParts:
    arn_of, changed, applied = parts.named.endpoint_arn, parts.tables.changed, parts.routers.applied
    known = parts.roster, parts.account, parts.as_role, arn_of, parts.clock, changed, applied
    return VersionParts(VersionSite(*known, parts.ledger.stepped))


def _feeding(parts: EndpointParts) -> PrefixFeeding:
    site = FeedingSite(parts.store, parts.account.storage, parts.as_role, parts.versions.told, parts.clock.epoch)
    return PrefixFeeding(site)


def _controller(
    parts: EndpointParts, factory: InstanceFactory, deleted: Callable[[str], Awaitable[None]]
) -> Controller:
    return Controller(
        parts.store,
        parts.roster,
        factory,
        parts.clock.epoch,
        deleted,
        alarms_on=parts.account.alarms.going_off,
        warm=warmed,
        pace=parts.options.time_scale,
    )


def _components(parts: EndpointParts, factory: InstanceFactory) -> ComponentController:
    """What runs the inference components of all endpoints."""

    async def deleted(component: ComponentRecord) -> None:
        await parts.dispatcher.component_deleted(component.endpoint_name, component.name)
        for generation in GENERATIONS:
            parts.meters.forget(component.endpoint_name, copies_name(component.name, generation))
        await asyncio.to_thread(parts.autoscaling.forget_component, component.name)

    return ComponentController(
        parts.store,
        parts.roster,
        factory,
        parts.clock.epoch,
        deleted,
        parts.controller.resized,
        parts.options.strict,
        alarms_on=parts.account.alarms.going_off,
        pace=parts.options.time_scale,
    )


async def _fault(parts: EndpointParts, variant: Variant, endpoint_arn: str) -> str | None:
    """As `InstanceFactory.fault`. On other machines it is their scheduler that says whether a device is there."""
    refused = None if parts.role_parts is None else await parts.role_parts.fault(variant, endpoint_arn)
    if refused is None and parts.options.instances_on == LOCAL:
        refused = await missing_device(variant, partial(launch_spec, around=parts.surroundings))
    return refused
