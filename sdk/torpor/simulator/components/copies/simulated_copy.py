"""One simulated copy of an inference component: it has its one model from its start to its end, and predicts.

This module decides nothing. `torpor_container.core.turns` decides which request predicts next.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from torpor.simulator.components.copies.simulated_adapters import SimulatedAdapters
from torpor.simulator.engine.call_records import FOUND, InstanceModel, Predictor, SimulatedCall, VariantCalls
from torpor.simulator.engine.processors import Processors
from torpor.simulator.engine.simulated_disk import SimulatedDisk
from torpor.simulator.engine.simulated_predictions import SimulatedPredictions
from torpor.simulator.engine.virtual_time import Kernel
from torpor.workloads.profile import Spread
from torpor_container.core.turns import Turns
from torpor_endpoint.core.routing.ready_slots import FleetLoad, PlacedInstance


@dataclass(slots=True, eq=False)
class SimulatedCopy(PlacedInstance):
    """`processors` are its own where its component reserves cores, and those of its instance where it does not. Once it
    is `retired` and its last request has ended, it calls `emptied` with its slot. `disk` has the adapters of its model;
    None without any. They answer in the turns of their model."""

    slot: str
    kernel: Kernel
    model: Predictor
    turns: Turns[SimulatedCall]
    calls: VariantCalls
    processors: Processors
    spread: Spread
    emptied: Callable[[str], None]
    serves: str  # its model; a request for another one names an adapter
    disk: SimulatedDisk | None = None
    in_flight: int = 0
    fleet: FleetLoad = field(default_factory=FleetLoad)
    retired: bool = False  # it gets no new requests
    _predictions: SimulatedPredictions = field(init=False)
    _adapters: SimulatedAdapters | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._predictions = SimulatedPredictions(self.kernel, self.turns, self.processors, self.spread, self._predicted)
        if self.disk is not None:
            counts = self.disk.counts
            self._adapters = SimulatedAdapters(self.kernel, self.disk, counts, self._adapted, self._answered)

    @property
    def brought(self) -> SimulatedAdapters:
        """What it brings for requests to come: adapters, if its model has any."""
        assert self._adapters is not None, "nothing is brought without a disk"
        return self._adapters

    def ask(self, call: SimulatedCall) -> None:
        """Serve a request, which the router has sent to this copy."""
        call.slot = self.slot
        call.routed_s = self.kernel.now_s
        self.took()
        if self._adapters is not None and call.model != self.serves:
            self._adapters.ask(call)
        else:
            call.outcome = FOUND
            call.ready_s = self.kernel.now_s
            self._predictions.ask(call, self.model)

    def _adapted(self, call: SimulatedCall, adapter: InstanceModel) -> None:
        adapter.queue = self.model.queue
        self._predictions.ask(call, adapter)

    def _predicted(self, call: SimulatedCall) -> None:
        if self._adapters is not None and call.model != self.serves:
            self._adapters.ended(call)
        self._answered(call)

    def _answered(self, call: SimulatedCall) -> None:
        self.answered()
        self.calls.ended(call)
        if self.retired and not self.in_flight:
            self.emptied(self.slot)
