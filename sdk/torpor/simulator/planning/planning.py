"""`torpor.plan`: the cheapest way to serve a trace within an SLO, found by simulating (AlpaServe's way)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from json import dumps
from math import ceil, inf, sqrt
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

from torpor.pages.frames import pandas
from torpor.plots import CostPoint, dollars_against_p99
from torpor.simulator.costs.alternatives import MONTH_H
from torpor.simulator.costs.single_models import WAKE_S, Apart, on_endpoints, on_serverless
from torpor.simulator.engine.latency import Latencies
from torpor.simulator.inputs import Profiles, SimulationInputs, Spreads, load
from torpor.simulator.outcome import Result
from torpor.simulator.planning.answering import Priced, at_full_speed, cheapest, left_out, of_apart, of_candidate
from torpor.simulator.planning.searching import Glance, PlanCandidate, Search
from torpor.simulator.planning.space import EXACT, Goal, Space
from torpor.simulator.running import run
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.validation import COUNT, Kind, a, check, optional
from torpor.workloads import First, Peak, Trace, busiest
from torpor_container.core.policies import POLICIES
from torpor_endpoint.core.emulation import AWS
from torpor_endpoint.core.pricing.prices import PRICES, Prices

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P99 = 0.99
"""The quantile of a plan's picture."""
REQUESTS_MAX = 200_000
"""Of a longer trace the busiest stretch of so many is simulated first: what does not serve it is not played further."""
PLAYED_MAX = 5_000_000
"""So many of a longer trace are played, from its beginning: a minute or two for each way that may be the plan."""

BEYOND_MIN = 10
"""A quantile is told from so many requests beyond it: from fewer, one more or less of them is another answer."""
NOT_ON_AWS = "AWS takes no MinInstanceCount 0 for a multi-model endpoint: this is for a Torpor endpoint"

ASKED: Mapping[str, Kind] = {
    "seeds": COUNT,
    "requests_max": COUNT,
    "played_max": COUNT,
    "space": optional(a(Space, "is a torpor.Space")),
    "prices": a(Prices, "is the .prices of a price list, as torpor.prices.read(file).prices"),
}

