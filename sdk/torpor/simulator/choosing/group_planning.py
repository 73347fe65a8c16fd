"""`torpor.plan_group`: the cheapest hardware by which enough requests of a group get what they need.

Always-on scenarios are played first, from the cheapest up, until one meets the goal: each with the first policy, and
with the others where not all models have room. One that has no more of anything than one that missed is passed over.
Then come those that sleep or scale, from the instances that met it, and Torpor's own serverless variants. The rule by
which a model is chosen is the endpoint's own.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path

import numpy as np

from torpor.simulator.choosing.choice_comparison import group_inputs, play_choice, read_group_text
from torpor.simulator.choosing.choice_outcomes import ChoiceOutcome
from torpor.simulator.choosing.choice_rules import ONE_ROW, RuleName
from torpor.simulator.choosing.grouped_simulation import MARK, need_of
from torpor.simulator.planning.plan_space import PlanSpace
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.serverless_terms import CONCURRENCY_MOST, SIZES_MIB
from torpor.simulator.simulation_inputs import SimulationInputs
from torpor.value_rules import COUNT, SHARE, Kind, a, check, optional
from torpor.workloads import Trace
from torpor_endpoint.core.model_choice.choosing_model import IN_MEMORY, NeedNotMet, choose_model
from torpor_endpoint.core.model_choice.model_group import ChoiceGroup
from torpor_endpoint.core.pricing.prices import PRICES, Prices
from torpor_endpoint.core.resource_records import Serverless

LATE_MAX = 0.01
"""The largest share of calls whose need a plan may miss, unless it is given another."""
PLAYED_MAX = 1_000_000
"""The most requests of a trace that are played for each scenario, from its beginning."""
STOPPED_AT = 2
"""A simulation is stopped after this multiple of the allowed misses."""
ARGUMENTS: Mapping[str, Kind] = {
    "quantile": SHARE,
    "space": optional(a(PlanSpace, "is a torpor.PlanSpace")),
    "prices": a(Prices, "is the .prices of a price list, as torpor.prices.read(file).prices"),
    "played_max": COUNT,
}


@dataclass(frozen=True)
class GroupTrial:
    """A scenario and what the group's calls came to in it."""

    scenario: Scenario
    outcome: ChoiceOutcome
    meets: bool

    def usd_per_month(self, prices: Prices = PRICES) -> float | None:
        return self.outcome.usd_per_month(prices)


@dataclass(frozen=True)
class GroupPlan:
    """The cheapest scenario by which at most `missed_max` of the calls miss their need, and all that were played.
    `unmet` says, if no scenario can meet that, how many calls need what no model of the group gives."""

    group: ChoiceGroup
    missed_max: float
    trials: Sequence[GroupTrial] = field(repr=False)
    requests: int = 0
    prices: Prices = field(default=PRICES, repr=False)
    unmet: str = ""
    assumed: Sequence[str] = ()

    @property
    def outcomes(self) -> Sequence[ChoiceOutcome]:
        return [one.outcome for one in self.trials]

    @property
    def best(self) -> GroupTrial | None:
        """The cheapest trial that meets the goal; of equal ones, that with the fewest misses."""

        def rank(one: GroupTrial) -> tuple[float, int]:
            usd = one.outcome.usd(self.prices)
            return inf if usd is None else round(usd, 6), one.outcome.missed

        return min((one for one in self.trials if one.meets), key=rank, default=None)

    @property
    def chosen(self) -> ChoiceOutcome | None:
        return None if self.best is None else self.best.outcome


def plan_choice(
    trace: Trace | Path | str,
    group: ChoiceGroup | Path | str,
    scenarios: Iterable[Scenario],
    *,
    late_max: float = LATE_MAX,
    prices: Prices = PRICES,
    seed: int = 0,
) -> GroupPlan:
    """The cheapest of these scenarios by which at most this share of a group's calls miss their need, by the endpoint's
    own rule; None as `chosen` if none is. Raises as `simulate_choice`."""
    search = _search(trace, group, late_max, PlanSpace(), prices, seed, None, None)
    for one in scenarios:
        search.play(one, stops=False)
    return search.plan()


def plan_group(
    trace: Trace | Path | str,
    group: ChoiceGroup | Path | str,
    *,
    quantile: float = 1 - LATE_MAX,
    space: PlanSpace | None = None,
    prices: Prices = PRICES,
    seed: int = 0,
    lasts_s: float | None = None,
    played_max: int = PLAYED_MAX,
    says: Callable[[str], None] = lambda what: None,
) -> GroupPlan:
    """The cheapest hardware by which the share `quantile` of a group's calls get what they need.

    `trace` and `group` are as of `torpor.simulate_choice`, `space` and `prices` as of `torpor.plan`. `says` is called
    with each scenario before it is played. Raises as `simulate_choice`, and BadScenario.
    """
    given = {"quantile": quantile, "space": space, "prices": prices, "played_max": played_max}
    check(BadScenario, ARGUMENTS, given)
    search = _search(trace, group, 1 - quantile, space or PlanSpace(), prices, seed, lasts_s, played_max, says)
    if not search.unmet:
        search.run()
    return search.plan()


