"""Composes the endpoint: the real clock, host and stores are made here and handed down; nothing else makes its own."""

import asyncio
import logging
import os
import random
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from torpor_container.processes.zygote_client import OwnedZygote
from torpor_endpoint.aws.lazy import Late
from torpor_endpoint.aws.wire.asgi import App
from torpor_endpoint.core import emulation
from torpor_endpoint.core.autoscaling.delays import TimeScale
from torpor_endpoint.core.cross_origin import Ours, ours
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.fleet.collector import Collector
from torpor_endpoint.fleet.controller import Controller
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.roster import Fleet
from torpor_endpoint.fleet.sizer import Sizer
from torpor_endpoint.gateway import Gateway
from torpor_endpoint.host.disks import Disks
from torpor_endpoint.host.images import Images
from torpor_endpoint.host.launch import Surroundings, launch_spec
from torpor_endpoint.host.local import LocalHost
from torpor_endpoint.host.strays import end_strays
from torpor_endpoint.ledger.heartbeat import LedgerHeartbeat
from torpor_endpoint.ledger.keeping import Ledger
from torpor_endpoint.metrics.ageing import age
from torpor_endpoint.metrics.registry import MetricRegistry
from torpor_endpoint.options import Options
from torpor_endpoint.pages.lifespan import Lifespan
from torpor_endpoint.services.autoscaling.acting.rescaling import Rescaling
from torpor_endpoint.services.autoscaling.acting.scaler import Scaler, World
from torpor_endpoint.services.autoscaling.acting.tracking_alarms import judged_here
from torpor_endpoint.services.autoscaling.acting.variants import refusal
from torpor_endpoint.services.autoscaling.context import Autoscaling
from torpor_endpoint.services.cloudwatch.alarms.actions import alarm_actions
from torpor_endpoint.services.cloudwatch.alarms.keeping import Alarms
from torpor_endpoint.services.cloudwatch.alarms.watch import Watch
from torpor_endpoint.services.logs.files.book import Book
from torpor_endpoint.services.logs.files.gauge import LogGrowth
from torpor_endpoint.services.logs.files.groups import Groups
from torpor_endpoint.services.logs.files.reading import Logs
from torpor_endpoint.services.moto.longtail import LongTail
from torpor_endpoint.services.parts import ServiceParts
from torpor_endpoint.services.registry import SERVICES
from torpor_endpoint.services.runtime.app import AccountAndRegion, Clocks, RuntimeApp
from torpor_endpoint.services.runtime.ledger_observer import LedgerObserver
from torpor_endpoint.services.runtime.meter import Meters
from torpor_endpoint.services.runtime.metrics_observer import MetricsObserver
from torpor_endpoint.services.runtime.observers import Observers
from torpor_endpoint.services.runtime.router import Router
from torpor_endpoint.services.s3.store import ObjectStore
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.training.jobs import Jobs
from torpor_endpoint.services.training.running.storage import EmbeddedStorage, Storage
from torpor_endpoint.services.training.running.trainer import Trainer
from torpor_endpoint.services.training.running.workbench import JobSite
from torpor_endpoint.storage.data_dir import DataDir
from torpor_endpoint.storage.private import close_all, closed_to_others
from torpor_endpoint.storage.records import Variant
from torpor_endpoint.storage.schema import opened
from torpor_endpoint.storage.store import Store
from torpor_endpoint.web_pages import WebPages

if TYPE_CHECKING:
    from torpor_endpoint.pages.ledger import Pages

RUNTIME = "sagemaker-runtime"
STOP_S = 1.0
"""What a stop gives the instances of all endpoints to end by themselves."""

log = logging.getLogger(__name__)


