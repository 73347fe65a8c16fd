"""The disk tier of one simulated instance: it brings a model's files to disk and deletes them again, in virtual time.

`torpor_container.core.residency` decides which model is downloaded, which one waits, and which one is deleted. This
module carries its decisions out, as the container's disk tier does.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torpor.simulator.engine.call_records import InstanceModel, VariantCounts
from torpor.simulator.engine.processors import Processors
from torpor.simulator.engine.virtual_time import Kernel
from torpor.simulator.engine.waiting_room import WaitingRoom
from torpor.workloads.profile import EXACT, ModelProfile, Spread
from torpor_container.core.residency import HIT, LEAD, Admit, Refuse, Residency


@dataclass(slots=True, eq=False)
class SimulatedDisk:
    """`fetched` is called with a model once its files are on disk, which pins them there until `release`; `refused` is
    called with a model that is larger than the disk, and the reason. `stored` is what the slot's disk holds, the oldest
    first: it outlives the instance."""

    kernel: Kernel
    residency: Residency
    profiles: Mapping[str, ModelProfile]
    counts: VariantCounts
    processors: Processors
    spread: Spread = EXACT
    stored: dict[str, None] = field(default_factory=dict)
    fetched: Callable[[InstanceModel], None] = field(init=False)  # the instance sets both, before the first fetch
    refused: Callable[[InstanceModel, str], None] = field(init=False)
    _waiters: WaitingRoom = field(init=False)

    def __post_init__(self) -> None:
        self._waiters = WaitingRoom(self.kernel, self.residency)
        for name in self.stored:
            self.residency.found(name, self.profiles[name].disk_bytes, self.kernel.now_s)

    def fetch(self, model: InstanceModel, last: bool = True) -> None:
        """Bring a model's files to disk. `last`: nothing else happens at this moment, but for what is planned."""
        plan = self.residency.request(model.name, self.kernel.now_s)
        if plan is HIT:
            self.fetched(model)
        elif plan is LEAD:
            self._admit(model, last)
        else:
            self._waiters.wait(self._fetch_again, model)

    def _fetch_again(self, model: InstanceModel) -> None:
        self.fetch(model, last=False)

    def release(self, name: str) -> None:
        """The model's files are not in use any more."""
        if self.residency.released(name) and self._waiters.waiting:
            self._waiters.notify()

    def drop(self, name: str, reason: str) -> None:
        """Delete the model's files, if they are there and not in use."""
        if self.residency.drop(name, reason, self.kernel.now_s):
            self._delete((name,))

    def _admit(self, model: InstanceModel, last: bool = False) -> None:
        now_s = self.kernel.now_s
        plan = self.residency.admit(model.name, model.profile.disk_bytes, now_s)
        if isinstance(plan, Admit):
            self.counts.downloads += 1
            model.factor, model.since_s = self.spread.load(), now_s
            ends_s = now_s + (model.profile.download_s + model.profile.unpack_delay_s) * model.factor
            at_once = last and ends_s > now_s and self.kernel.is_clear  # deletions would be next
            if plan.victims and not at_once:
                self._delete(plan.victims)
            self.kernel.at(ends_s, self._unpack, model)
            if plan.victims and at_once:
                for name in plan.victims:
                    del self.stored[name]
                    self._deleted(name)
        elif isinstance(plan, Refuse):
            self.residency.failed(model.name, plan.reason, now_s)
            self._waiters.notify()
            self.refused(model, plan.reason)
        else:
            self._delete(plan.victims)
            self._waiters.wait_for_admission(self._admit, model, model.profile.disk_bytes)

    def _unpack(self, model: InstanceModel) -> None:
        self.processors.after(model.profile.unpack_s * model.factor, self._unpacked, model)

    def _unpacked(self, model: InstanceModel) -> None:
        name, now_s = model.name, self.kernel.now_s
        self.residency.loaded(name, model.profile.disk_bytes, now_s - model.since_s, now_s)
        self.stored[name] = None
        if self._waiters.waiting:
            self._waiters.notify()
        if victims := self.residency.evict_excess(name, now_s):
            self._delete(victims)
        self.fetched(model)

    def _delete(self, names: tuple[str, ...]) -> None:
        now_s = self.kernel.now_s
        for name in names:
            del self.stored[name]
            self.kernel.at(now_s, self._deleted, name)

    def _deleted(self, name: str) -> None:
        self.residency.unloaded(name, 0.0, self.kernel.now_s)
        if self._waiters.waiting:
            self._waiters.notify()
