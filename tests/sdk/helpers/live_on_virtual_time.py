"""A plan as the live endpoint carries it out, on virtual time: the real router, pool, sizer, keeper and disk tier.

Only the edges are fake: a host whose instances are objects, a store whose downloads take as long as the profile says, a
loader whose models load, predict and unload in the profile's time. Its measured sizes are the booked ones, and its
measured waits the expected ones. No call times out, as none does in the simulator.
"""

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from typing import Protocol, cast

import httptools

from tests.endpoint.helpers.passages import passage
from tests.sdk.helpers.virtual_loop import VirtualLoop, run
from torpor.simulator.engine.handovers.expected_waits import expects_quicker_load
from torpor.simulator.engine.variant.variant_plan import Machine, VariantPlan
from torpor.workloads import Trace, TraceRequest, requests
from torpor.workloads.profile import ModelProfile
from torpor_container import wire
from torpor_container.artifacts.archives.unpack import UnpackLimits
from torpor_container.artifacts.location import Prefix
from torpor_container.artifacts.seals import Seal
from torpor_container.artifacts.stores.artifact_store import ArtifactHead, Listed
from torpor_container.artifacts.unpacked import UnpackedArtifact, UnpackedArtifacts
from torpor_container.core.eviction import LRU, policy
from torpor_container.core.keepalive import keep_alive
from torpor_container.core.residency import Decision, Residency
from torpor_container.core.resting import Resting
from torpor_container.core.turns import ModelQueue, Sharing, Turns
from torpor_container.errors import ContainerError
from torpor_container.formats.script.child_process import ScriptProcess
from torpor_container.invocation import Invocation, Reply, StreamReply, in_one_part
from torpor_container.measuring.effort import Effort
from torpor_container.measuring.server_timing import Timing
from torpor_container.models.disk_tier import UNPACKED_RATIO, DiskTier
from torpor_container.models.freshness import Freshness
from torpor_container.models.keep_alive import KeepAliveChore
from torpor_container.models.keeper import Keeper, WaitLimits
from torpor_container.models.loader import Found, Loaded, Placed, Settled
from torpor_container.models.updating.beside_updates import BesideUpdates
from torpor_container.modes.kept_mode import KeptMode
from torpor_container.processes.threads import T, Threads
from torpor_container.running.predicting import AnyRequest, Outcome, Predictors
from torpor_container.running.runners import Runner, Scripted
from torpor_container.wire import Fault
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.core.routing.ready_slots import PlacedInstance
from torpor_endpoint.core.sending.machine import ONLY_LOADED, TARGET_MODEL
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.fleet.sizer import Sizer
from torpor_endpoint.fleet.timing import InstanceTiming
from torpor_endpoint.host import Launched, LaunchSpec, Phase, Slot
from torpor_endpoint.in_service.wait_estimates import WaitEstimates
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.errors import RuntimeFault
from torpor_endpoint.runtime.holding import HoldLimits
from torpor_endpoint.runtime.passage import CallLimits, Passage, Served
from torpor_endpoint.runtime.sending import RequestSender

ENDPOINT, VARIANT = "endpoint", "variant"
PATIENT_S = 1e6

Recorded = Callable[[str, Decision], None]
Profiles = Mapping[str, ModelProfile]


@dataclass(frozen=True)
class Answered:
    """One request's end, in virtual seconds."""

    model: str
    arrived_s: float
    done_s: float
    failed: bool


@dataclass(frozen=True)
class Span:
    """One instance's life. It ends when the last model has left it."""

    slot: str
    began_s: float
    ready_s: float | None
    ended_s: float | None


@dataclass(frozen=True)
class Lived:
    """Answers in the order of the requests, spans in that of their readiness."""

    answers: list[Answered]
    spans: list[Span]
    downloads: int


class Watcher(Protocol):
    """What hears of all that happens, as the endpoint's own observers do. Times are virtual."""

    def ended(self, request: Passage, answered: Served | RuntimeFault) -> None: ...

    def lived(self, life: InstanceLife) -> None: ...

    def set_up(self, endpoint: str, variant: Variant) -> None: ...


