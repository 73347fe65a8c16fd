"""Makes the parts of an endpoint, each from the parts before it: real clocks, host, client and stores are made here."""

import asyncio
import os
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from torpor_container.processes.zygote_client import OwnedZygote
from torpor_endpoint.clocks.clock import EndpointClock, RealClock
from torpor_endpoint.clocks.travelling import TravellingClock
from torpor_endpoint.core import emulation
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.records import Variant
from torpor_endpoint.faults.injector import FaultInjector
from torpor_endpoint.fleet.collector import Collector, Wanted
from torpor_endpoint.fleet.controller import Controller
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.readings import Readings
from torpor_endpoint.fleet.roster import Roster
from torpor_endpoint.host import LaunchSpec, Slot
from torpor_endpoint.host.disks import Disks
from torpor_endpoint.host.images import Images
from torpor_endpoint.host.launch import Surroundings, launch_spec, memory_plan
from torpor_endpoint.host.local import LocalHost
from torpor_endpoint.host.strays import end_strays
from torpor_endpoint.ledger.heartbeat import LedgerHeartbeat
from torpor_endpoint.ledger.keeping import Ledger
from torpor_endpoint.metrics.registry import MetricRegistry
from torpor_endpoint.options import Options
from torpor_endpoint.services.autoscaling.acting.variants import refusal
from torpor_endpoint.services.autoscaling.context import Autoscaling
from torpor_endpoint.services.cloudwatch.alarms.actions import alarm_actions
from torpor_endpoint.services.cloudwatch.alarms.keeping import Alarms
from torpor_endpoint.services.jobs.queue import JobQueue
from torpor_endpoint.services.jobs.records import JobRecords
from torpor_endpoint.services.logs.files.groups import Groups
from torpor_endpoint.services.logs.files.log_marks import LogMarks
from torpor_endpoint.services.logs.files.reading import Logs
from torpor_endpoint.services.moto.longtail import LongTail
from torpor_endpoint.services.runtime.capture.capturing import Capturing
from torpor_endpoint.services.runtime.capture.observer import CaptureObserver
from torpor_endpoint.services.runtime.observing.ledger_observer import LedgerObserver
from torpor_endpoint.services.runtime.observing.meter import Meters
from torpor_endpoint.services.runtime.observing.metrics_observer import MetricsObserver
from torpor_endpoint.services.runtime.observing.observers import Observers
from torpor_endpoint.services.s3.access.embedded import EmbeddedStorage
from torpor_endpoint.services.s3.store import ObjectStore
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.experiments.context import Experimenting
from torpor_endpoint.services.sagemaker.experiments.records import Experiments
from torpor_endpoint.services.topics import Topics
from torpor_endpoint.services.training.lifecycle import TrainingJob
from torpor_endpoint.services.training.running.training_work import TrainingSite, TrainingWork
from torpor_endpoint.services.transform.lifecycle import TransformJob
from torpor_endpoint.services.transform.running.transform_work import JOB, TransformSite, TransformWork
from torpor_endpoint.storage.data_dir import DataDir
from torpor_endpoint.storage.lone_thread import LoneThread
from torpor_endpoint.storage.private import closed_to_others
from torpor_endpoint.storage.schema import opened
from torpor_endpoint.storage.store import Store
from torpor_endpoint.telemetry.access_log import AccessLog
from torpor_endpoint.telemetry.environment import signals

if TYPE_CHECKING:
    from torpor_endpoint.services.s3.access.remote import RemoteStorage
    from torpor_endpoint.telemetry.composing import Telemetry


