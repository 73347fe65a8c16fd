"""The rules by which a model of a group may be chosen: the endpoint's own, and three that are shown beside it."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from math import inf
from typing import Final, NamedTuple

from torpor_endpoint.core.model_choice.choosing_model import ModelOutlook, ModelState, choose_model, outlooks_of
from torpor_endpoint.core.model_choice.model_group import ChoiceGroup, ModelTier
from torpor_endpoint.core.model_choice.stated_need import StatedNeed

ONE_ROW: Final = 1


class ChoiceMoment(NamedTuple):
    """What a rule knows of one call. `calls_expected` is how many calls a load would serve, itself included."""

    group: ChoiceGroup
    need: StatedNeed
    states: Mapping[str, ModelState]
    calls_expected: float

    def outlooks(self) -> list[ModelOutlook]:
        return outlooks_of(self.group, self.states, ONE_ROW, self.calls_expected)


class RuleChoice(NamedTuple):
    """The model that answers, and one that is loaded for later calls."""

    model: str
    later: str | None = None


class RuleName(StrEnum):
    """`torpor` is the endpoint's own rule."""

    TORPOR = "torpor"
    INFAAS = "infaas"
    BEST = "always the best"
    FASTEST = "always the fastest"


def own_rule(moment: ChoiceMoment) -> RuleChoice:
    """The model that the endpoint would choose. Where none meets the need, the nearest one."""
    need = StatedNeed(moment.need.latency_ms, moment.need.min_accuracy, moment.need.max_cost, nearest=True)
    found = choose_model(moment.group, need, moment.states, ONE_ROW, moment.calls_expected)
    return RuleChoice(found.model, found.later)


def best(moment: ChoiceMoment) -> RuleChoice:
    """The most accurate model, whatever it takes."""
    return RuleChoice(max(moment.group.models, key=lambda one: (one.accuracy or 0.0, one.model)).model)


def fastest(moment: ChoiceMoment) -> RuleChoice:
    """The model whose prediction takes the least, wherever it is."""
    return _least(moment.outlooks(), _predict_ms)


def infaas(moment: ChoiceMoment) -> RuleChoice:
    """INFaaS's rule, as its published code has it (stanford-mast/INFaaS, src/master/queryfe_server.cc).

    Among the models that meet the accuracy and whose prediction meets the latency, the slowest of those that run and
    are not overloaded answers; if none runs, the one whose load and prediction together are shortest.

    The code refuses where no model meets the need. Here the fastest of the most accurate models answers then, since
    every rule is counted over the same calls. A model counts as overloaded if its queue makes the call late.
    """
    need, outlooks = moment.need, moment.outlooks()
    most_ms = inf if need.latency_ms is None else need.latency_ms
    accurate = [one for one in outlooks if (one.model.accuracy or 0.0) >= (need.min_accuracy or 0.0)]
    meeting = [one for one in accurate if _predict_ms(one) <= most_ms]
    if not meeting:
        among = accurate or [max(outlooks, key=lambda one: one.model.accuracy or 0.0)]
        return _least(among, _predict_ms)
    running = [one for one in meeting if one.state.tier is ModelTier.MEMORY]
    free = [one for one in running if one.state.queued_ms + _predict_ms(one) <= most_ms]
    if free:
        return RuleChoice(max(free, key=lambda one: (_predict_ms(one), one.model.model)).model.model)
    return _least(running or meeting, _latency_ms)


RULES: Final[Mapping[RuleName, Callable[[ChoiceMoment], RuleChoice]]] = {
    RuleName.TORPOR: own_rule,
    RuleName.INFAAS: infaas,
    RuleName.BEST: best,
    RuleName.FASTEST: fastest,
}


def _least(among: Sequence[ModelOutlook], figure: Callable[[ModelOutlook], float]) -> RuleChoice:
    return RuleChoice(min(among, key=lambda one: (figure(one), one.model.model)).model.model)


def _predict_ms(one: ModelOutlook) -> float:
    took_ms = one.model.predict_ms(ONE_ROW)
    return inf if took_ms is None else took_ms


def _latency_ms(one: ModelOutlook) -> float:
    return inf if one.latency_ms is None else one.latency_ms