class NoWatcher:
    def ended(self, request: Passage, answered: Served | RuntimeFault) -> None:
        pass

    def lived(self, life: InstanceLife) -> None:
        pass

    def set_up(self, endpoint: str, variant: Variant) -> None:
        pass


NOBODY = NoWatcher()


def lived(
    plan: VariantPlan,
    profiles: Profiles,
    trace: Trace,
    recorded: Recorded,
    watcher: Watcher = NOBODY,
    variant: Variant | None = None,
) -> Lived:
    """Plays the whole trace, and waits until the variant is at its minimum: then the remaining instances end. `variant`
    is run in place of the plan's own one."""
    with tempfile.TemporaryDirectory(prefix="virtual-") as folder:
        factories = Factories(plan.machine, profiles, Path(folder), recorded)
        return run(_lived(plan, list(requests(trace)), factories, watcher, variant or variant_of(plan)))


async def _lived(
    plan: VariantPlan, calls: list[TraceRequest], factories: "Factories", watcher: Watcher, variant: Variant
) -> Lived:
    loop, roster, lives = asyncio.get_running_loop(), FleetRoster(), dict[str, InstanceLife]()

    def told(life: InstanceLife) -> None:
        lives[life.instance] = life
        watcher.lived(life)

    timing = InstanceTiming(grace_s=PATIENT_S)
    factory = InstanceFactory(
        factories, lambda variant, slot: LaunchSpec(slot), loop.time, told, watcher.set_up, timing=timing
    )
    pool = InstancePool(ENDPOINT, variant, factory, SlotNumbers())
    pool.waits = BookedWaits(factories.profiles, plan.machine.threads, plan.machine.processors)
    live = FleetEndpoint(ENDPOINT, "arn", {VARIANT: pool})
    roster.serve(live)
    router = Router(roster, lambda: 0.0, strict=False)
    sender = RequestSender(loop.time, strict=False, held=HoldLimits(requests=len(calls)))

    patient = CallLimits(hold_s=PATIENT_S)

    async def answered(model: str) -> Answered:
        arrived_s, call = loop.time(), passage(ENDPOINT, (TARGET_MODEL, model.encode()), limits=patient)
        call.at_s = call.began_s = arrived_s
        router.route(call)
        try:
            router.admit(call)
        except RuntimeFault as refused:
            watcher.ended(call, refused)
            return Answered(model, arrived_s, arrived_s, True)
        served = await sender.send(call)
        watcher.ended(call, served)
        return Answered(model, arrived_s, loop.time(), served.answer.status != 200)

    pool.scale(plan.instances, "it is made")
    sizer = asyncio.create_task(Sizer(roster, loop.time).run())
    callers = []
    for time_s, model in calls:
        await asyncio.sleep(time_s - loop.time())
        callers.append(asyncio.create_task(answered(model)))
    answers = await asyncio.gather(*callers)
    await pool.until(lambda: plan.sizes is None or pool.size <= plan.sizes.floor)
    await pool.close("the story ends")
    sizer.cancel()
    return Lived(answers, [_span(life) for life in lives.values()], factories.downloads)


def _span(life: InstanceLife) -> Span:
    return Span(str(Slot(life.endpoint, life.variant, life.slot)), life.started_s, life.ready_s, life.stopped_s)


def variant_of(plan: VariantPlan) -> Variant:
    """The variant that is run so. With no range of sizes their number is given."""
    environment = {
        "TORPOR_KEEP_ALIVE": plan.keep_alive,
        "TORPOR_IDLE_SECONDS": str(plan.idle_s),
        "TORPOR_READY_WAIT_SECONDS": str(PATIENT_S),
    }
    containers = (Container("torpor", multi_model=True, environment=environment),)
    if plan.sizes is None:
        return Variant(VARIANT, "models", containers, instance_count=plan.instances)
    environment["TORPOR_CONCURRENCY"] = str(plan.sizes.concurrency)
    return Variant(VARIANT, "models", containers, instances_min=plan.sizes.floor, instances_max=plan.sizes.ceiling)


