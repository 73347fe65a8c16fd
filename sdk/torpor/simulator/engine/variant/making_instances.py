"""Makes the instances of a simulated variant, as its plan says. It plays none."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from torpor.simulator.engine.call_records import VariantCalls, VariantCounts
from torpor.simulator.engine.on_device.device_residency import device_residency
from torpor.simulator.engine.processors import Processors
from torpor.simulator.engine.shared_files import SharedFiles
from torpor.simulator.engine.simulated_container import SimulatedContainer
from torpor.simulator.engine.simulated_disk import SimulatedDisk
from torpor.simulator.engine.simulated_instance import SimulatedInstance
from torpor.simulator.engine.variant.variant_plan import Machine
from torpor.simulator.engine.virtual_time import Kernel
from torpor.workloads.profile import EXACT, ModelProfile, Spread
from torpor_container.core.eviction import LRU, Policy
from torpor_container.core.keepalive import keep_alive
from torpor_container.core.residency import Decision, Residency
from torpor_container.core.resting import Resting
from torpor_container.core.turns import Sharing, Turns

Recorded = Callable[[str, Decision], None]


@dataclass(eq=False)
class InstanceMaker:
    """`recorded` gets each decision about memory, with its slot. `container_spreads` has one for each container of a
    pipeline, or none: EXACT."""

    machine: Machine
    profiles: Mapping[str, ModelProfile]
    files: SharedFiles
    calls: VariantCalls
    counts: VariantCounts
    policy: Callable[[], Policy]
    recorded: Recorded | None
    spread: Spread
    container_spreads: Sequence[Spread]
    disks: dict[str, dict[str, None]] = field(default_factory=dict)
    """The models on each slot's disk, also while the slot is empty."""

    def make(self, slot: str, kernel: Kernel, emptied: Callable[[str], None]) -> SimulatedInstance:
        """The instance of this slot. It calls `emptied` once it is retired and its last request has ended."""
        machine, rests = self.machine, self.machine.models_rest
        record, processors = self.recorded and partial(self.recorded, slot), Processors(kernel, machine.processors)
        disk = SimulatedDisk(
            kernel,
            Residency(machine.disk_bytes, LRU(), machine.loads_max),
            self.profiles,
            self.counts,
            processors,
            self.spread,
            self.disks.setdefault(slot, {}),
        )
        pipeline = range(len(machine.containers) if len(machine.containers) > 1 else 0)
        return SimulatedInstance(
            slot,
            kernel,
            Residency(machine.memory_bytes, self.policy(), machine.loads_max, record),
            disk,
            self.profiles,
            Turns(Sharing(machine.threads, machine.threads, machine.batch_size, machine.batch_delay_s)),
            self.calls,
            self.files,
            emptied,
            self.counts,
            processors,
            self.spread,
            machine.cache,
            None if rests is None else Resting(partial(keep_alive, rests.policy, rests.idle_s)),
            containers=[self._container(number, kernel, processors) for number in pipeline],
            device=device_residency(machine.device_bytes, self.policy(), machine.loads_max, record),
        )

    def _container(self, number: int, kernel: Kernel, processors: Processors) -> SimulatedContainer | None:
        """A container of a pipeline, with turns of its own; None for the one with the models."""
        profile = self.machine.containers[number]
        if number == self.machine.models_at:
            return None
        threads = profile.threads or self.machine.threads
        spread = self.container_spreads[number] if self.container_spreads else EXACT
        return SimulatedContainer(kernel, profile, Turns(Sharing(threads, threads)), processors, spread)
