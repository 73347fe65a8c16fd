"""A variant in virtual time whose calls name a group: each goes to the model that a rule chooses as it comes.

A request of the trace names the group and, after a question mark, its need in the words of CustomAttributes:
`digits?min_accuracy=0.9, latency_ms=20`. A name that begins otherwise is a model's.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torpor.simulator.choosing.choice_rules import ONE_ROW, ChoiceMoment, RuleChoice, own_rule
from torpor.simulator.engine.call_records import SimulatedCall
from torpor.simulator.engine.simulated_instance import SimulatedInstance
from torpor.simulator.engine.simulated_variant import Simulation
from torpor.workloads.trace import BadTrace
from torpor_container.core.occupancy import ModelStage
from torpor_endpoint.core.model_choice.call_rate import CallRate
from torpor_endpoint.core.model_choice.choosing_model import ModelState, queued_ms
from torpor_endpoint.core.model_choice.model_group import ChoiceGroup, GroupedModel, ModelTier
from torpor_endpoint.core.model_choice.stated_need import BadNeed, StatedNeed, read_need

MARK = "?"
NO_GROUP = ChoiceGroup("", ())


class GroupedCall(SimulatedCall):
    """A request of a group. Its `model` is the chosen one."""

    __slots__ = ("need",)
    need: StatedNeed


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


@dataclass(eq=False)
class GroupedSimulation(Simulation):
    """`choose` is the rule. `group` must be given."""

    group: ChoiceGroup = NO_GROUP
    choose: Callable[[ChoiceMoment], RuleChoice] = own_rule

    def __post_init__(self) -> None:
        self._needs: dict[str, StatedNeed] = {}
        self._rate = CallRate()
        self.make_call = self._chosen
        super().__post_init__()

    def _chosen(self, name: str, now_s: float) -> SimulatedCall:
        if name.partition(MARK)[0] != self.group.name:
            return SimulatedCall(name, now_s)
        need = self._needs.get(name)
        if need is None:
            need = self._needs[name] = need_of(name)
        states = {one.model: self._state(one) for one in self.group.models}
        moment = ChoiceMoment(self.group, need, states, self._rate.called(now_s))
        choice = self.choose(moment)
        if choice.later is not None and self._ready.count:
            self._ready.pick(choice.later).expect(choice.later)
        call = GroupedCall(choice.model, now_s)
        call.need = need
        return call

    def _state(self, model: GroupedModel) -> ModelState:
        """Where a model is, on the instance to which a call of it would go, and what waits there."""
        if not self._ready.count:
            return ModelState(ModelTier.ASLEEP)
        instance = self._ready.pick(model.model)
        machine = self.plan.machine
        waits_ms = queued_ms(instance.in_flight, machine.processors or machine.threads, model.predict_ms(ONE_ROW))
        return ModelState(_tier(instance, model.model), waits_ms)


def _tier(instance: SimulatedInstance, model: str) -> ModelTier:
    held = instance.memory.get(model)
    if held is not None and held.stage is ModelStage.HERE:
        return ModelTier.MEMORY
    return ModelTier.DISK if model in instance.disk.stored else ModelTier.S3
