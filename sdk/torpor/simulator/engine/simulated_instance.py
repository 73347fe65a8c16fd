"""One simulated instance: the loads and evictions of its memory tier, in virtual time as the keeper does them.

This module decides nothing. `torpor_container.core.residency` decides which model is loaded, which one waits and which
one is evicted.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from torpor.simulator.engine.call_records import (
    FAILED,
    FOUND,
    InstanceModel,
    SimulatedCall,
    VariantCalls,
    VariantCounts,
)
from torpor.simulator.engine.handovers.brought_models import BroughtModels, in_use
from torpor.simulator.engine.idle_models import IdleModels
from torpor.simulator.engine.on_device.device_predictions import DevicePredictions
from torpor.simulator.engine.processors import Processors
from torpor.simulator.engine.shared_files import SharedFiles
from torpor.simulator.engine.simulated_container import MODEL_GONE, WELL, SimulatedContainer
from torpor.simulator.engine.simulated_disk import SimulatedDisk
from torpor.simulator.engine.simulated_predictions import SimulatedPredictions
from torpor.simulator.engine.virtual_time import Action, Kernel
from torpor.simulator.engine.waiting_room import WaitingRoom
from torpor.workloads.profile import EXACT, ModelProfile, Spread
from torpor_container.core.residency import LEAD, WAIT, Admit, Refuse, Residency
from torpor_container.core.resting import Resting
from torpor_container.core.turns import Turns
from torpor_endpoint.core.routing.ready_slots import FleetLoad, PlacedInstance
from torpor_endpoint.core.sending.machine import SEND


@dataclass(slots=True, eq=False)
class SimulatedInstance(PlacedInstance):
    """Once the instance is `retired` and its last request has ended, it calls `emptied` with its slot. Without `cache`,
    a model is unloaded, and deleted from disk, as soon as it has served its calls. Models are being unloaded until
    `leaving_until_s`. In a pipeline, a request passes all containers; the memory tier is that of one of them."""

    slot: str
    kernel: Kernel
    memory: Residency
    disk: SimulatedDisk
    profiles: Mapping[str, ModelProfile]
    turns: Turns[SimulatedCall]
    calls: VariantCalls
    files: SharedFiles
    emptied: Callable[[str], None]
    counts: VariantCounts
    processors: Processors
    spread: Spread = EXACT
    cache: bool = True
    resting: Resting | None = None
    leaving_until_s: float = 0.0
    in_flight: int = 0  # requests that were routed here and have not ended
    fleet: FleetLoad = field(default_factory=FleetLoad)
    retired: bool = False  # the instance gets no new requests
    containers: Sequence[SimulatedContainer | None] = ()  # of a pipeline; None is the one with the models
    device: Residency | None = None  # of the memory of its device, if it has one
    brought: BroughtModels = field(init=False)
    idle: IdleModels = field(init=False)
    _models: dict[str, InstanceModel] = field(default_factory=dict)  # those that `memory` knows of
    _waiters: WaitingRoom = field(init=False)
    _fetch: Action = field(init=False)  # these actions are planned very often: binding a method each time is slow
    _begun: Action = field(init=False)
    _ready: Action = field(init=False)
    _left: Action = field(init=False)
    _predictions: SimulatedPredictions = field(init=False)

    def __post_init__(self) -> None:
        self._waiters = WaitingRoom(self.kernel, self.memory)
        of = self.kernel, self.memory, self.resting
        self.idle = IdleModels(*of, self._waiters, self.cache, self._lead, self._dismiss)
        self.brought = BroughtModels(*of, self._models, self._waiters, self._lead, self.idle)
        self.disk.fetched, self.disk.refused = self._admit, self._fail
        self._fetch, self._begun, self._ready, self._left = self.disk.fetch, self._load, self._loaded, self._unloaded
        predicts = self.kernel, self.turns, self.processors, self.spread, self._predicted
        self._predictions = SimulatedPredictions(*predicts)
        if self.device is not None:
            ends = self._loaded, self._refuse, self._unloaded
            device = DevicePredictions(*predicts, residency=self.device, counts=self.counts, ends=ends)
            self._predictions, self._ready, self._left = device, device.enter, device.gone
        for container in filter(None, self.containers):
            container.then = self._passed

    def arrive(self, model: str) -> None:
        """Serve a request that comes now, as `ask` does: of one container, whose models never rest."""
        now_s = self.kernel.now_s
        call = SimulatedCall(model, now_s)
        call.slot, call.routed_s = self.slot, now_s
        self.in_flight += 1  # as `took` does, without a call
        self.fleet.in_flight += 1
        if self.memory.hit(model, now_s):
            call.outcome, call.ready_s = FOUND, now_s
            self._predictions.ask(call, self._models[model])
        else:
            self._missed(call, True)

    def ask(self, call: SimulatedCall) -> None:
        """Serve a request, which the router has sent to this instance."""
        call.slot = self.slot
        call.routed_s = self.kernel.now_s
        if self.containers:
            self._send(call)
            return
        self.took()
        if self.resting is not None:
            self._enter(call)
        else:
            self._request(call)

    def _send(self, call: SimulatedCall) -> None:
        """To the container that the request's machine has chosen."""
        container = self.containers[call.sending.container]
        if container is not None:
            container.ask(call)
        elif call.sending.resendable and not self.brought.has(call.model):
            call.sending.answered(MODEL_GONE, self.kernel.now_s)
            newcomer: SimulatedInstance | None = call.sending.instance
            assert newcomer is not None, "it is ready"
            call.slot = newcomer.slot
            newcomer._send(call)
        else:
            self._enter(call)

    def _passed(self, call: SimulatedCall) -> None:
        """A container of a pipeline has answered."""
        if call.sending.answered(WELL, self.kernel.now_s) == SEND:
            self._send(call)
        else:
            self._answer(call)

    def _enter(self, call: SimulatedCall) -> None:
        """The request is in the container with the models."""
        if self.resting is not None and not in_use(self.memory, call.model):
            self.resting.called(call.model, self.kernel.now_s)
        self._request(call)

    def rest_no_more(self) -> None:
        """The instance is stopping: its models rest no more."""
        self.resting = self.idle.resting = None

    # -- the model -------------------------------------------------------------------------------------------------
    def _request(self, call: SimulatedCall) -> None:
        now_s = self.kernel.now_s
        if self.memory.hit(call.model, now_s):
            call.outcome, call.ready_s = FOUND, now_s
            self._predictions.ask(call, self._models[call.model])
        else:
            self._missed(call)

    def _missed(self, call: SimulatedCall, last: bool = False) -> None:
        """`last`: nothing else happens at this moment, but for what is planned."""
        name = call.model
        plan = self.memory.missed(name, self.kernel.now_s)
        if plan is WAIT:
            self._models[name].waiting.append(call)
        elif plan is not LEAD:
            self._waiters.wait(self._request, call)
        elif last and self.kernel.is_clear:
            model = self._models[name] = InstanceModel(name, self.profiles[name])
            model.waiting.append(call)
            self.disk.fetch(model)  # it would be next
        else:
            self._lead(name).waiting.append(call)

    def _lead(self, name: str) -> InstanceModel:
        model = self._models[name] = InstanceModel(name, self.profiles[name])
        self.kernel.at(self.kernel.now_s, self._fetch, model)
        return model

    def _admit(self, model: InstanceModel) -> None:
        profile, now_s = model.profile, self.kernel.now_s
        size_bytes = self.files.needed_bytes(profile) if profile.mapped_bytes else profile.memory_bytes
        if self.files.holders and not self.memory.has_room(size_bytes):
            self.files.look(self.memory, now_s)
        plan = self.memory.admit(model.name, size_bytes, now_s)
        if isinstance(plan, Admit):
            self.counts.loads += 1
            model.factor = self.spread.load()
            self.kernel.at(now_s + self._dismiss(plan.victims) if plan.victims else now_s, self._begun, model)
        elif isinstance(plan, Refuse):
            self.disk.release(model.name)
            self._fail(model, plan.reason)
        else:
            self._dismiss(plan.victims)
            if model.expected:  # admission may still refuse it, but never a model that a request waits for
                self._waiters.wait(self._admit, model)
            else:
                self._waiters.wait_for_admission(self._admit, model, size_bytes)

    def _load(self, model: InstanceModel) -> None:
        model.since_s, profile = self.kernel.now_s, model.profile
        once_s = self.files.once_s(profile, model.since_s) if self.files.any_once else 0.0
        if delay_s := once_s + profile.load_delay_s * model.factor:
            self.kernel.after(delay_s, self._read, model)
        else:
            self._read(model)

    def _read(self, model: InstanceModel) -> None:
        self.processors.after(model.profile.load_s * model.factor, self._ready, model)

    def _loaded(self, model: InstanceModel) -> None:
        name, profile, now_s = model.name, model.profile, self.kernel.now_s
        took_s = now_s - model.since_s
        self.counts.loaded(took_s, now_s)
        self.disk.release(name)
        size_bytes = self.files.loaded(profile) if profile.mapped_bytes else profile.memory_bytes
        self.memory.loaded(name, size_bytes, took_s, now_s)
        if victims := self.memory.evict_excess(name, now_s):
            self._dismiss(victims)
        for call in model.waiting:
            call.ready_s = now_s
            self._predictions.ask(call, model)
        model.waiting.clear()
        if self._waiters.waiting:
            self._waiters.notify()
        if model.expected:
            self.kernel.soon(self.idle.loaded_before, name)
        if model.brought is not None:
            self.brought.ended(model, True)

    def _dismiss(self, names: tuple[str, ...]) -> float:
        """Start to unload these models. Returns the seconds until the last one is unloaded."""
        longest_s, now_s = 0.0, self.kernel.now_s
        for name in names:
            self.counts.unloads += 1
            model = self._models[name]
            unload_s = model.profile.unload_s
            self.kernel.at(now_s + unload_s, self._left, model)
            if longest_s < unload_s:
                longest_s = unload_s
        if self.leaving_until_s < now_s + longest_s:
            self.leaving_until_s = now_s + longest_s
        return longest_s

    def _unloaded(self, model: InstanceModel) -> None:
        name, now_s = model.name, self.kernel.now_s
        self.memory.unloaded(name, model.profile.unload_s, now_s)
        del self._models[name]
        if model.profile.mapped_bytes:
            self.files.unloaded(model.profile)
        if not self.cache:
            self.disk.drop(name, "ModelCacheSetting is Disabled")
        if self._waiters.waiting:
            self._waiters.notify()

    def _fail(self, model: InstanceModel, reason: str) -> None:
        now_s = self.kernel.now_s
        self.memory.failed(model.name, f"{model.name} cannot be loaded: {reason}", now_s)
        del self._models[model.name]
        for call in model.waiting:
            call.outcome = FAILED
            call.ready_s = call.done_s = now_s
            self._answer(call)
        self.brought.ended(model, False)

    def _refuse(self, model: InstanceModel, reason: str) -> None:
        self.disk.release(model.name)
        self._fail(model, reason)
        self._waiters.notify()

    def _answer(self, call: SimulatedCall) -> None:
        if self.containers:
            call.sending.let_go()
        else:
            self.answered()
        self.calls.ended(call)
        if self.retired and not self.in_flight:
            self.emptied(self.slot)

    # -- the prediction --------------------------------------------------------------------------------------------
    def _predicted(self, call: SimulatedCall) -> None:
        if self.memory.released(call.model) and (self._waiters.waiting or self.idle.minded):
            self.idle.ended(call.model)
        if self.containers:
            call.used_until_s = call.done_s
            self._passed(call)
            return
        self.in_flight -= 1  # as `answered` does, without a call
        self.fleet.in_flight -= 1
        self.calls.ended(call)
        if self.retired and not self.in_flight:
            self.emptied(self.slot)