class Parts:
    """The parts of one endpoint, and what several of them do together.

    Making them locks and opens the data folder; `app.EndpointProcess` starts and ends them. Raises DataDirInUse,
    BadImages.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.clock: EndpointClock = TravellingClock() if options.travelling_clock else RealClock()
        epoch, pause_of = self.clock.epoch, self.clock.pause_of
        self.faults = FaultInjector(epoch) if options.faults else None
        # storage
        self.folders = DataDir(options.data_dir.resolve())
        self.lock = self.folders.lock()
        self.was_open = closed_to_others(self.folders.root)
        self.surroundings = surroundings(options, self.folders, self._ahead_s)
        self.database = opened(self.folders.database)
        self.store = Store(self.database, epoch)
        self.objects = ObjectStore(self.folders.objects, clock=epoch)
        # the host
        end_strays(str(self.folders.instances))  # of an endpoint that was killed
        self.host = LocalHost(self.folders.sockets, partial(OwnedZygote.start, forgotten=self.surroundings.forgotten))
        # metrics and the ledger
        self.roster = Roster()
        self.registry = MetricRegistry(epoch)
        self.meters = Meters(self.registry)
        self.ledger = Ledger(self.folders.ledger, epoch, pause=pause_of("ledger"))
        self.readings = Readings()
        self.collector = Collector(
            self.roster, self.registry, epoch, self.ledger.looked, pause_of("collector"), self.readings
        )
        self.storage = self._storage()
        self.capturing = Capturing(self.storage, LoneThread("data capture"), self.clock.steady, self.meters.captured)
        draw = random.Random(options.seed).random
        sampling = CaptureObserver(draw, self.capturing.backlog.add, self.capturing.missed)
        self.telemetry = self._telemetry() if options.otel else None
        further = [*(self.telemetry.observers if self.telemetry is not None else ())]
        if options.log_format == "json":
            further.append(AccessLog())
        self.observers = Observers([LedgerObserver(self.ledger), MetricsObserver(self.meters), *further], [sampling])
        self.heartbeat = LedgerHeartbeat(self.roster, self.ledger.served, pause_of("heartbeat"))
        # the fleet
        self.controller = Controller(self.store, self.roster, self._factory(), epoch, self._endpoint_deleted)
        # the services
        self.jobs = JobRecords(self.database, "training_jobs", TrainingJob, epoch)
        self.training = TrainingWork(self._training_site())
        self.trainer = JobQueue(self.jobs, self.training, parallel=os.cpu_count() or 1)
        self.transform_jobs = JobRecords(self.database, "transform_jobs", TransformJob, epoch)
        transform_work = TransformWork(self._transform_site(), self.store.model)
        self.transforming = JobQueue(self.transform_jobs, transform_work, parallel=os.cpu_count() or 1)
        self.long_tail = LongTail(options.account)
        self.topics = Topics(self.long_tail.answer)
        refused = refusal(self.store, strict=options.strict)
        self.autoscaling = Autoscaling(self.database, self.store, epoch, refused)
        actions = alarm_actions(self.topics, self.autoscaling.fired)
        self.alarms = Alarms(self.database, self.store, epoch, actions)
        self.experiments = Experiments(self.database)
        self.experimenting = Experimenting(self.control(), self.experiments)
        groups = Groups(self.folders.endpoint_logs, self.folders.training_logs, self.folders.transform_logs)
        self.logs = Logs(groups, LogMarks(self._ahead_s), self.store, epoch, self._growing_logs)

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
        )

    def _is_tagged(self, arn: str) -> bool:
        """Whether a training job, a transform job or an inference experiment has this ARN."""
        return self.jobs.has(arn) or self.transform_jobs.has(arn) or self.experiments.has(arn)

    async def refresh_metrics(self) -> None:
        """Bring the metrics up to date before they are read."""
        self.observers.settle()
        if self.telemetry is not None:
            self.telemetry.settle()
        await self.collector.refresh()

    async def refresh_some(self, wanted: Wanted) -> None:
        """Bring the metrics up to date, those of instances only where they are wanted."""
        self.observers.settle()
        await self.collector.refresh(wanted)

    async def flush_ledger(self) -> None:
        """Bring the ledger's file up to date before it is read."""
        self.observers.settle()
        await self.ledger.flush()

    async def _endpoint_deleted(self, name: str) -> None:
        """Remove the instances' disks. Metrics and logs stay, as on AWS."""
        self.observers.settle()
        await self.capturing.flush(name)
        self.meters.forget(name)
        await asyncio.to_thread(self.autoscaling.forget, name)
        await self.surroundings.disks.remove_all(name)

    def _instance_changed(self, life: InstanceLife) -> None:
        """Record that an instance has begun, is ready, or has ended."""
        self.ledger.lived(life)
        self.readings.lived(life)
        if life.size.startswith("serverless") and life.ready_s is not None and life.stopped_s is None:
            self.meters.set_up(life.endpoint, life.variant, life.ready_s - life.started_s, life.ready_s)

    def _growing_logs(self) -> set[Path]:
        """The logs that a running process still writes."""
        return {launched.log for launched in self.host.list() if launched.log is not None} | self.training.writing

    def _factory(self) -> InstanceFactory:
        dice = random.Random(self.options.seed)

        def start_delay_s(variant: Variant) -> float:
            return emulation.start_delay_s(self.options.emulate, variant.serverless is not None, lambda: dice.gauss())

        return InstanceFactory(
            self.host,
            partial(launch_spec, around=self.surroundings),
            self.clock.epoch,
            self._instance_changed,
            self.collector.farewell,
            start_delay_s,
            self.surroundings.images,
            vacated=self.surroundings.disks.remove,
            memory_plan=memory_plan,
        )

    def _telemetry(self) -> "Telemetry":
        """Raises BadTelemetry."""
        from torpor_endpoint.telemetry.composing import MetricSources, Telemetry

        sources = MetricSources(self.registry, self.roster, self.refresh_metrics)
        return Telemetry(signals(os.environ), sources, self.meters.untraced)

    def _training_site(self) -> TrainingSite:
        return TrainingSite(
            folder=self.folders.training,
            logs=self.folders.training_logs,
            storage=self.storage,
            zygote=self.host.zygote,
            wiring=self.surroundings.wiring,
            forgotten=self.surroundings.forgotten,
            cpus=os.cpu_count() or 1,
            clock=self.clock.epoch,
        )

    def _transform_site(self) -> TransformSite:
        def spec(variant: Variant, slot: Slot) -> LaunchSpec:
            job = slot.endpoint.removeprefix(JOB)
            return replace(launch_spec(variant, slot, self.surroundings), logs=self.folders.transform_logs / job)

        factory = InstanceFactory(
            self.host,
            spec,
            self.clock.epoch,
            self.ledger.lived,
            images=self.surroundings.images,
            vacated=self.surroundings.disks.remove,
            memory_plan=memory_plan,
        )
        return TransformSite(
            self.folders.transform, self.folders.transform_logs, self.storage, factory, self.clock.epoch
        )

    def _ahead_s(self) -> float:
        """How far the endpoint's clock is ahead of real time."""
        return self.clock.ahead_s if isinstance(self.clock, TravellingClock) else 0.0

    def _storage(self) -> "EmbeddedStorage | RemoteStorage":
        """The S3 of training jobs and captured data."""
        if self.options.s3_endpoint is None:
            return EmbeddedStorage(self.objects)
        from torpor_endpoint.services.s3.access.remote import RemoteStorage

        return RemoteStorage.at(self.options.s3_endpoint, self.options.region)


def surroundings(options: Options, folders: DataDir, ahead_s: Callable[[], float] = lambda: 0.0) -> Surroundings:
    """What every instance of this endpoint shares. `ahead_s` is how far its clock is ahead. Raises BadImages."""
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
        faults=options.faults,
        clock_ahead_s=ahead_s if options.travelling_clock else None,
    )