Says = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Planned:
    """What a search found, and how. `best` is None where nothing in the space meets the goal."""

    goal: Goal
    inputs: SimulationInputs = field(repr=False)
    prices: Prices = field(repr=False)
    requests: int  # so many of the trace were played, from its beginning
    peak: Peak  # its busiest stretch, simulated before the rest; all of a trace that is short enough
    best: PlanCandidate | None
    seeds: Sequence[Result] = field(repr=False)  # the best one, and its like with other draws
    candidates: Sequence[PlanCandidate] = field(repr=False)  # in the order in which they were tried
    policies: Sequence[Result] = field(repr=False)  # one scenario with each; last, a Belady's, which knows it
    apart: Mapping[str, Apart]  # the same traffic without a multi-model endpoint, by what that is
    floor: Latencies  # predicting by itself: every model in memory, and nobody waiting
    first: int = 0  # requests that are the first of their model, and late if they wait for its load
    too_large: str = ""  # which model has no room in any instance of the space, in words
    apart_seeds: Mapping[str, Sequence[Apart]] = field(default_factory=dict, repr=False)  # of what might be the answer
    types_named: bool = False  # somebody said which instance types may be chosen

    @property
    def whole(self) -> bool:
        """Whether all of the trace was played."""
        return self.requests == self.peak.of

    @property
    def enough(self) -> int:
        """So many requests tell such a quantile."""
        return ceil(BEYOND_MIN / (1 - self.goal.quantile) - EXACT)

    @property
    def told(self) -> bool:
        """Whether the requests of all seeds together are so many."""
        return sum(result.requests for result in self.seeds) >= self.enough

    @property
    def late(self) -> tuple[float, float]:
        """Between which shares of requests like these are late, with 95 % confidence and as if each were late by
        itself (Wilson's interval): those that are late come together, so it is wider in truth. Of the plan and its
        seeds; from 0 to 1 where there is none."""
        return _wilson(sum(map(self.goal.late, self.seeds)), sum(result.requests for result in self.seeds))

    @property
    def sure(self) -> float:
        """The share of the seeds that meet the goal; 0 where the requests are too few to tell."""
        return sum(map(self.goal.met, self.seeds)) / len(self.seeds) if self.told else 0.0

    @property
    def ways(self) -> Sequence[Priced]:
        """All that was played to its end, with a multi-model endpoint and without, the best first: what meets the goal,
        the cheapest of it, and of what costs the same the least late."""
        mine = [(one, self.seeds if one is self.best else [one.result]) for one in self.candidates if one.result]
        priced = [of_candidate(one, [each for each in own if each], self.goal, self.prices) for one, own in mine]
        others = [of_apart(name, self.apart_seeds.get(name, [one]), self.goal) for name, one in self.apart.items()]
        return sorted((one for one in [*priced, *others] if one), key=lambda one: (not one.meets, one.rank))

    @property
    def cheapest(self) -> Priced | None:
        """The answer: of all ways that meet the goal. Multi-model endpoints count with the one that is the plan, since
        only that was played with other seeds."""
        own = None if self.best is None else of_candidate(self.best, self.seeds, self.goal, self.prices)
        return cheapest([*(one for one in self.ways if not one.multi_model), *([own] if own else [])])

    @property
    def left_out(self) -> Sequence[str]:
        """The ways that were not looked at, and why."""
        return left_out(self.prices, self.types_named)

    @property
    def at_full_speed(self) -> Sequence[str]:
        """Of the types that are burstable, among those that were simulated."""
        apart = [name.rpartition(" x ")[2] for name in self.apart]
        return at_full_speed({*(one.scenario.instance_type for one in self.candidates if one.result), *apart})

    @property
    def assumed(self) -> Sequence[str]:
        """What was not known, and what was taken instead."""
        serverless, instance = AWS["serverless"], AWS["instance"]
        spans = (f"{serverless.low_s:g} to {serverless.high_s:g} s", f"{instance.low_s:g} to {instance.high_s:g} s")
        told = [f"AWS's serverless inference wakes in {WAKE_S:.2g} s, of the {spans[0]} that are seen"]
        if asleep := [one.scenario for one in self.candidates if one.scenario.instances_min == 0]:
            told.append(
                f"what sleeps is Torpor's, and wakes in {asleep[0].wake_s:g} s; AWS's instances take {spans[1]}"
            )
        return (*self.inputs.assumed, *told)

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
            *([f"# {NOT_ON_AWS}"] if scenario.instances_min == 0 else []),
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
            CostPoint(one.scenario.name, usd, one.result.p99_s, "multi-model", one.result.cost(self.prices).sold_by_aws)
            for one in self.candidates
            if one.result is not None and (usd := one.result.usd_per_month(self.prices)) is not None
        ]
        for way, one in self.apart.items():
            if (usd := one.usd_per_month(MONTH_H)) is not None:
                points.append(CostPoint(way, usd, one.p99_s, "apart"))
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
    trace: Trace | Path | str | SimulationInputs,
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
    played_max: int = PLAYED_MAX,
    prices: Prices = PRICES,
    says: Says = lambda line: None,
) -> Planned:
    """Search; see whether other draws agree; which policy is the best for this trace; and what other ways would cost.

    `trace`, `profiles`, `seed` and `lasts_s` are those of `torpor.simulate`. Where nothing is drawn, of traffic and
    times that are all given, one seed is enough. What was measured with the traffic is used unless `space.like` is
    changed. Of a trace of more than `requests_max` requests the busiest so many are simulated first, and what serves
    them is played over all of it, or over the first `played_max`: the goal is asked of what was played, and its cost
    is that. `says` is told what is tried. Raises BadTrace, BadScenario; that nothing meets the SLO is an answer, and no
    error.
    """
    goal = Goal(slo_s, quantile)
    asked = {
        "seeds": seeds, "requests_max": requests_max, "played_max": played_max, "space": space, "prices": prices,
    }  # fmt: skip
    check(BadScenario, ASKED, asked)
    whole = (
        trace
        if isinstance(trace, SimulationInputs)
        else load(trace, profiles, seed=seed, spreads=spreads, lasts_s=lasts_s)
    )
    space = space or Space()
    named = space.instance_types is not None
    if space.like == Scenario():
        space = replace(space, like=whole.scenario)
    says("reading the trace")
    peak = busiest(whole.trace, requests_max)
    inputs = replace(whole, trace=First(whole.trace, max(requests_max, played_max)))
    search = Search(inputs, goal, space, prices, says, None if peak.whole else _glance(inputs, peak, goal))
    best, again = _confirmed(search, inputs, seeds)
    apart = _apart(search)
    return Planned(
        goal, inputs, prices, search.asked.requests, peak, best, again, search.tried,
        _policies(search, best), apart, search.floor, search.asked.first, search.too_large(),
        _again(search, apart, best, seeds), named,
    )  # fmt: skip