# -- inside ------------------------------------------------------------------------------------------------------------
@dataclass(eq=False)
class _GroupSearch:
    group: ChoiceGroup
    missed_max: float
    space: PlanSpace
    prices: Prices
    inputs: SimulationInputs
    says: Callable[[str], None]
    requests: int
    unmet: str
    trials: list[GroupTrial] = field(default_factory=list)

    def run(self) -> None:
        served = next((one for one in map(self._with_policies, self._worth_trying()) if one is not None), None)
        ways = [] if served is None else list(self.space.scaled(served.scenario))
        for scenario in (one for way in ways for one in way):
            self._with_policies(scenario)
        any(map(self._with_policies, self._serverless()))  # a larger one costs more

    def play(self, scenario: Scenario, *, stops: bool = True) -> GroupTrial:
        """Play a scenario. `stops`: no further than its misses show how far it is from the goal."""
        self.says(scenario.name)
        most = self.missed_max * self.requests
        outcome = play_choice(self.group, RuleName.TORPOR, self.inputs, scenario, most * STOPPED_AT if stops else inf)
        meets = outcome.result is not None and outcome.missed <= most + 1e-6  # a share in binary is a little off
        self.trials.append(GroupTrial(scenario, outcome, meets))
        return self.trials[-1]

    def plan(self) -> GroupPlan:
        notes = self.inputs.notes
        return GroupPlan(self.group, self.missed_max, self.trials, self.requests, self.prices, self.unmet, notes)

    def _with_policies(self, scenario: Scenario) -> GroupTrial | None:
        """The trial with the first policy that meets the goal. Where all models have room, one policy is enough."""
        roomy = scenario.models_bytes >= sum(one.size_bytes or 0 for one in self.group.models)
        for policy in self.space.policies[:1] if roomy else self.space.policies:
            tried = self.play(scenario.altered(policy=policy))
            if tried.meets:
                return tried
        return None

    def _worth_trying(self) -> Iterator[Scenario]:
        """The always-on scenarios that have room for each model, the cheapest first, without those that have no more
        of anything than one that missed."""
        for one in self.space.always_on(self.prices):
            missed = (trial.scenario for trial in self.trials if not trial.meets)
            if one.models_bytes >= self._largest_bytes and not any(_within(one, other) for other in missed):
                yield one

    def _serverless(self) -> Iterator[Scenario]:
        """Torpor's serverless variants that have room for each model, the smallest first; none if nothing may sleep."""
        for memory_mib in () if self.space.aws_strict or not self.space.idle_s else SIZES_MIB:
            one = self.space.like.altered(serverless=Serverless(memory_mib, CONCURRENCY_MOST))
            if one.models_bytes >= self._largest_bytes:
                yield one

    @property
    def _largest_bytes(self) -> int:
        return max(one.size_bytes or 0 for one in self.group.models)


def _search(
    trace: Trace | Path | str,
    group: ChoiceGroup | Path | str,
    missed_max: float,
    space: PlanSpace,
    prices: Prices,
    seed: int,
    lasts_s: float | None,
    played_max: int | None,
    says: Callable[[str], None] = lambda what: None,
) -> _GroupSearch:
    found = group if isinstance(group, ChoiceGroup) else read_group_text(Path(group))
    inputs = group_inputs(trace, found, seed, lasts_s, played_max)
    if space.like == Scenario():
        space = replace(space, like=inputs.scenario)
    calls = _calls_by_need(inputs.trace, found)
    unmet = _unmet(found, calls, missed_max)
    return _GroupSearch(found, missed_max, space, prices, inputs, says, sum(calls.values()), unmet)


def _calls_by_need(trace: Trace, group: ChoiceGroup) -> dict[str, int]:
    """How many requests for the group the trace has of each name, which holds their need."""
    calls = Counter[int]()
    for chunk in trace.chunks():
        numbers, counts = np.unique(chunk.models, return_counts=True)
        calls.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
    names = {trace.names[number]: count for number, count in calls.items()}
    return {name: count for name, count in names.items() if name.partition(MARK)[0] == group.name}


def _unmet(group: ChoiceGroup, calls: Mapping[str, int], missed_max: float) -> str:
    """What no model of the group gives, even in memory and without a queue, if too many calls need it."""
    missed, told = 0, ""
    for name, count in sorted(calls.items(), key=lambda one: -one[1]):
        try:
            choose_model(
                group,
                replace(need_of(name), nearest=False),
                {one.model: IN_MEMORY for one in group.models},
                ONE_ROW,
                inf,
            )
        except NeedNotMet as error:
            missed += count
            told = told or str(error)
    of = sum(calls.values())
    return f"{missed / of:.2%} of the calls need what no model gives. {told}" if missed > missed_max * of + 1e-6 else ""


def _within(one: Scenario, other: Scenario) -> bool:
    """Whether an always-on scenario has no more instances, processors or memory than another."""
    return (
        one.instances <= other.instances
        and (one.threads or one.vcpus) <= (other.threads or other.vcpus)
        and one.models_bytes <= other.models_bytes
    )