class EndpointProcess:
    """Everything that one endpoint is made of. Raises DataDirInUse, BadImages."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._dir = DataDir(options.data_dir.resolve())
        self._lock = self._dir.lock()
        self._was_open = closed_to_others(self._dir.root)
        self._around = surroundings(options, self._dir)
        self._database = opened(self._dir.database)
        self._store = Store(self._database, time.time)
        self._objects = ObjectStore(self._dir.objects, clock=time.time)
        end_strays(str(self._dir.instances))  # of an endpoint that was killed
        self._host = LocalHost(self._dir.sockets, partial(OwnedZygote.start, forgotten=self._around.forgotten))
        self._fleet = Fleet()
        self._registry = MetricRegistry(time.time)
        self._meters = Meters(self._registry)
        self._ledger = Ledger(self._dir.ledger, time.time)
        self._collector = Collector(self._fleet, self._registry, time.time, self._ledger.looked)
        self._observers = Observers([LedgerObserver(self._ledger), MetricsObserver(self._meters)])
        self._roll = LedgerHeartbeat(self._fleet, self._ledger.served)
        self._controller = Controller(self._store, self._fleet, self._factory(), time.time, self._gone)
        self._jobs = Jobs(self._database, time.time)
        self._trainer = Trainer(self._jobs, self._ground(), at_once=os.cpu_count() or 1)
        self._tail = LongTail(options.account)
        refused = refusal(self._store, strict=options.strict)
        self._autoscaling = Autoscaling(self._database, self._store, time.time, refused)
        acting = alarm_actions(self._tail.answer, self._autoscaling.fired)
        self._alarms = Alarms(self._database, self._store, time.time, acting)
        groups = Groups(self._dir.endpoint_logs, self._dir.training_logs)
        self._logs = Logs(groups, Book(), self._store, time.time, self._writing)

    def app(self) -> WebPages:
        front = Lifespan(self._life, self._about, Late(self._own))
        runtime = self._runtime()
        parts = self._parts(runtime)
        at_once = {RUNTIME: runtime.take_inline}
        services: dict[str, App] = {one.name: Late(partial(one.compose, parts)) for one in SERVICES}
        services[RUNTIME] = runtime  # it is on the warm path: the gateway calls it without a step between
        gateway = Gateway(services, front, self._options.account, self._tail.answer, at_once)
        return WebPages(gateway, known_as(self._options, socket.gethostname()), self._excepted(parts))

    @property
    def _about(self) -> Mapping[str, str]:
        return {"status": "ok", "region": self._options.region, "account": self._options.account}

    def _parts(self, runtime: RuntimeApp) -> ServiceParts:
        """What the services in the registry are made of, each at its first call."""
        return ServiceParts(
            options=self._options,
            clock=time.time,
            database=self._database,
            store=self._store,
            objects=self._objects,
            control=self._control(),
            jobs=self._jobs,
            trainer=self._trainer,
            autoscaling=self._autoscaling,
            alarms=self._alarms,
            logs=self._logs,
            registry=self._registry,
            refresh=self._refresh,
            runtime=runtime,
            otherwise=self._tail.answer,
        )

    def _excepted(self, parts: ServiceParts) -> dict[str, App]:
        """The services that let in some pages of other origins."""

        def cross_origin() -> App:
            from torpor_endpoint.services.s3.service import compose_cross_origin

            return compose_cross_origin(parts)

        return {} if self._options.s3_endpoint is not None else {"s3": Late(cross_origin)}

    # -- its own pages ---------------------------------------------------------------------------------------------
    def _own(self) -> App:
        from torpor_endpoint.pages.app import OwnPages

        logs = self._dir.endpoint_logs
        return OwnPages(self._fleet, self._registry, self._refresh, logs, self._pages).app()

    def _pages(self) -> "Pages":
        from torpor_endpoint.ledger.reading import LedgerReader
        from torpor_endpoint.pages.ledger import Pages

        return Pages(self._written, LedgerReader(self._ledger.tables, time.time))

    # -- the parts -------------------------------------------------------------------------------------------------
    def _control(self) -> Control:
        changed, strict, scaled = self._controller.changed, self._options.strict, self._autoscaling.scaled
        return Control(
            self._store, time.time, strict, self._fleet, changed, self._jobs.has, self._around.images, scaled
        )

    def _scaler(self) -> Scaler:
        rescaling = Rescaling(self._fleet, self._control(), self._options.account, self._options.region)
        world = World(rescaling.load, self._registry, rescaling.apply)
        return Scaler(self._autoscaling, world, TimeScale(self._options.time_scale))

    def _runtime(self) -> RuntimeApp:
        router = Router(self._fleet, random.random, time.perf_counter, self._options.strict)
        account = AccountAndRegion(self._options.account, self._options.region, console=self._options.strict)
        clocks = Clocks(time.time, time.perf_counter)
        return RuntimeApp(router, self._observers, account, clocks)

    def _lived(self, life: InstanceLife) -> None:
        """An instance has begun, is ready, or has ended."""
        self._ledger.lived(life)
        if life.size.startswith("serverless") and life.ready_s is not None and life.stopped_s is None:
            self._meters.set_up(life.endpoint, life.variant, life.ready_s - life.started_s, life.ready_s)

    def _factory(self) -> InstanceFactory:
        dice = random.Random(self._options.seed)

        def start_delay_s(variant: Variant) -> float:
            return emulation.start_delay_s(self._options.emulate, variant.serverless is not None, lambda: dice.gauss())

        return InstanceFactory(
            self._host,
            partial(launch_spec, around=self._around),
            time.time,
            self._lived,
            self._collector.farewell,
            start_delay_s,
            self._around.images,
            vacated=self._around.disks.remove,
        )

    def _ground(self) -> JobSite:
        return JobSite(
            folder=self._dir.training,
            logs=self._dir.training_logs,
            storage=self._storage(),
            zygote=self._host.zygote,
            wiring=self._around.wiring,
            forgotten=self._around.forgotten,
            cpus=os.cpu_count() or 1,
            clock=time.time,
        )

    def _storage(self) -> Storage:
        if self._options.s3_endpoint is None:
            return EmbeddedStorage(self._objects)
        from torpor_endpoint.services.training.running.remote_storage import RemoteStorage

        return RemoteStorage.at(self._options.s3_endpoint, self._options.region)

    def _writing(self) -> set[Path]:
        """The logs that grow now."""
        return {launched.log for launched in self._host.list() if launched.log is not None} | self._trainer.writing

    async def _refresh(self) -> None:
        """What is read of the metrics then is up to date."""
        self._observers.settle()
        await self._collector.refresh()

    async def _written(self) -> None:
        """What is read of the ledger then is up to date."""
        self._observers.settle()
        await self._ledger.flush()

    async def _gone(self, name: str) -> None:
        """An endpoint was deleted: its instances' disks go. Its metrics and logs stay, for AWS's APIs."""
        self._observers.settle()
        self._meters.forget(name)
        await asyncio.to_thread(self._autoscaling.forget, name)
        await self._around.disks.remove_all(name)

    # -- its life --------------------------------------------------------------------------------------------------
    @asynccontextmanager
    async def _life(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as closing:  # every part is closed, the last one first, whatever another raises
            for part in (self._lock, self._objects, self._database, self._ledger):
                closing.callback(part.close)
            closing.callback(self._observers.settle)
            closing.callback(self._tail.close)
            closing.push_async_callback(self._host.close)
            for served in (self._trainer, self._controller):
                closing.push_async_callback(hurried, served.close, STOP_S)
            closing.callback(self._roll.call)
            if self._was_open:
                await asyncio.to_thread(close_all, self._dir.root)
            await asyncio.to_thread(lambda: self._around.disks.sweep(self._store.endpoints()))
            await self._controller.start()
            await self._trainer.start()
            tasks = [asyncio.create_task(kept_up(name, chore)) for name, chore in self._chores().items()]
            closing.push_async_callback(_stopped, tasks)
            yield

    def _chores(self) -> dict[str, Callable[[], Awaitable[None]]]:
        return {
            "collector": self._collector.run,
            "metrics": lambda: age(self._registry, self._fleet),
            "sizer": Sizer(self._fleet, time.perf_counter).run,
            "ledger": self._ledger.run,
            "roll": self._roll.run,
            "zygote": lambda: self._host.retire(lambda: bool(self._trainer.writing), self._options.warm_idle_s),
            "alarms": Watch(self._alarms, self._registry, self._refresh, judges=judged_here).run,
            "scaler": self._scaler().run,
            "logs": LogGrowth(self._logs).run,
        }


def surroundings(options: Options, folders: DataDir) -> Surroundings:
    """What every instance is told. Raises BadImages."""
    embedded = options.s3_endpoint is None
    return Surroundings(
        endpoint_url=options.url,
        region=options.region,
        disks=Disks(folders.instances),
        logs=folders.endpoint_logs,
        images=Images.read(options.images, options.unknown_images),
        s3_endpoint=options.url if embedded else options.s3_endpoint or "",
        s3_folder=folders.objects if embedded else None,
        refused=options.refused,
        strict=options.strict,
    )


def known_as(options: Options, machine: str) -> Ours:
    """By which addresses and names this endpoint is called, on a machine of this name, and which pages may call it."""
    return ours((options.host or "0.0.0.0",), options.allow_hosts, options.allow_origins, machine)


async def hurried(close: Callable[[], Awaitable[None]], within_s: float) -> None:
    """Close a part, as far as that is done in time. What is left of it ends with the host's processes."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            await close()


async def _stopped(tasks: Sequence["asyncio.Task[None]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def kept_up(name: str, chore: Callable[[], Awaitable[None]]) -> None:
    """Do a chore for ever. What goes wrong in it is logged, and it begins again."""
    while True:
        try:
            await chore()
        except Exception:  # an outer edge: neither sleeping nor metrics may end for one odd answer
            log.exception("the %s failed, and begins again", name)
            await asyncio.sleep(1.0)
