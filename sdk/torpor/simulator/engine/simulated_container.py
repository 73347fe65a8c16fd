"""The containers of a simulated pipeline beside the one that has the models: each always serves the same model.

Which container a request comes to next, the endpoint's own machine decides (`torpor_endpoint.core.sending.machine`).
"""

from dataclasses import dataclass, field
from math import inf
from typing import Generic, NamedTuple

from torpor.simulator.engine.call_records import Predictor, SimulatedCall
from torpor.simulator.engine.processors import Processors
from torpor.simulator.engine.simulated_predictions import SimulatedPredictions
from torpor.simulator.engine.virtual_time import Action, Kernel
from torpor.workloads.profile import EXACT, ContainerProfile, Spread
from torpor_container.core.turns import Turns
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.sending.machine import ABSENT, FAULT, Sending, SendingRules
from torpor_endpoint.core.sending.session_holders import Instance
from torpor_endpoint.core.sending.trail import Headers, Trail
from torpor_endpoint.core.sessions import SessionHolder, StatefulSessions


@dataclass(slots=True, eq=False)
class SimulatedContainer:
    """`processors` are those of the instance, which all its containers share. `then` is called with each request that
    has its answer; its instance sets it before the first one."""

    kernel: Kernel
    profile: ContainerProfile
    turns: Turns[SimulatedCall]
    processors: Processors
    spread: Spread = EXACT
    then: Action = field(init=False)
    _model: Predictor = field(init=False)
    _predictions: SimulatedPredictions = field(init=False)

    def __post_init__(self) -> None:
        self._model = Predictor(self.profile.predict_s, self.profile.predict_delay_s, self.profile.workers)
        self._predictions = SimulatedPredictions(self.kernel, self.turns, self.processors, self.spread, self._predicted)

    def ask(self, call: SimulatedCall) -> None:
        """Serve a request."""
        self._predictions.ask(call, self._model)

    def _predicted(self, call: SimulatedCall) -> None:
        self.then(call)


class PassedContainer(NamedTuple):
    """A container of a pipeline, as the machine of a request sees it."""

    name: str
    multi_model: bool = False


class SimulatedPipeline(Generic[Instance]):
    """The instances of a pipeline as the machine of a request sees them: their connections never break."""

    names_holders = False
    neighbours: None = None

    def __init__(self, ready: Placement[Instance], containers: int, models_at: int = 0) -> None:
        """`models_at` is the place of the container with the models."""
        self.ready = ready
        self.sessions = StatefulSessions()
        self._path = tuple(range(containers))
        self._containers = [PassedContainer(str(place), place == models_at) for place in self._path]
        self._limits_s = [inf] * containers

    def chosen(self, call: SimulatedCall, now_s: float) -> Instance:
        """The instance for a new request, which gets its machine. One is ready."""
        trail, rules, key = Trail(), SendingRules(), call.model
        sending = Sending(self, self._containers, self._path, self._limits_s, 0.0, {}, None, key, [], rules, trail)
        call.sending = sending
        sending.ready(now_s)
        assert sending.instance is not None, "an instance is ready"
        return sending.instance

    def released(self, instance: Instance) -> None:
        instance.answered()

    def suspect(self, instance: Instance) -> None:
        """Its connections never break."""

    def goes_on(self, instance: Instance, container: int) -> bool:
        return True

    def lacked_room(self, instance: Instance, container: int) -> None:
        """Its containers share no memory."""

    def holder(self, instance: Instance) -> SessionHolder:
        raise NotImplementedError("a simulated request has no session")


class SimulatedAnswer:
    """A container's answer, which has no bytes."""

    def __init__(self, status: int = 200, fault: bytes | None = None) -> None:
        self.status = status
        self.headers: Headers = []
        self.chunks: list[bytes] = []
        self.alike = b""
        self._fault = fault

    def header(self, name: bytes) -> bytes | None:
        return self._fault if name == FAULT else None


WELL = SimulatedAnswer()
MODEL_GONE = SimulatedAnswer(404, ABSENT)
"""What a model's former owner says that has it in memory no longer."""
