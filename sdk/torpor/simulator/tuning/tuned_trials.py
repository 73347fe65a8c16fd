"""Judges choices by simulation, each scenario once, and none that is known to be of no use."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf

from torpor.simulator.planning.search import SAVES_MIN, PlanCandidate, Search
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.tuning.tune_space import Chosen, TuneSpace

NO_ROOM = 1.0
"""How far a scenario that nobody can deploy counts as above the allowed share of late requests."""
UNPRICED_USD = 1e9
TOO_DEAR = "it cannot be cheaper than what was found"


@dataclass(frozen=True, eq=False)
class TunedTrial:
    """What became of a choice: its price a month, or the least that it can be; and how far the share of late requests
    is above the allowed one, 0 or less if it meets the goal, or is too dear to be of use."""

    scenario: Scenario | None  # None: it cannot be deployed
    why_not: str
    usd: float
    too_late: float
    candidate: PlanCandidate | None = None  # None: it was not simulated

    @property
    def meets(self) -> bool:
        return self.candidate is not None and self.candidate.meets

    @property
    def too_dear(self) -> bool:
        """Whether it was not simulated, since it costs at least `usd`."""
        return self.candidate is None and self.scenario is not None

    @property
    def evicts_nothing(self) -> bool:
        """Whether every eviction policy would do the same."""
        result = None if self.candidate is None else self.candidate.result
        return result is not None and not result.evictions

    def alike(self, scenario: Scenario) -> "TunedTrial":
        """The same outcome, of a scenario with another policy that would have done the same."""
        if self.candidate is None:
            return replace(self, scenario=scenario)
        results = [replace(one, scenario=scenario) for one in self.candidate.results]
        return replace(self, scenario=scenario, candidate=replace(self.candidate, scenario=scenario, results=results))

    @property
    def rank(self) -> tuple[float, float]:
        """The sort key among those that meet the goal, lowest first: the price, and then the share of late requests."""
        return round(self.usd, 2), self.too_late


@dataclass(eq=False)
class TrialJudge:
    """Judges choices of a space, within a number of simulations. `tried` has what was judged, in its order."""

    search: Search
    space: TuneSpace
    evaluations_max: int
    expired: Callable[[], bool] = lambda: False
    tried: dict[Scenario, TunedTrial] = field(default_factory=dict)
    choices: dict[Scenario, Chosen] = field(default_factory=dict)  # one of those that make the scenario
    dear: dict[Scenario, TunedTrial] = field(default_factory=dict)  # those that were too dear to be simulated
    evaluations: int = 0
    best: TunedTrial | None = None

    @property
    def over(self) -> bool:
        """Whether no further simulation is allowed."""
        return self.evaluations >= self.evaluations_max or self.expired()

    def judge(self, chosen: Chosen, as_cheap: bool = False) -> tuple[TunedTrial, bool]:
        """What becomes of a choice, and whether that was not known before. One that cannot cost less than the best so
        far is not simulated; with `as_cheap`, it is if it may cost the same."""
        try:
            scenario = self.space.scenario(chosen)
        except BadScenario as error:
            return TunedTrial(None, str(error), UNPRICED_USD, NO_ROOM), True
        self.choices.setdefault(scenario, chosen)
        if (known := self._known(scenario)) is not None:
            return known, False
        least = self.search.usd_least(scenario)
        least = UNPRICED_USD if least == inf else least
        if self.best is not None and least > self.best.usd * (1.0 if as_cheap else 1 - SAVES_MIN):
            new = scenario not in self.dear
            self.dear[scenario] = dear = TunedTrial(scenario, TOO_DEAR, least, 0.0)
            return dear, new
        candidate = self.search.judged(scenario)
        trial = self._trial(scenario, candidate, least)
        self._keep(trial)
        if candidate.simulated:
            self.evaluations += 1
        return trial, True

    def known(self, chosen: Chosen) -> TunedTrial | None:
        """What is known of a choice without a further simulation: also that it cannot be deployed, or costs more than
        the best. None if nothing is."""
        try:
            scenario = self.space.scenario(chosen)
        except BadScenario as error:
            return TunedTrial(None, str(error), UNPRICED_USD, NO_ROOM)
        self.choices.setdefault(scenario, chosen)
        if (known := self._known(scenario)) is not None:
            return known
        dear = self.dear.get(scenario)
        return dear if dear is not None and self.best is not None and dear.usd > self.best.usd else None

    def _known(self, scenario: Scenario) -> TunedTrial | None:
        """What is known of the scenario. Where no model was evicted, another policy would have done the same."""
        found = self.tried.get(scenario)
        if found is not None:
            return found
        for policy in self.space.policies:
            other = self.tried.get(scenario.altered(policy=policy))
            if other is not None and other.evicts_nothing:
                self.tried[scenario] = other.alike(scenario)
                return self.tried[scenario]
        return None

    def prefer(self, trial: TunedTrial, chosen: Chosen) -> None:
        """Take a trial that is as good as the best for the best."""
        assert trial.scenario is not None
        self.best, self.choices[trial.scenario] = trial, chosen

    def met(self) -> list[TunedTrial]:
        """What meets the goal, the best first."""
        return sorted(
            (one for one in self.tried.values() if one.meets), key=lambda one: (one.rank, one is not self.best)
        )

    def _keep(self, trial: TunedTrial) -> None:
        assert trial.scenario is not None
        self.tried[trial.scenario] = trial
        if trial.meets and (self.best is None or trial.rank < self.best.rank):
            self.best = trial

    def _trial(self, scenario: Scenario, candidate: PlanCandidate, least_usd: float) -> TunedTrial:
        goal, allowed = self.search.goal, 1 - self.search.goal.quantile
        if candidate.result is not None:
            usd = candidate.result.usd_per_month(self.search.prices)
            late = candidate.result.slo_misses(goal.slo_s) - allowed
            too_late = min(late, 0.0) if candidate.meets else max(late, 1e-9)
            return TunedTrial(scenario, candidate.why_not, UNPRICED_USD if usd is None else usd, too_late, candidate)
        late = NO_ROOM if candidate.late_so_far is None else max(candidate.late_so_far - allowed, 1e-9)
        return TunedTrial(scenario, candidate.why_not, least_usd, late, candidate)
