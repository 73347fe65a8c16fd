"""`torpor.plan`: the cheapest way to serve a trace within an SLO, found by simulating (AlpaServe's way)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from json import dumps
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

from torpor.frames import pandas
from torpor.plots import Point, dollars_against_p99
from torpor.simulator.apart import Apart, alone, on_endpoints, on_serverless
from torpor.simulator.kinds import COUNT, Kind, a, check, optional
from torpor.simulator.latency import Latencies
from torpor.simulator.outcome import Result
from torpor.simulator.running import Given, Profiles, Spreads, load, run
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.searching import Candidate, Goal, Search, Space
from torpor.simulator.ways import MONTH_H
from torpor.simulator.workloads import First, Trace
from torpor_container.core.policies import POLICIES
from torpor_endpoint.core.prices import PRICES, Prices

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P99 = 0.99
"""The quantile of a plan's picture."""
REQUESTS_MAX = 200_000
"""Of a longer trace so many are simulated, from its beginning."""

ASKED: Mapping[str, Kind] = {
    "seeds": COUNT,
    "requests_max": COUNT,
    "space": optional(a(Space, "is a torpor.Space")),
    "prices": a(Prices, "is the .prices of a price list, as torpor.prices.read(file).prices"),
}

Says = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Planned:
    """What a search found, and how. `best` is None where nothing in the space meets the goal."""

    goal: Goal
    given: Given = field(repr=False)
    prices: Prices = field(repr=False)
    requests: int  # so many of the trace were simulated
    whole: bool  # that is all of it
    best: Candidate | None
    seeds: Sequence[Result] = field(repr=False)  # the best one, and its like with other draws
    candidates: Sequence[Candidate] = field(repr=False)  # in the order in which they were tried
    policies: Sequence[Result] = field(repr=False)  # one scenario with each; last, Belady's, which knows the trace
    apart: Mapping[str, Apart]  # the same traffic without a multi-model endpoint, by what that is
    floor: Latencies  # predicting by itself: every model in memory, and nobody waiting
    first: int = 0  # requests that are the first of their model, and late if they wait for its load
    too_large: str = ""  # which model has no room in any instance of the space, in words

    @property
    def sure(self) -> float:
        """The share of the seeds that meet the goal."""
        return sum(map(self.goal.met, self.seeds)) / len(self.seeds) if self.seeds else 0.0

    @property
    def best_policy(self) -> str:
        """For this trace: none is the best everywhere. Empty where it makes no difference, or was not simulated."""
        live = [result for result in self.policies if result.scenario.policy in POLICIES]
        if len({result.cold for result in live}) <= 1:
            return ""
        return min(live, key=lambda result: (result.slo_misses(self.goal.slo_s), result.cold)).scenario.policy

    def call(self) -> str:
        """The `create_endpoint_config` of the plan, for boto3. Raises LookupError where there is none."""
        if self.best is None:
            raise LookupError(f"no plan in this space meets {self.goal}")
        scenario = self.best.scenario
        variants = indent(dumps([scenario.variant()], indent=4), "    ").lstrip()
        lines = [
            'boto3.client("sagemaker").create_endpoint_config(',
            '    EndpointConfigName="planned",',
            f"    ProductionVariants={variants},",
            ")",
        ]
        container: dict[str, object] = {"Environment": dict(scenario.environment())}
        if not scenario.model_cache:
            container["MultiModelConfig"] = {"ModelCacheSetting": "Disabled"}
        told = [f"#     {name}={dumps(value)}," for name, value in container.items() if value]
        return "\n".join([*lines, *(["# and in the model's container:", *told] if told else [])])

    def plot(self) -> "Figure":
        """Dollars a month against p99, of all that was simulated to its end. Raises MissingExtra."""
        points = [
            Point(one.scenario.name, usd, one.result.p99_s, "multi-model", one.result.cost(self.prices).sold_by_aws)
            for one in self.candidates
            if one.result is not None and (usd := one.result.usd_per_month(self.prices)) is not None
        ]
        for way, one in self.apart.items():
            if (usd := one.usd_per_month(MONTH_H)) is not None:
                points.append(Point(way, usd, one.p99_s, "apart"))
        terms = f"prices of {self.prices.priced_on}; a month of {MONTH_H:.0f} h"
        slo_s = self.goal.slo_s if self.goal.quantile == P99 else None  # the axis has no other one
        return dollars_against_p99(points, slo_s, f"{self.goal}; {terms}; {self.requests:,} requests")

    def frame(self) -> Any:
        """A row for each candidate that was simulated to its end."""
        ended = [(one, one.result) for one in self.candidates if one.result is not None]
        return pandas().DataFrame(
            [{**result.summary(self.prices), "meets": one.meets, "why_not": one.why_not} for one, result in ended]
        )


