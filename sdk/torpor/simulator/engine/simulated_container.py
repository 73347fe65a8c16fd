"""A container of a simulated pipeline beside the one that has the models: it always serves the same model."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from torpor.simulator.engine.call_records import Predictor, SimulatedCall
from torpor.simulator.engine.processors import Processors
from torpor.simulator.engine.simulated_predictions import SimulatedPredictions
from torpor.simulator.engine.virtual_time import Action, Kernel
from torpor.workloads.profile import EXACT, ContainerProfile, Spread
from torpor_container.core.turns import Turns


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
    _model: Predictor = field(init=False)
    _predictions: SimulatedPredictions = field(init=False)

    def __post_init__(self) -> None:
        self._model = Predictor(self.profile.predict_s, self.profile.predict_delay_s)
        self._predictions = SimulatedPredictions(self.kernel, self.turns, self.processors, self.spread, self._predicted)

    def ask(self, call: SimulatedCall) -> None:
        """Serve a request, which comes from the router or from the container before."""
        call.entered_s = self.kernel.now_s
        self._predictions.ask(call, self._model)

    def _predicted(self, call: SimulatedCall) -> None:
        call.spent_s.append(call.done_s - call.entered_s)
        self.then(call)


def linked(containers: Sequence[SimulatedContainer], then: Action) -> SimulatedContainer | None:
    """The first of these containers, of which each passes its requests on to the next one, and the last one to `then`.
    None if there is none."""
    for container in reversed(containers):
        container.then = then
        then = container.ask
    return containers[0] if containers else None
