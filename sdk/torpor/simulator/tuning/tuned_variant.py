"""`torpor.tune`: tunes all settings of a variant together, by an optimiser over the simulator."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from torpor.extras import require
from torpor.simulator.planning.plan_space import Goal
from torpor.simulator.planning.search import PlanCandidate, Search
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.simulation_inputs import Profiles, SimulationInputs, Spreads, load, requests_of
from torpor.simulator.simulation_run import run
from torpor.simulator.tuning.proposals import Proposals
from torpor.simulator.tuning.tune_result import (
    INTERRUPTED,
    LEFT_OUT,
    NO_BATCHES,
    NO_TREES,
    NOTHING_NEW,
    OUT_OF_TIME,
    USED_UP,
    TuneResult,
)
from torpor.simulator.tuning.tune_space import TuneSpace, sizes_of
from torpor.simulator.tuning.tuned_effects import effects
from torpor.simulator.tuning.tuned_trees import MeasuredTrees, with_trees
from torpor.simulator.tuning.tuned_trials import TrialJudge
from torpor.simulator.tuning.tuning_search import TuningSearch
from torpor.value_rules import COUNT, MORE, Kind, a, check, optional, whole
from torpor.workloads import First, Trace
from torpor_endpoint.core.pricing.prices import PRICES, Prices

EVALUATIONS_MAX = 100
WITHIN_S = 600.0
REQUESTS_MAX = 200_000
"""Of a longer trace, only this many requests are simulated, from its beginning."""
FINALISTS_MAX = 5
"""So many of the best choices are simulated with other seeds, until one meets the goal with all of them."""

Source = Trace | Path | str
ARGUMENTS: Mapping[str, Kind] = {
    "evaluations": COUNT,
    "within_s": MORE,
    "seeds": COUNT,
    "seed": whole(0),
    "requests_max": COUNT,
    "space": optional(a(TuneSpace, "is a torpor.TuneSpace")),
    "prices": a(Prices, "is the .prices of a price list, as torpor.prices.read(file).prices"),
}


def tune(
    trace: Source | SimulationInputs,
    profiles: Profiles | Path | str | None = None,
    *,
    slo_s: float,
    quantile: float = 0.99,
    space: TuneSpace | None = None,
    evaluations: int = EVALUATIONS_MAX,
    within_s: float = WITHIN_S,
    seeds: int = 3,
    seed: int = 0,
    spreads: Spreads | None = None,
    lasts_s: float | None = None,
    requests_max: int = REQUESTS_MAX,
    prices: Prices = PRICES,
    trees: MeasuredTrees | None = None,
    says: Callable[[str], None] = lambda line: None,
    clock: Callable[[], float] = time.monotonic,
) -> TuneResult:
    """Find the cheapest choice of all settings together that answers the share `quantile` of the requests within
    `slo_s` seconds. If nothing that was tried meets the goal, the result says so; that is no error.

    - `trace`, `profiles`, `seed`, `spreads` and `lasts_s` are those of `torpor.simulate`.
    - `space` is what may be chosen. Without changes in `space.like`, the figures measured with the traffic are used.
    - `evaluations` and `within_s` bound the simulations of the search, and its seconds. The same seed gives the same
      result, unless the time is over first. An interrupt ends the search with the best so far.
    - `seeds`: how many seeds must confirm the best. One is enough where nothing is drawn.
    - `requests_max`: of a longer trace, only this many requests are simulated, from its beginning.
    - `trees` has, by value of TORPOR_TREES, the profiles of the models as they were measured with it. `profiles`, or
      the ledger's, are those of the value in `space.like`.
    - `says` is called with what is simulated next; `clock` has the seconds that `within_s` bounds.

    Raises BadTrace, BadScenario, MissingExtra.
    """
    require("torpor.tune", "tune")
    goal = Goal(slo_s, quantile)
    arguments = {
        "evaluations": evaluations, "within_s": within_s, "seeds": seeds, "seed": seed, "requests_max": requests_max,
        "space": space, "prices": prices,
    }  # fmt: skip
    check(BadScenario, ARGUMENTS, arguments)
    inputs = _inputs(trace, lambda source: load(source, profiles, seed=seed, spreads=spreads, lasts_s=lasts_s))
    space = _around(space or TuneSpace(), inputs)
    says("reading the trace")
    of = requests_of(inputs.trace)
    inputs = with_trees(replace(inputs, scenario=space.like, trace=First(inputs.trace, requests_max)), trees)
    batches = any(one.further_s is not None for one in inputs.profiles.values())
    knobs = space.knobs(prices, batches, trees or ())
    until_s = clock() + within_s
    search = Search(inputs, goal, space.planned(), prices, says)
    judge = TrialJudge(search, space, evaluations, lambda: clock() >= until_s)
    tuning = TuningSearch(judge, knobs, Proposals(knobs, seed))
    finalists, interrupted = _finalists(tuning, judge, inputs, seeds)
    best = _chosen(judge, finalists, goal)
    return TuneResult(
        goal, inputs, prices, min(of, requests_max), of, sizes_of(knobs), best, tuple(judge.tried.values()),
        judge.evaluations, _ended(judge, interrupted),
        () if best is None else effects(judge.choices[best.scenario], knobs, judge), tuple(finalists),
        (*(() if trees else (NO_TREES,)), *LEFT_OUT, *(() if batches else (NO_BATCHES,))),
    )  # fmt: skip


# -- inside ------------------------------------------------------------------------------------------------------------
def _inputs(trace: Source | SimulationInputs, read: Callable[[Source], SimulationInputs]) -> SimulationInputs:
    return trace if isinstance(trace, SimulationInputs) else read(trace)


def _around(space: TuneSpace, inputs: SimulationInputs) -> TuneSpace:
    """The space around what was measured with the traffic, unless its scenario was given."""
    return replace(space, like=inputs.scenario) if space.like == Scenario() else space


def _finalists(
    tuning: TuningSearch, judge: TrialJudge, inputs: SimulationInputs, seeds: int
) -> tuple[list[PlanCandidate], bool]:
    """Search, and confirm the best: those with the results of all seeds, and whether an interrupt ended it before."""
    found = list[PlanCandidate]()
    interrupted = _interrupted(tuning.run) or _interrupted(lambda: found.extend(_confirmed(judge, inputs, seeds)))
    return found, interrupted


def _interrupted(work: Callable[[], object]) -> bool:
    try:
        work()
    except KeyboardInterrupt:
        return True
    return False


def _confirmed(judge: TrialJudge, inputs: SimulationInputs, seeds: int) -> Sequence[PlanCandidate]:
    """The best candidates with their results with all seeds, up to the first that meets the goal with each of them."""
    found = list[PlanCandidate]()
    for trial in judge.met()[:FINALISTS_MAX]:
        assert trial.candidate is not None
        scenario = trial.candidate.scenario
        others = range(1, seeds if inputs.drawn else 1)
        if others:
            judge.search.says(f"{scenario.name}, with {len(others)} other seeds")
        results = [run(inputs.reseeded(inputs.seed + number), scenario) for number in others]
        found.append(trial.candidate.confirmed(results, judge.search.goal))
        if found[-1].meets:
            break
    return found


def _chosen(judge: TrialJudge, finalists: Sequence[PlanCandidate], goal: Goal) -> PlanCandidate | None:
    """The finalist that most seeds confirm, and of equal ones the cheapest; without finalists, the best so far."""
    if not finalists:
        return None if judge.best is None else judge.best.candidate
    return max(finalists, key=lambda one: sum(map(goal.met, one.results)))


def _ended(judge: TrialJudge, interrupted: bool) -> str:
    if interrupted:
        return INTERRUPTED
    if judge.evaluations >= judge.evaluations_max:
        return USED_UP
    return OUT_OF_TIME if judge.expired() else NOTHING_NEW