# -- instances ---------------------------------------------------------------------------------------------------------
@dataclass
class Factories:
    """A host. Every slot has a disk that outlives its instances."""

    machine: Machine
    profiles: Profiles
    folder: Path
    recorded: Recorded
    launches: int = 0
    downloads: int = 0
    running: dict[Slot, "Instance"] = field(default_factory=dict)

    async def launch(self, spec: LaunchSpec) -> Launched:
        await asyncio.sleep(self.machine.wake_s)
        self.launches += 1
        launched = Launched(spec.slot, f"i-{self.launches}", f"socket-{self.launches}", Phase.RUNNING)
        instance = self.running[spec.slot] = Instance(self, launched)
        await instance.start()
        return launched

    async def terminate(self, slot: Slot, grace_s: float) -> None:
        if slot in self.running:
            await self.running.pop(slot).close()

    def list(self) -> tuple[Launched, ...]:
        return tuple(instance.launched for instance in self.running.values())

    async def exited(self, slot: Slot) -> Launched:
        """Never returns: no instance ends by itself."""
        ended: asyncio.Future[Launched] = asyncio.get_running_loop().create_future()
        return await ended

    async def placed(self, slot: Slot) -> Launched:
        return self.running[slot].launched

    async def vacate(self, endpoint: str, variant: str | None = None) -> None:
        """Has no disks."""

    async def open(self, kept: Collection[tuple[str, str]]) -> None:
        """Finds nothing that runs."""

    def health(self, slot: Slot) -> Launched | None:
        return self.running[slot].launched if slot in self.running else None

    async def close(self) -> None:
        """Does nothing: the pool closes the instances."""


class Instance:
    """One kept instance, composed as `torpor_container.app` does, and a server at its socket."""

    def __init__(self, factories: Factories, launched: Launched) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        machine, profiles = factories.machine, factories.profiles
        record = partial(factories.recorded, str(launched.slot))
        books = Residency(machine.memory_bytes, policy(machine.policy), machine.loads_max, record)
        on_disk = Residency(machine.disk_bytes, LRU(), machine.loads_max)
        disk = TimedDisk(factories.folder / str(launched.slot.number), machine.disk_bytes, "bucket")
        self._disk_tier = DiskTier(
            Prefix("s3", "bucket", ""), Store(factories), disk, on_disk, UnpackLimits(), loop.time
        )
        turns = Turns[AnyRequest](Sharing(machine.threads, machine.threads, machine.batch_size, machine.batch_delay_s))
        loader = FakeLoader(profiles, books, Predictors(VirtualThreads(machine.threads, "predict"), turns, loop.time))
        rests = machine.models_rest
        resting = None if rests is None else Resting(partial(keep_alive, rests.policy, rests.idle_s))
        patience = WaitLimits(PATIENT_S, PATIENT_S)
        keeper = Keeper(self._disk_tier, loader, books, patience, loop.time, machine.cache, resting)
        updates = BesideUpdates(keeper, Freshness(self._disk_tier, loop.time), loop.time)
        self._kept = KeptMode(
            keeper, updates, PATIENT_S, None if resting is None else KeepAliveChore(keeper, resting, loop.time)
        )
        self._servers = loop.servers
        self.launched = launched

    async def start(self) -> None:
        await self._disk_tier.restore()
        await self._kept.start()
        self._servers[str(self.launched.address)] = partial(Door, self._kept)

    async def close(self) -> None:
        del self._servers[str(self.launched.address)]
        await self._kept.close()
        await self._disk_tier.close()


