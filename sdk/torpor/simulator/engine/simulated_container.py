"""A container of a simulated pipeline beside the one that has the models: it always serves the same model.

This module decides nothing. `torpor_container.core.turns` decides which request predicts next, as in every container.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from torpor.simulator.engine.call_records import SimulatedCall
from torpor.simulator.engine.processors import Processors
from torpor.simulator.engine.virtual_time import Action, Kernel
from torpor.workloads.profile import EXACT, ContainerProfile, Spread
from torpor_container.core.turns import ModelQueue, Turns


@dataclass(slots=True, eq=False)
class SimulatedContainer:
    """`processors` are those of the instance, which all its containers share. `then` is called with each request that
    has its answer; the pipeline sets it before the first one."""

    kernel: Kernel
    profile: ContainerProfile
    turns: Turns[SimulatedCall]
    processors: Processors
    spread: Spread = EXACT
    then: Action = field(init=False)
    _queue: ModelQueue = field(default_factory=ModelQueue)

    def ask(self, call: SimulatedCall) -> None:
        """Serve a request, which comes from the router or from the container before."""
        call.entered_s = now_s = self.kernel.now_s
        charged_s = self.turns.begin(self._queue)
        if charged_s is None:
            self.turns.wait(self._queue, call, now_s)
            self._give_turns()
        else:
            self._predict(call, charged_s)

    def _give_turns(self) -> None:
        while turn := self.turns.next(self.kernel.now_s):
            self._predict(turn.requests[0], turn.charged_s)

    def _predict(self, call: SimulatedCall, charged_s: float) -> None:
        call.charged_s, call.predict_began_s = charged_s, self.kernel.now_s
        if self.profile.predict_delay_s:
            self.kernel.after(self.profile.predict_delay_s, self._compute, call)
        else:
            self._compute(call)

    def _compute(self, call: SimulatedCall) -> None:
        self.processors.after(self.profile.predict_s * self.spread.predict(), self._done, call)

    def _done(self, call: SimulatedCall) -> None:
        now_s = self.kernel.now_s
        self.turns.ended(self._queue, call.charged_s, now_s - call.predict_began_s)
        if self.turns.waiting:
            self._give_turns()
        call.spent_s.append(now_s - call.entered_s)
        self.then(call)


def linked(containers: Sequence[SimulatedContainer], then: Action) -> SimulatedContainer | None:
    """The first of these containers, of which each passes its requests on to the next one, and the last one to `then`.
    None if there is none."""
    for container in reversed(containers):
        container.then = then
        then = container.ask
    return containers[0] if containers else None
