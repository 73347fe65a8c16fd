"""Chooses the model of a group that answers a request: the cheapest of those that meet its need.

For each model it reckons, from the group's file and from where the model is now:

    latency     what is queued before it, its load unless it is in memory, and the prediction of the request's rows
    cost        the dollars of the prediction, and of its part of a load: the load is paid for once, and serves all
                calls that are expected to follow while the model stays in memory

A model whose figures are not known does not meet a need for them. Of two that cost the same, the faster one answers,
then the more accurate one, then the one whose name comes first.

INFaaS (Romero et al., USENIX ATC 2021) chooses by latency and accuracy for each query as well. Its published code
(stanford-mast/INFaaS, src/master/queryfe_server.cc) keeps the models that meet the accuracy and whose prediction meets
the latency; of those that run and are not overloaded it takes the slowest, and if none runs, the one whose load and
prediction together are shortest. This rule differs: it reckons what a load costs, and spreads it over the calls that
will use it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from torpor_endpoint.core.model_choice.model_group import HOUR_S, ChoiceGroup, GroupedModel, ModelTier
from torpor_endpoint.core.model_choice.stated_need import StatedNeed

MS_PER_HOUR: Final = HOUR_S * 1000
OTHERS_TOLD: Final = 8
"""Of so many models a text says why they do not answer: an answer's headers are bounded."""


@dataclass(frozen=True)
class ModelState:
    """Where a model is now, and the milliseconds that a request for it waits for others first."""

    tier: ModelTier
    queued_ms: float = 0.0


ANY: Final = StatedNeed()
IN_MEMORY: Final = ModelState(ModelTier.MEMORY)


@dataclass(frozen=True)
class ModelOutlook:
    """What a request may expect of one model. None: nobody measured what it takes to say it.

    `effort_ms` is what the cost is reckoned from: the prediction, and its part of a load.
    """

    model: GroupedModel
    state: ModelState
    latency_ms: float | None
    effort_ms: float | None

    @property
    def cost_usd(self) -> float | None:
        price = self.model.usd_per_hour
        return None if price is None or self.effort_ms is None else self.effort_ms * price / MS_PER_HOUR

    @property
    def rank(self) -> tuple[float, float, float, str]:
        """Models in the order in which they are preferred. Models without a price are ordered by what they take."""
        effort = inf if self.effort_ms is None else self.effort_ms
        price = 1.0 if self.model.usd_per_hour is None else self.model.usd_per_hour
        latency = inf if self.latency_ms is None else self.latency_ms
        cost = effort * price if effort < inf else inf
        return cost, latency, -(self.model.accuracy or 0.0), self.model.model

    def misses(self, need: StatedNeed) -> tuple[str, ...]:
        """What of the need the model does not meet, in words; nothing for one that meets all of it."""
        return tuple(text for text, _ in self._missed(need))

    def distance(self, need: StatedNeed) -> float:
        """How far the model is from the need: the largest part by which it misses one of its bounds, 0 for none."""
        return max((by for _, by in self._missed(need)), default=0.0)

    def _missed(self, need: StatedNeed) -> Iterable[tuple[str, float]]:
        if need.latency_ms is not None:
            if self.latency_ms is None:
                yield f"its latency from {self.state.tier} is not known", inf
            elif self.latency_ms > need.latency_ms:
                over = self.latency_ms / need.latency_ms - 1
                yield f"it takes {_figure(self.latency_ms)} ms from {self.state.tier}", over
        if need.min_accuracy is not None:
            if self.model.accuracy is None:
                yield "its accuracy is not known", inf
            elif self.model.accuracy < need.min_accuracy:
                yield f"its accuracy is {_figure(self.model.accuracy)}", 1 - self.model.accuracy / need.min_accuracy
        if need.max_cost is not None:
            if self.cost_usd is None:
                yield "its cost is not known", inf
            elif self.cost_usd > need.max_cost:
                yield f"it costs ${_figure(self.cost_usd)}", self.cost_usd / need.max_cost - 1


@dataclass(frozen=True)
class ModelChoice:
    """The model that answers, and why the others do not. `misses` is what of the need it does not meet: nothing, unless
    the request takes the nearest: `later` is the model that meets it once it is in memory and nothing is queued before
    it. `others` has, by model, why it does not answer."""

    group: str
    rows: int
    outlook: ModelOutlook
    misses: tuple[str, ...] = ()
    others: Mapping[str, str] | None = None
    need: StatedNeed = ANY
    later: str | None = None

    @property
    def model(self) -> str:
        return self.outlook.model.model


class NeedNotMet(Exception):
    """No model meets the need. `later` is the model that will, once it is in memory and nothing is queued before it;
    None if none would. The text says what each model misses."""

    def __init__(self, text: str, later: str | None) -> None:
        super().__init__(text)
        self.later = later


