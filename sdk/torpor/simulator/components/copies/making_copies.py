"""Makes the copies of one simulated component: with one model and its adapters, or with a multi-model container."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil

from torpor.simulator.components.component_setup import AdapterSetup, ComponentSetup
from torpor.simulator.components.copies.simulated_copy import SimulatedCopy
from torpor.simulator.components.simulated_capacity import SimulatedMachine
from torpor.simulator.engine.call_records import Predictor, SimulatedCall, VariantCalls, VariantCounts
from torpor.simulator.engine.processors import Processors
from torpor.simulator.engine.shared_files import SharedFiles
from torpor.simulator.engine.simulated_disk import SimulatedDisk
from torpor.simulator.engine.simulated_instance import SimulatedInstance
from torpor.simulator.engine.virtual_time import Kernel
from torpor.simulator.scenario import MIB
from torpor.workloads.profile import ModelProfile, Spread
from torpor_container.core.eviction import LRU, policy
from torpor_container.core.keepalive import keep_alive
from torpor_container.core.residency import Residency
from torpor_container.core.resting import Resting
from torpor_container.core.turns import Sharing, Turns
from torpor_endpoint.core.pricing.catalogue import INSTANCE_DISK_MIB

MadeCopy = SimulatedCopy | SimulatedInstance


@dataclass(eq=False)
class CopyMaker:
    """`profiles` have each model and adapter of the component. `own_bytes` are what a copy's process takes beside its
    models."""

    setup: ComponentSetup
    adapters: Sequence[AdapterSetup]
    profiles: Mapping[str, ModelProfile]
    kernel: Kernel
    calls: VariantCalls
    counts: VariantCounts
    spread: Spread
    own_bytes: int
    trace_over: Callable[[], bool]
    _disks: dict[str, dict[str, None]] = field(init=False, default_factory=dict)  # what each slot's disk holds
    slowed: Mapping[str, ModelProfile] = field(init=False)
    """The profiles, as the models are on the cores of a copy."""
    _files: SharedFiles = field(init=False)

    def __post_init__(self) -> None:
        setup = self.setup
        slower = ceil(setup.cores) / setup.cores if setup.cores and setup.slowed else 1.0
        names = (*setup.called, *(one.serves for one in self.adapters))
        self.slowed = {name: _slowed(self.profiles[name], slower) for name in names}
        self._files = SharedFiles(self.slowed)

    @property
    def model_s(self) -> float:
        """How long a copy brings its model before it is ready; 0 for a multi-model container."""
        if self.setup.models:
            return 0.0
        one = self.profiles[self.setup.serves]
        return one.pull_s + one.into_memory_s

    def made(self, slot: str, machine: SimulatedMachine, emptied: Callable[[str], None]) -> MadeCopy:
        """A copy on this instance. Where its component reserves cores they are its own, and a part of one is as slow;
        otherwise it shares those of its instance with all other copies that reserve none."""
        processors, threads = machine.processors, machine.vcpus
        if self.setup.cores:
            threads = ceil(self.setup.cores)
            processors = Processors(self.kernel, threads)
        turns = Turns[SimulatedCall](Sharing(threads, threads))
        if self.setup.models:
            return self._multi_model(slot, turns, processors, emptied)
        return self._single(slot, turns, processors, emptied)

    def gone(self, copy: MadeCopy) -> None:
        """The copy has ended, with the models that it had in memory."""
        if isinstance(copy, SimulatedInstance):
            copy.rest_no_more()
            self._files.ended(copy.memory)
        if copy.disk is not None:
            self._disks[copy.slot] = dict(copy.disk.stored)

    # -- inside ------------------------------------------------------------------------------------------------------
    def _single(
        self, slot: str, turns: Turns[SimulatedCall], processors: Processors, emptied: Callable[[str], None]
    ) -> SimulatedCopy:
        one = self.slowed[self.setup.serves]
        model = Predictor(one.predict_s, one.predict_delay_s, one.workers)
        disk = self._disk(slot, processors, one.disk_bytes) if self.adapters else None
        return SimulatedCopy(
            slot, self.kernel, model, turns, self.calls, processors, self.spread, emptied, self.setup.serves, disk
        )

    def _multi_model(
        self, slot: str, turns: Turns[SimulatedCall], processors: Processors, emptied: Callable[[str], None]
    ) -> SimulatedInstance:
        setup = self.setup
        room_bytes = setup.bound_mib * MIB - self.own_bytes if setup.room_mib is None else int(setup.room_mib * MIB)
        rests = None
        if setup.model_idle_s is not None:
            rests = Resting(partial(keep_alive, setup.model_keep_alive, setup.model_idle_s))
        made = SimulatedInstance(
            slot,
            self.kernel,
            Residency(room_bytes, policy(setup.policy.upper()), setup.loads_max),
            self._disk(slot, processors, 0),
            self.slowed,
            turns,
            self.calls,
            self._files,
            emptied,
            self.counts,
            processors,
            self.spread,
            resting=rests,
        )
        if rests is not None:
            made.idle.rest_while(self._goes_on)
        return made

    def _disk(self, slot: str, processors: Processors, taken_bytes: int) -> SimulatedDisk:
        """The disk of a copy, without what its model takes. It outlives the copy, with what is on it."""
        whole_mib = INSTANCE_DISK_MIB if self.setup.disk_mib is None else self.setup.disk_mib
        tier = Residency(max(0, int(whole_mib * MIB) - taken_bytes), LRU(), self.setup.loads_max)
        stored = self._disks.setdefault(slot, {})
        return SimulatedDisk(self.kernel, tier, self.slowed, self.counts, processors, self.spread, stored)

    def _goes_on(self) -> bool:
        """Whether anything more happens."""
        return not self.trace_over() or bool(self.calls.traffic.demand)


def _slowed(profile: ModelProfile, slower: float) -> ModelProfile:
    """The times of work on a part of a core."""
    return replace(
        profile,
        unpack_s=profile.unpack_s * slower,
        load_s=profile.load_s * slower,
        predict_s=profile.predict_s * slower,
    )
