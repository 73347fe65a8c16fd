"""Calls of a group in virtual time: each goes to the model that a rule chooses as it comes.

A request of the trace names the group and, after a question mark, its need in the words of CustomAttributes:
`digits?min_accuracy=0.9, latency_ms=20`. A name that begins otherwise is a model's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from torpor.simulator.choosing.choice_rules import ONE_ROW, ChoiceMoment, RuleChoice
from torpor.simulator.engine.call_records import SimulatedCall
from torpor.simulator.engine.simulated_instance import SimulatedInstance
from torpor.workloads.trace import BadTrace
from torpor_container.core.occupancy import ModelStage
from torpor_endpoint.core.model_choice.call_rate import CallRate
from torpor_endpoint.core.model_choice.choosing_model import ModelState, outlook_of, queued_ms
from torpor_endpoint.core.model_choice.model_group import ChoiceGroup, GroupedModel, ModelTier
from torpor_endpoint.core.model_choice.stated_need import BadNeed, StatedNeed, read_need
from torpor_endpoint.core.placement import Placement

MARK = "?"


def need_of(name: str) -> StatedNeed:
    """What a request of the trace needs. Raises BadTrace."""
    text = name.partition(MARK)[2]
    try:
        need = read_need(text)
    except BadNeed as error:
        raise BadTrace(f"the trace has a request {name!r}: {error}") from None
    if need.rows not in (None, ONE_ROW):
        raise BadTrace(f"the trace has a request {name!r}: a simulated request has one row, so leave out rows")
    return need


class AskedNeed(NamedTuple):
    """What one request needed, and whether the model that answered costs more, as reckoned when it was chosen."""

    need: StatedNeed
    dear: bool


@dataclass(eq=False)
class GroupChooser:
    """Chooses the model of each request of the group by a rule. `processors` are those of an instance."""

    group: ChoiceGroup
    rule: Callable[[ChoiceMoment], RuleChoice]
    processors: int

    def __post_init__(self) -> None:
        self._needs: dict[str, StatedNeed] = {}
        self._asked: dict[int, AskedNeed] = {}  # by the identity of a call that has not ended
        self._rate = CallRate()

    def chosen(self, name: str, now_s: float, ready: Placement[SimulatedInstance]) -> SimulatedCall:
        """The request of a name in the trace. Raises BadTrace."""
        if name.partition(MARK)[0] != self.group.name:
            return SimulatedCall(name, now_s)
        need = self._needs.get(name)
        if need is None:
            need = self._needs[name] = need_of(name)
        states = {one.model: self._state(one, ready) for one in self.group.models}
        moment = ChoiceMoment(self.group, need, states, self._rate.called(now_s))
        choice = self.rule(moment)
        if choice.later is not None and ready.count:
            ready.pick(choice.later, begins=False).idle.expect(choice.later)
        call = SimulatedCall(choice.model, now_s)
        self._asked[id(call)] = AskedNeed(need, need.max_cost is not None and self._costs_more(choice.model, moment))
        return call

    def ended(self, call: SimulatedCall) -> AskedNeed | None:
        """What a request that has ended needed; None for one that named a model."""
        return self._asked.pop(id(call), None)

    def _costs_more(self, name: str, moment: ChoiceMoment) -> bool:
        """Whether a model costs more than the request may, or nobody knows what it costs."""
        model = next(one for one in self.group.models if one.model == name)
        cost_usd = outlook_of(model, moment.states[name], ONE_ROW, moment.calls_expected).cost_usd
        return cost_usd is None or cost_usd > (moment.need.max_cost or 0.0)

    def _state(self, model: GroupedModel, ready: Placement[SimulatedInstance]) -> ModelState:
        """Where a model is, on the instance to which a call of it would go, and what waits there."""
        if not ready.count:
            return ModelState(ModelTier.ASLEEP)
        instance = ready.pick(model.model, begins=False)
        return ModelState(
            _tier(instance, model.model), queued_ms(instance.in_flight, self.processors, model.predict_ms(ONE_ROW))
        )


def _tier(instance: SimulatedInstance, model: str) -> ModelTier:
    held = instance.memory.get(model)
    if held is not None and held.stage is ModelStage.HERE:
        return ModelTier.MEMORY
    return ModelTier.DISK if model in instance.disk.stored else ModelTier.S3