def queued_ms(in_flight: int, processors: int, predict_ms: float | None) -> float:
    """How long a call waits at an instance for the `in_flight` ones that it has, if each takes as long as this one and
    a processor does one at a time."""
    return max(0, in_flight + 1 - processors) / processors * (predict_ms or 0.0)


def outlook_of(model: GroupedModel, state: ModelState, rows: int, calls_expected: float) -> ModelOutlook:
    """What a request of so many rows may expect of a model. `calls_expected`, at least 1, is how many calls a load
    would serve."""
    predict_ms, load_ms = model.predict_ms(rows), model.loaded_within_ms(state.tier)
    if predict_ms is None:
        return ModelOutlook(model, state, None, None)
    latency_ms = None if load_ms is None else state.queued_ms + load_ms + predict_ms
    paid_ms = model.loaded_within_ms(ModelTier.S3) if state.tier is ModelTier.ASLEEP else load_ms  # a wake is nobody's
    effort_ms = None if paid_ms is None else predict_ms + paid_ms / max(calls_expected, 1.0)
    return ModelOutlook(model, state, latency_ms, effort_ms)


def outlooks_of(
    group: ChoiceGroup, states: Mapping[str, ModelState], rows: int, calls_expected: float = 1.0
) -> list[ModelOutlook]:
    """What a request may expect of each model that has a state: the others are not there, or not for this caller."""
    found = [(model, states.get(model.model)) for model in group.models]
    return [outlook_of(model, state, rows, calls_expected) for model, state in found if state is not None]


def choose_model(
    group: ChoiceGroup, need: StatedNeed, states: Mapping[str, ModelState], rows: int, calls_expected: float = 1.0
) -> ModelChoice:
    """The model that answers. `rows` is how many rows the request has. Raises NeedNotMet."""
    outlooks = outlooks_of(group, states, rows, calls_expected)
    meeting = [one for one in outlooks if not one.misses(need)]
    if not meeting and not (need.nearest and outlooks):
        raise NeedNotMet(_told(group, need, outlooks), _later(group, need, states, rows))
    best = min(meeting or outlooks, key=lambda one: (one.distance(need), *one.rank))
    others = {one.model.model: "; ".join(one.misses(need)) or _worse(one, best) for one in outlooks if one is not best}
    later = None if meeting else _later(group, need, states, rows)
    return ModelChoice(group.name, rows, best, best.misses(need), others, need, later)


def told_need(need: StatedNeed) -> str:
    """The need in the words of CustomAttributes."""
    bounds = {"latency_ms": need.latency_ms, "min_accuracy": need.min_accuracy, "max_cost": need.max_cost}
    return ", ".join(f"{name}={value:g}" for name, value in bounds.items() if value is not None)


def told_choice(choice: ModelChoice) -> str:
    """The choice on one line, for the header of an answer."""
    one = choice.outlook
    known = {
        "group": choice.group,
        "model": choice.model,
        "from": one.state.tier.value,
        "rows": str(choice.rows),
        "latency_ms": None if one.latency_ms is None else _figure(one.latency_ms),
        "queued_ms": _figure(one.state.queued_ms) if one.state.queued_ms else None,
        "accuracy": None if one.model.accuracy is None else _figure(one.model.accuracy),
        "cost_usd": None if one.cost_usd is None else _figure(one.cost_usd),
        "misses": " and ".join(choice.misses) or None,
    }
    chosen = "; ".join(f"{name}={value}" for name, value in known.items() if value is not None)
    others = list((choice.others or {}).items())
    more = len(others) - OTHERS_TOLD
    told = chosen + "".join(f"; not {model}: {why}" for model, why in others[:OTHERS_TOLD])
    return f"{told}; nor {more} more" if more > 0 else told


def _told(group: ChoiceGroup, need: StatedNeed, outlooks: Sequence[ModelOutlook]) -> str:
    each = [f"{one.model.model}: {' and '.join(one.misses(need))}" for one in outlooks]
    if not each:
        return f"No model of group {group.name} is there"
    more = f"; and {len(each) - OTHERS_TOLD} more" if len(each) > OTHERS_TOLD else ""
    return f"No model of group {group.name} meets {told_need(need)}: {'; '.join(each[:OTHERS_TOLD])}{more}"


def _later(group: ChoiceGroup, need: StatedNeed, states: Mapping[str, ModelState], rows: int) -> str | None:
    """The model that would answer if all were in memory and idle, where that is all that is missing."""
    warm = outlooks_of(group, dict.fromkeys(states, IN_MEMORY), rows)
    meeting = [one for one in warm if not one.misses(need)]
    return min(meeting, key=lambda one: one.rank).model.model if meeting else None


def _worse(one: ModelOutlook, best: ModelOutlook) -> str:
    """Why a model that meets the need does not answer."""
    if one.effort_ms is None:
        return "its load was not measured"
    if one.rank[0] > best.rank[0]:
        return "it costs more" if one.cost_usd is None else f"it costs ${_figure(one.cost_usd)}"
    return "it is no cheaper"


def _figure(value: float) -> str:
    return f"{value:.4g}"