def plan(
    trace: Trace | Path | str | Given,
    profiles: Profiles | Path | str | None = None,
    *,
    slo_s: float,
    quantile: float = 0.99,
    space: Space | None = None,
    seeds: int = 3,
    seed: int = 0,
    spreads: Spreads | None = None,
    lasts_s: float | None = None,
    requests_max: int = REQUESTS_MAX,
    prices: Prices = PRICES,
    says: Says = lambda line: None,
) -> Planned:
    """Search; see whether other draws agree; which policy is the best for this trace; and what other ways would cost.

    `trace`, `profiles`, `seed` and `lasts_s` are those of `torpor.simulate`. Where nothing is drawn, of traffic and
    times that are all given, one seed is enough. What was measured with the traffic is used unless `space.like` is
    changed. `says` is told what is tried. Raises BadTrace, BadScenario; that nothing meets the SLO is an answer, and no
    error.
    """
    goal = Goal(slo_s, quantile)
    check(BadScenario, ASKED, {"seeds": seeds, "requests_max": requests_max, "space": space, "prices": prices})
    whole = trace if isinstance(trace, Given) else load(trace, profiles, seed=seed, spreads=spreads, lasts_s=lasts_s)
    space = space or Space()
    if space.like == Scenario():
        space = replace(space, like=whole.scenario)
    first = First(whole.trace, requests_max)
    given = replace(whole, trace=first)
    search = Search(given, goal, space, prices, says)
    best, again = _confirmed(search, given, seeds)
    return Planned(
        goal, given, prices, search.load.requests, not first.cut, best, again, search.tried,
        _policies(search), _apart(search), alone(given, space.like.overhead_s), search.load.first,
        search.too_large(),
    )  # fmt: skip


# -- inside ------------------------------------------------------------------------------------------------------------
def _confirmed(search: Search, given: Given, seeds: int) -> tuple[Candidate | None, list[Result]]:
    """The cheapest that other draws confirm; if none is, the one that most of them confirm."""
    seeds = seeds if given.drawn else 1
    confirmed: list[tuple[int, Candidate, list[Result]]] = []
    for candidate in search.found():
        assert candidate.result is not None
        search.says(f"{candidate.scenario.name}, with {seeds - 1} other seeds")
        others = (given.reseeded(given.seed + number) for number in range(1, seeds))
        results = [candidate.result, *(run(other, candidate.scenario) for other in others)]
        missed = sum(not search.goal.met(result) for result in results)
        confirmed.append((missed, candidate, results))
        if not missed:
            break
    if not confirmed:
        return None, []
    _, best, results = min(confirmed, key=lambda one: one[0])
    return best, results


def _policies(search: Search) -> list[Result]:
    """Of the cheapest scenario that was simulated to its end and had to evict: elsewhere they are all the same."""
    done = {one.scenario: one.result for one in search.tried if one.result is not None}
    tight = [result for result in done.values() if result.evictions]
    if not tight:
        return []
    scenario = min(tight, key=lambda result: result.usd_per_month(search.prices) or 0.0).scenario
    found = []
    for policy in [*POLICIES, "BELADY"]:
        like = scenario.altered(policy=policy)
        if like not in done:
            search.says(f"{scenario.name}, with {policy}")
            done[like] = run(search.given, like)
        found.append(done[like])
    return found


def _apart(search: Search) -> dict[str, Apart]:
    search.says("without a multi-model endpoint")
    like, size = search.space.like, search.smallest_type()
    return {
        f"an endpoint per model, each 1 x {size}": on_endpoints(search.given, size, search.prices, like.overhead_s),
        "serverless, an endpoint per model": on_serverless(
            search.given,
            search.prices,
            wake_s=like.wake_s,
            overhead_s=like.overhead_s,
            beside_load_s=like.beside_load_s,
        ),
    }