class Door(asyncio.Protocol):
    """One connection to an instance: every ping is good, and an invocation is for the model that it names. It is asked
    for the tiers of models, and to load one, as `contract.contract_routes` has it."""

    def __init__(self, kept: KeptMode) -> None:
        self._kept = kept
        self._parser = httptools.HttpRequestParser(self)
        self._path = self._target = ""
        self._only_loaded = False
        self._body = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._answering: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self._path, self._body, self._only_loaded, self._headers = url.decode(), b"", False, []

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))
        if name.lower() == TARGET_MODEL:
            self._target = value.decode()
        self._only_loaded |= (name.lower(), value) == ONLY_LOADED

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        if self._parser.get_method() == b"GET":
            self._answer(200)
        elif self._path == wire.TIERS:
            self._answer(200, body=json.dumps({"tiers": self._kept.tiers(json.loads(self._body)["models"])}).encode())
        elif self._path == wire.LOAD_MODEL:
            self._answering = asyncio.create_task(self._load(json.loads(self._body)["model"]))
        else:
            self._answering = asyncio.create_task(self._invoke())

    async def _load(self, model: str) -> None:
        timing = Timing(asyncio.get_running_loop().time)
        try:
            await self._kept.load(model, timing)
        except ContainerError as error:
            self._answer(error.status)
        else:
            self._answer(200, body=json.dumps(wire.OrderedLoad(led=timing.led)).encode())

    async def _invoke(self) -> None:
        timing, invocation, fault = Timing(asyncio.get_running_loop().time), Invocation(b""), ""
        invocation.only_loaded, invocation.headers = self._only_loaded, tuple(self._headers)
        try:
            reply = await self._kept.invoke(self._target, invocation, timing)
        except ContainerError as error:
            reply = error.reply()
            fault = f"{wire.FAULT}: {error.fault.value}\r\n" if error.fault is Fault.ABSENT else ""
        cold = "" if timing.cold is None else f"{wire.COLD}: {json.dumps(timing.cold)}\r\n"
        effort = "" if timing.effort is None else f"{wire.EFFORT}: {timing.effort.header()}\r\n"
        self._answer(reply.status, f"server-timing: {timing.header()}\r\n{cold}{effort}{fault}".encode())

    def _answer(self, status: int, headers: bytes = b"", body: bytes = b"") -> None:
        head = b"HTTP/1.1 %d answered\r\n%scontent-length: %d\r\n\r\n" % (status, headers, len(body))
        self._transport.write(head + body)


