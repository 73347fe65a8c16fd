"""Inference components as the live endpoint runs them, on virtual time: the real router, pools, sizer and placement.

Only the edges are fake: a host whose copies are objects, each with one model that predicts in its profile's time; a
component of a multi-model container has the real keeper over such models. A call names it as `COMPONENT/MODEL`.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from tests.endpoint.helpers.passages import passage
from tests.sdk.helpers.live_on_virtual_time import (
    ENDPOINT,
    PATIENT_S,
    Answered,
    Door,
    Factories,
    FakeRunner,
    Instance,
    Profiles,
    Store,
    TimedDisk,
    VirtualThreads,
)
from tests.sdk.helpers.virtual_loop import VirtualLoop, run
from tests.sdk.helpers.written_ledger import WrittenLedger
from torpor.simulator.engine.variant.variant_plan import Machine
from torpor.workloads import TraceRequest
from torpor_container.adapter.adapter_folders import AdapterFolders
from torpor_container.adapter.model_adapters import NAME, ModelAdapters
from torpor_container.artifacts.archives.unpack import UnpackLimits
from torpor_container.artifacts.stores.artifact_store import ArtifactHead
from torpor_container.artifacts.stores.url_store import ANYWHERE
from torpor_container.core.eviction import LRU
from torpor_container.core.residency import Residency
from torpor_container.core.turns import ModelQueue, Sharing, Turns
from torpor_container.invocation import Invocation, Reply
from torpor_container.measuring.server_timing import Timing
from torpor_container.models.disk_tier import DiskTier
from torpor_container.modes.kept_mode import KeptMode
from torpor_container.running.predicting import AnyRequest, Predictors
from torpor_container.settings import DEFAULTS
from torpor_container.transport.upstream import Upstream
from torpor_endpoint.core.components.component_records import ComponentRecord, ComponentSpecification
from torpor_endpoint.core.components.component_variants import component_of
from torpor_endpoint.core.resource_records import Container, CopyNeeds, Variant
from torpor_endpoint.core.sending.machine import TARGET_MODEL
from torpor_endpoint.fleet.components.component_deployment import ComponentDeployment
from torpor_endpoint.fleet.components.served_adapters import ServedAdapters
from torpor_endpoint.fleet.deployment import Deployment
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.sizer import Sizer
from torpor_endpoint.fleet.timing import InstanceTiming
from torpor_endpoint.host import Launched, LaunchSpec, Phase
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.errors import RuntimeFault
from torpor_endpoint.runtime.holding import HoldLimits
from torpor_endpoint.runtime.passage import CallLimits
from torpor_endpoint.runtime.sending import RequestSender

BUCKET = "shelf"
COMPONENT_HEADER = b"x-amzn-sagemaker-inference-component"


@dataclass(frozen=True)
class Rescaled:
    """At this time, the component wants so many copies."""

    at_s: float
    name: str
    copies: int


def copies_of(
    name: str,
    copies: int,
    memory_mib: int,
    *,
    strict: bool = False,
    idle_s: float = 30.0,
    multi_model: bool = False,
    adapters: Sequence[str] = (),
) -> Variant:
    """The variant of a component's copies, which serve `adapters` too; without any copies, one that a request wakes."""
    asleep = not copies and not strict
    return Variant(
        f"component.{name}",
        "m",
        (Container("torpor", multi_model=multi_model, environment={"TORPOR_IDLE_SECONDS": f"{idle_s:g}"}),),
        instance_type="ml.m5.large",
        instance_count=copies,
        instances_min=0 if asleep else None,
        instances_max=1 if asleep else None,
        copies=CopyNeeds(
            name, "AllTraffic", memory_mib, adapters=tuple((one, f"s3://{BUCKET}/{one}") for one in adapters)
        ),
    )


@dataclass
class CopyHost(Factories):
    """A host of copies. A component without a profile of its name has a multi-model container."""

    registered: int = 0

    async def launch(self, spec: LaunchSpec) -> Launched:
        await asyncio.sleep(self.machine.wake_s)
        self.launches += 1
        launched = Launched(spec.slot, f"i-{self.launches}", f"socket-{self.launches}", Phase.RUNNING)
        if component_of(spec.slot.variant) not in self.profiles:
            instance = self.running[spec.slot] = Instance(self, launched)
            await instance.start()
            return launched
        copy = Copy(self, launched, self._folder_of(spec.slot.number))
        self.running[spec.slot] = cast(Instance, copy)
        copy.start()
        return launched

    def _folder_of(self, number: int) -> Path:
        return self.folder / f"adapters-{number}"


class AdapterStore(Store):
    """Artifacts of adapters, by their addresses."""

    async def head(self, key: str) -> ArtifactHead:
        return await super().head(key.rpartition("/")[2])

    async def get(self, key: str, head: ArtifactHead, into: Path) -> None:
        await super().get(key.rpartition("/")[2], head, into)


class AdapterContainer:
    """A foreign container that takes adapters, each in its profile's time."""

    def __init__(self, host: CopyHost) -> None:
        self._host = host

    async def send(self, method: str, path: str, headers: object, body: Sequence[bytes], within_s: float) -> object:
        if method == "POST":
            self._host.registered += 1
            await asyncio.sleep(self._host.profiles[json.loads(body[0])["name"]].into_memory_s)
        return SimpleNamespace(status=200, body=b"")


