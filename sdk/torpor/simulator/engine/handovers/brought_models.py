"""Loads that no request waits for: an instance brings a model into memory for the requests to come.

It decides nothing: the residency plans such a load as it plans one for a request.
"""

from collections.abc import Callable

from torpor.simulator.engine.call_records import Brought, InstanceModel
from torpor.simulator.engine.idle_models import IdleModels
from torpor.simulator.engine.virtual_time import Kernel
from torpor.simulator.engine.waiting_room import WaitingRoom
from torpor_container.core.occupancy import ModelStage
from torpor_container.core.residency import HIT, LEAD, WAIT, Residency
from torpor_container.core.resting import Resting


def in_use(memory: Residency, name: str) -> bool:
    """Whether a request has this model."""
    model = memory.get(name)
    return model is not None and model.pins > 0


class BroughtModels:
    """What one instance brings. `lead` begins the load of a model, and `idle` hears of one whose last use has ended."""

    def __init__(
        self,
        kernel: Kernel,
        memory: Residency,
        resting: Resting | None,
        models: dict[str, InstanceModel],
        waiters: WaitingRoom,
        lead: Callable[[str], InstanceModel],
        idle: IdleModels,
    ) -> None:
        self._kernel = kernel
        self._memory = memory
        self._resting = resting
        self._models = models
        self._waiters = waiters
        self._lead = lead
        self._idle = idle
        self.going_on = 0  # models that were to be brought and are not here yet

    @property
    def longest_unload_s(self) -> float:
        """The longest unload of the models that the instance has, asked for or brought."""
        return max([model.profile.unload_s for model in self._models.values()], default=0.0)

    def has(self, name: str) -> bool:
        """Whether a request for this model begins no load."""
        model = self._memory.get(name)
        return model is not None and model.stage is not ModelStage.LEAVING

    def bring(self, name: str, then: Brought) -> None:
        """Load a model for the requests to come, as for a request. `then` hears whether it is in memory."""
        if self._resting is not None and not in_use(self._memory, name):
            self._resting.called(name, self._kernel.now_s)
        self.going_on += 1
        self._bring((name, then))

    def ended(self, model: InstanceModel, here: bool) -> None:
        """A load is over: each caller of `bring` hears of it, and its use of the model ends."""
        told, model.brought = model.brought or (), None
        for then in told:
            self.going_on -= 1
            if here:
                self._kernel.soon(self._unpin, model.name)
            then(here)

    def _bring(self, wanted: tuple[str, Brought]) -> None:
        name, then = wanted
        plan = self._memory.request(name, self._kernel.now_s)
        if plan is HIT:
            self.going_on -= 1
            self._unpin(name)
            then(True)
        elif plan is WAIT or plan is LEAD:
            model = self._models[name] if plan is WAIT else self._lead(name)
            model.brought = [*(model.brought or ()), then]
        else:
            self._waiters.wait(self._bring, wanted)

    def _unpin(self, name: str) -> None:
        if self._memory.released(name) and (self._waiters.waiting or self._idle.minded):
            self._idle.ended(name)