# -- an instance's edges -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Store:
    """Objects whose way to the disk takes the profile's time, unpacking included.

    Their heads tell a third of what they take there: the disk tier expects three times what a head tells, and is right.
    What can never fit is as large as in S3: the disk tier knows it at once then, as the simulator does.
    """

    factories: Factories

    async def head(self, key: str) -> ArtifactHead:
        disk_bytes = self.factories.profiles[key].disk_bytes
        fits = disk_bytes <= self.factories.machine.disk_bytes
        return ArtifactHead(disk_bytes // UNPACKED_RATIO if fits else disk_bytes, "1")

    async def get(self, key: str, head: ArtifactHead, into: Path) -> None:
        self.factories.downloads += 1
        profile = self.factories.profiles[key]
        await asyncio.sleep(profile.pull_s)
        await asyncio.to_thread(into.write_bytes, b"x" * profile.disk_bytes)

    async def listed(self, prefix: str, at_most: int) -> list[Listed]:
        return []

    async def some_keys(self, folder: str, at_most: int) -> list[str]:
        return []


class BookedWaits(WaitEstimates):
    """Waits as the profiles have them, whatever was measured."""

    def __init__(self, profiles: Profiles, threads: int, processors: int | None) -> None:
        super().__init__()
        self._profiles, self._threads = profiles, threads
        self._processors = inf if processors is None else processors

    def is_load_quicker(self, model: str, instance: PlacedInstance) -> bool:
        return expects_quicker_load(self._profiles[model], instance.in_flight, self._threads, self._processors)


class TimedDisk(UnpackedArtifacts):
    """A disk whose files were written at their virtual time: the next instance finds them in that order."""

    def publish(self, key: str, version: str, workspace: Path, seal: Seal, digest: str = "") -> UnpackedArtifact:
        entry = super().publish(key, version, workspace, seal, digest)
        now_ns = round(asyncio.get_running_loop().time() * 1e9)
        os.utime(entry.directory.parent / "artifact.json", ns=(now_ns, now_ns))
        return entry


@dataclass(frozen=True)
class FakeLoader:
    """Loads and unloads models in the profiles' times."""

    profiles: Profiles
    books: Residency
    predictors: Predictors

    async def start(self) -> None:
        """Does nothing: a store in memory is always open."""

    async def close(self) -> None:
        self.predictors.close()

    def unready(self) -> str | None:
        return None

    async def recognise(self, placed: Placed) -> Found:
        profile = self.profiles[placed.name]
        return Found(profile.memory_bytes, partial(self._load, profile))

    async def _load(self, profile: ModelProfile) -> Loaded:
        await asyncio.sleep(profile.into_memory_s)
        effort = Effort(profile.into_memory_s, profile.load_s)
        return Loaded(self._runner(profile), profile.memory_bytes, profile.into_memory_s, effort)

    def _runner(self, profile: ModelProfile) -> Runner:
        if not profile.workers:
            return FakeRunner(profile, self.predictors)
        workers = [cast(ScriptProcess, FakeWorker(profile)) for _ in range(profile.workers)]
        return Scripted(workers, partial(asyncio.sleep, profile.unload_s), self.predictors)

    async def unload(self, runner: Runner) -> None:
        await runner.close()

    async def settle(self) -> Settled:
        return Settled(self.books.planned_bytes)

    async def used_bytes(self) -> int:
        return self.books.planned_bytes

    async def cpu_s(self) -> float:
        return 0.0


class FakeRunner:
    """A model in memory: its folder is not needed any more."""

    format = "fake"
    needs_folder = False
    alive = True
    workers = 0

    def __init__(self, profile: ModelProfile, predictors: Predictors, line: ModelQueue | None = None) -> None:
        self._profile = profile
        self._predictors = predictors
        self._line = line or ModelQueue(shares=profile.further_s is not None)

    async def invoke(self, invocation: Invocation, timeout_s: float, timing: Timing) -> Reply:
        first_s = self._profile.predict_delay_s + self._profile.predict_s
        predicts = Predicts(first_s, self._profile.further_s or 0.0)
        with timing.step(wire.WaitStep.PREDICT):
            return await self._predictors.predict(self._line, predicts, invocation)

    @asynccontextmanager
    async def stream(self, invocation: Invocation, timeout_s: float, timing: Timing) -> AsyncIterator[StreamReply]:
        yield in_one_part(await self.invoke(invocation, timeout_s, timing))

    async def close(self) -> None:
        await asyncio.sleep(self._profile.unload_s)

    def processes(self) -> list[list[int]]:
        return []


@dataclass(frozen=True)
class FakeWorker:
    """A process of a script, which waits, and then computes."""

    profile: ModelProfile
    alive: bool = True
    pid: int = 0

    async def invoke(self, invocation: Invocation) -> Reply:
        delay_s, work_s = self.profile.predict_delay_s, self.profile.predict_s
        await asyncio.sleep(delay_s + work_s)
        return Reply(b"", "", effort=Effort(delay_s + work_s, work_s))


@dataclass(frozen=True)
class Predicts:
    """Work for a thread, and its duration: of one request, and of each further one of the same turn."""

    predict_s: float
    further_s: float

    def __call__(self, invocations: Sequence[Invocation]) -> list[Outcome]:
        return [Reply(b"", "") for _ in invocations]


class VirtualThreads(Threads):
    """Threads whose work takes virtual time."""

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        predicts, (requests,) = cast(Predicts, work), cast(tuple[Sequence[Invocation]], arguments)
        await asyncio.sleep(predicts.predict_s + (len(requests) - 1) * predicts.further_s)
        return work(*arguments)
