"""The adapters of one simulated copy: fetched to its disk and registered with the first request that names one, or
ahead of it.

This module decides nothing. `torpor_container.core.residency` decides which adapter makes room on the disk.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isnan, nan

from torpor.simulator.engine.call_records import (
    FAILED,
    FOUND,
    LOADED,
    Brought,
    InstanceModel,
    SimulatedCall,
    VariantCounts,
)
from torpor.simulator.engine.simulated_disk import SimulatedDisk
from torpor.simulator.engine.virtual_time import Kernel


@dataclass(slots=True, eq=False)
class SimulatedAdapters:
    """`ready` is called with each request whose adapter is there, and `failed` with one whose adapter is larger than
    the disk. The container forgets an adapter whose files leave."""

    kernel: Kernel
    disk: SimulatedDisk
    counts: VariantCounts
    ready: Callable[[SimulatedCall, InstanceModel], None]
    failed: Callable[[SimulatedCall], None]
    _models: dict[str, InstanceModel] = field(default_factory=dict)
    _coming: set[str] = field(default_factory=set)  # fetched or registered now
    _had: set[str] = field(default_factory=set)  # registered since the copy began: its container knows them

    def __post_init__(self) -> None:
        self.disk.fetched, self.disk.refused = self._fetched, self._refused

    def ask(self, call: SimulatedCall) -> None:
        """Have the adapter that the request names."""
        model = self._known(call.model)
        model.waiting.append(call)
        self._bring(model)

    def has(self, name: str) -> bool:
        """Whether a request for this adapter begins no load."""
        return name in self._coming or (name in self._had and name in self.disk.stored)

    def bring(self, name: str, then: Brought) -> None:
        """Have an adapter for the requests to come. `then` hears whether it is there."""
        model = self._known(name)
        model.brought = [*(model.brought or ()), then]
        self._bring(model)

    def ended(self, call: SimulatedCall) -> None:
        """The request is answered: it uses the adapter no more."""
        self.disk.release(call.model)

    def _known(self, name: str) -> InstanceModel:
        model = self._models.get(name)
        if model is None:
            model = self._models[name] = InstanceModel(name, self.disk.profiles[name])
        return model

    def _bring(self, model: InstanceModel) -> None:
        if model.name not in self._coming:
            self._coming.add(model.name)
            model.since_s = nan  # set once the files are fetched anew
            self.disk.fetch(model)

    def _fetched(self, model: InstanceModel) -> None:
        if isnan(model.since_s) and model.name in self._had:
            self._answers(model, FOUND)
        else:  # its files came now, or an earlier copy left them on the disk
            if isnan(model.since_s):
                model.factor = self.disk.spread.load()
            self.counts.loads += 1
            self.kernel.after(model.profile.into_memory_s * model.factor, self._registered, model)

    def _registered(self, model: InstanceModel) -> None:
        self._had.add(model.name)
        self._answers(model, LOADED)

    def _answers(self, model: InstanceModel, outcome: int) -> None:
        """Each request that waits has a pin of its own, beside that of the fetch."""
        name, now_s = model.name, self.kernel.now_s
        self._coming.discard(name)
        waiting, model.waiting = model.waiting, []
        for call in waiting:
            self.disk.residency.request(name, now_s)
            call.outcome, call.ready_s = outcome, now_s
            self.ready(call, model)
        self.disk.release(name)
        self._tell(model, True)

    def _refused(self, model: InstanceModel, _reason: str) -> None:
        self._coming.discard(model.name)
        waiting, model.waiting = model.waiting, []
        for call in waiting:
            call.outcome = FAILED
            call.ready_s = call.done_s = self.kernel.now_s
            self.failed(call)
        self._tell(model, False)

    def _tell(self, model: InstanceModel, here: bool) -> None:
        told, model.brought = model.brought or (), None
        for then in told:
            then(here)