# -- inside ------------------------------------------------------------------------------------------------------------
def _glance(inputs: SimulationInputs, peak: Peak, goal: Goal) -> Glance:
    """Where all is played after that, as many may be late as of all; elsewhere the goal is asked of the stretch too.
    A call of each model that is new to it may be late besides."""
    whole = inputs.trace
    assert isinstance(whole, First)
    stretch = peak.cut(whole.trace)
    late_max = goal.late_max(peak.of if peak.of <= whole.requests_max else peak.requests) + stretch.new
    return Glance(replace(inputs, trace=stretch.trace), stretch.lead_s, late_max)


def _confirmed(search: Search, inputs: SimulationInputs, seeds: int) -> tuple[PlanCandidate | None, list[Result]]:
    """The cheapest that other draws confirm; if none is, the one that most of them confirm."""
    seeds = seeds if inputs.drawn else 1
    confirmed: list[tuple[int, PlanCandidate, list[Result]]] = []
    found = search.found()
    found = sorted([*found, *(search.as_cheap(found[0]) if found else ())], key=search.rank)
    for candidate in found:
        assert candidate.result is not None
        search.says(f"{candidate.scenario.name}, with {seeds - 1} other seeds")
        others = (inputs.reseeded(inputs.seed + number) for number in range(1, seeds))
        results = [candidate.result, *(run(other, candidate.scenario) for other in others)]
        missed = sum(not search.goal.met(result) for result in results)
        confirmed.append((missed, candidate, results))
        if not missed:
            break
    if not confirmed:
        return None, []
    _, best, results = min(confirmed, key=lambda one: one[0])
    return best, results


def _policies(search: Search, best: PlanCandidate | None) -> list[Result]:
    """Of the plan. Where nothing has to leave memory in it, for which they are all the same, or there is no plan: of
    the cheapest scenario that was simulated to its end and had to evict. Of a long trace, around its busiest stretch.
    """
    done = {one.scenario: one.result for one in search.tried if one.result is not None}
    tight = [result for result in done.values() if result.evictions]
    if best is not None and best.result is not None and best.result.evictions:
        tight = [best.result]
    if not tight:
        return []
    scenario = min(tight, key=lambda result: result.usd_per_month(search.prices) or 0.0).scenario
    inputs, found = search.inputs, []
    if search.glance is not None:
        inputs, done = search.glance.inputs, {}
    for policy in [*POLICIES, _reference(inputs)]:
        like = scenario.altered(policy=policy)
        if like not in done:
            search.says(f"{scenario.name}, with {policy}")
            done[like] = run(inputs, like)
        found.append(done[like])
    return found


def _reference(inputs: SimulationInputs) -> str:
    """Who knows the trace, and loses to nobody by much: where sizes differ, Belady's own rule keeps what is large."""
    sizes = {inputs.profile(name).memory_bytes for name in inputs.trace.names}
    return "BELADY-SIZE" if len(sizes) > 1 else "BELADY"


def _apart(search: Search) -> dict[str, Apart]:
    search.says("without a multi-model endpoint")
    like, size = search.space.like, search.smallest_type()
    each = on_endpoints(search.inputs, size, search.prices, like.overhead_s)
    if told := search.too_large():
        each = replace(each, cost=replace(each.cost, usd=None, assumes=told))
    return {
        f"an endpoint per model, each 1 x {size}": each,
        "serverless, an endpoint per model": on_serverless(
            search.inputs,
            search.prices,
            overhead_s=like.overhead_s,
            beside_load_s=like.beside_load_s,
        ),
    }


def _again(
    search: Search, apart: Mapping[str, Apart], best: PlanCandidate | None, seeds: int
) -> Mapping[str, Sequence[Apart]]:
    """What is cheaper than the plan and meets the goal, with the other seeds too: it may be the answer."""
    usd = inf if best is None else search.rank(best)[0]
    found = [of_apart(name, [one], search.goal) for name, one in apart.items()]
    if not search.inputs.drawn or not any(one.meets and (one.usd or 0.0) < usd for one in found):
        return {}
    others = [_apart(replace(search, inputs=search.inputs.reseeded(search.inputs.seed + n))) for n in range(1, seeds)]
    return {name: [one, *(other[name] for other in others if name in other)] for name, one in apart.items()}


def _wilson(some: int, of: int) -> tuple[float, float]:
    """The share, as far as it can be told from so many: 95 % of such intervals have it."""
    if not of:
        return 0.0, 1.0
    share, z = some / of, 1.96
    middle, half = share + z * z / (2 * of), z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return max(0.0, (middle - half) / (1 + z * z / of)), min(1.0, (middle + half) / (1 + z * z / of))