class Copy:
    """A copy, and a server at its socket. The adapters of its model are on a disk that outlives it."""

    def __init__(self, host: CopyHost, launched: Launched, folder: Path) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        threads = host.machine.threads
        turns = Turns[AnyRequest](Sharing(threads, threads))
        self._predictors = Predictors(VirtualThreads(threads, "predict"), turns, loop.time)
        name = component_of(launched.slot.variant)
        assert name is not None
        self._profiles, self._queue = host.profiles, ModelQueue(shares=False)
        self._name, self._clock = name, loop.time
        room_bytes = host.machine.disk_bytes
        disk = TimedDisk(folder, room_bytes, BUCKET)
        residency = Residency(room_bytes, LRU(), DEFAULTS.loads_max)
        tier = DiskTier(ANYWHERE, AdapterStore(host), disk, residency, UnpackLimits(), loop.time)
        container = cast(Upstream, AdapterContainer(host))
        self._adapters = ModelAdapters(lambda: container, AdapterFolders(lambda: tier), str, loop.time)
        self._servers = loop.servers
        self.launched = launched

    def start(self) -> None:
        self._servers[str(self.launched.address)] = partial(Door, cast(KeptMode, self))

    async def invoke(self, target: str, invocation: Invocation, timing: Timing) -> Reply:
        adapter = dict(invocation.headers).get(NAME)
        name = self._name if adapter is None else adapter.decode()
        async with self._adapters.used_by(invocation, timing):
            runner = FakeRunner(self._profiles[name], self._predictors, self._queue)
            return await runner.invoke(invocation, PATIENT_S, timing)

    async def close(self) -> None:
        del self._servers[str(self.launched.address)]
        self._predictors.close()


@dataclass(frozen=True)
class LivedComponents:
    """Answers in the order of the requests, the launches of copies, and how often a container took an adapter."""

    answers: list[Answered]
    launches: int
    registered: int


def lived_components(
    capacity: Variant,
    copies: Sequence[Variant],
    profiles: Profiles,
    calls: Sequence[TraceRequest],
    ledger: WrittenLedger,
    folder: Path,
    *,
    changes: Sequence[Rescaled] = (),
    strict: bool = False,
    room_bytes: int = 0,
) -> LivedComponents:
    """Plays all calls and changes, and then ends the endpoint. `room_bytes` are those for the models of a multi-model
    container, on its disk too."""
    machine = Machine(room_bytes, room_bytes, threads=2, wake_s=0.5)
    host = CopyHost(machine, profiles, folder, lambda slot, decision: None)
    return run(_lived(capacity, copies, host, calls, ledger, changes, strict))


async def _lived(
    capacity: Variant,
    copies: Sequence[Variant],
    host: CopyHost,
    calls: Sequence[TraceRequest],
    ledger: WrittenLedger,
    changes: Sequence[Rescaled],
    strict: bool,
) -> LivedComponents:
    loop, roster = asyncio.get_running_loop(), FleetRoster()
    factory = InstanceFactory(
        host,
        lambda variant, slot: LaunchSpec(slot),
        loop.time,
        ledger.lived,
        ledger.set_up,
        timing=InstanceTiming(grace_s=PATIENT_S),
    )
    live = FleetEndpoint(ENDPOINT, "arn")
    roster.serve(live)
    variants, components = (
        Deployment(live, factory),
        ComponentDeployment(live, factory, strict=False, adapters=_served(copies)),
    )
    await variants.become((capacity,))
    for one in copies:
        await components.become(one)
    router = Router(roster, lambda: 0.0, strict=strict)
    sender = RequestSender(loop.time, strict=strict, held=HoldLimits(requests=len(calls)))
    patient = CallLimits(hold_s=PATIENT_S)

    async def answered(name: str) -> Answered:
        component, _, model = name.partition("/")
        target = ((TARGET_MODEL, model.encode()),) if model else ()
        called = passage(ENDPOINT, (COMPONENT_HEADER, component.encode()), *target, limits=patient)
        arrived_s, call = loop.time(), called
        call.at_s = call.began_s = arrived_s
        router.route(call)
        try:
            router.admit(call)
        except RuntimeFault as refused:
            ledger.ended(call, refused)
            return Answered(name, arrived_s, arrived_s, True)
        served = await sender.send(call)
        ledger.ended(call, served)
        return Answered(name, arrived_s, loop.time(), served.answer.status != 200)

    async def looked() -> None:
        while True:
            components.look(loop.time())
            await asyncio.sleep(1.0)

    by_name = {component_of(one.name): one for one in copies}

    async def changed(one: Rescaled) -> None:
        was = by_name[one.name]
        assert was.copies is not None
        await components.become(copies_of(one.name, one.copies, was.copies.memory_mib, strict=strict))

    beside = [asyncio.create_task(Sizer(roster, loop.time).run()), asyncio.create_task(looked())]
    callers, updates = list[asyncio.Task[Answered]](), list[asyncio.Task[None]]()
    events: list[tuple[float, str | Rescaled]] = [(one.time_s, one.model) for one in calls]
    events += [(one.at_s, one) for one in changes]
    for at_s, what in sorted(events, key=_when):
        await asyncio.sleep(at_s - loop.time())
        if isinstance(what, str):
            callers.append(asyncio.create_task(answered(what)))
        else:
            updates.append(asyncio.create_task(changed(what)))
    answers = await asyncio.gather(*callers)
    await asyncio.gather(*updates)
    for chore in beside:
        chore.cancel()
    await variants.close("the story ends")
    return LivedComponents(answers, host.launches, host.registered)


def _served(copies: Sequence[Variant]) -> ServedAdapters:
    """The adapters of all components."""
    served = ServedAdapters()
    for one in copies:
        for name, url in one.copies.adapters if one.copies else ():
            specification = ComponentSpecification(base_name=component_of(one.name), adapter_url=url)
            record = SimpleNamespace(name=name, pending_specifications=None, specifications=(specification,))
            served.put(cast(ComponentRecord, record))
    return served


def _when(one: tuple[float, object]) -> float:
    return one[0]
