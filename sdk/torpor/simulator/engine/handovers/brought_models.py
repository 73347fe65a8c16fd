"""Loads that no request waits for: an instance brings a model into memory for the requests to come.

It decides nothing: the residency plans such a load as it plans one for a request.
"""

from torpor.simulator.engine.call_records import Brought, InstanceModel
from torpor.simulator.engine.virtual_time import Kernel
from torpor.simulator.engine.waiting_room import WaitingRoom
from torpor_container.core.occupancy import ModelStage
from torpor_container.core.residency import HIT, LEAD, WAIT, Residency
from torpor_container.core.resting import Resting
from torpor_endpoint.core.placement import PlacedInstance


class BringsModels(PlacedInstance):
    """The part of an instance that brings models. The rest of it has the fields, and loads what it is told to."""

    __slots__ = ()

    kernel: Kernel
    memory: Residency
    resting: Resting | None
    _models: dict[str, InstanceModel]
    _waiters: WaitingRoom
    _minds_idle: bool

    def _in_use(self, name: str) -> bool:
        raise NotImplementedError

    def _lead(self, name: str) -> InstanceModel:
        raise NotImplementedError

    def _idle(self, name: str) -> None:
        raise NotImplementedError

    def has(self, name: str) -> bool:
        """Whether a request for this model begins no load."""
        model = self.memory.get(name)
        return model is not None and model.stage is not ModelStage.LEAVING

    def bring(self, name: str, then: Brought) -> None:
        """Load a model for the requests to come, as for a request. `then` is told whether it is in memory."""
        if self.resting is not None and not self._in_use(name):
            self.resting.called(name, self.kernel.now_s)
        self._bring((name, then))

    def _bring(self, wanted: tuple[str, Brought]) -> None:
        name, then = wanted
        plan = self.memory.request(name, self.kernel.now_s)
        if plan is HIT:
            self._unpin_brought(name)
            then(True)
        elif plan is WAIT or plan is LEAD:
            model = self._models[name] if plan is WAIT else self._lead(name)
            model.brought = [*(model.brought or ()), then]
        else:
            self._waiters.wait(self._bring, wanted)

    def _unpin_brought(self, name: str) -> None:
        if self.memory.released(name) and (self._waiters.waiting or self._minds_idle):
            self._idle(name)

    def _tell_brought(self, model: InstanceModel, here: bool) -> None:
        """The load for those that brought the model is over, and so is the use of it that each has."""
        told, model.brought = model.brought or (), None
        for then in told:
            if here:
                self.kernel.soon(self._unpin_brought, model.name)
            then(here)
