"""`torpor.plan`: finds the cheapest scenario that serves a trace within an SLO, by simulation, as AlpaServe does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

from torpor.simulator.costs.single_models import Apart, on_endpoints, on_serverless
from torpor.simulator.costs.ways_to_serve import Cost, Way
from torpor.simulator.nightly import nightly
from torpor.simulator.pipeline_containers import passing_s
from torpor.simulator.planning.component_plan import component_ways
from torpor.simulator.planning.own_serverless import own_serverless
from torpor.simulator.planning.plan_result import PlanResult
from torpor.simulator.planning.plan_space import Goal, PlanSpace
from torpor.simulator.planning.priced_options import of_apart
from torpor.simulator.planning.search import PeakTrial, PlanCandidate, Search
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.shadow_variant import ShadowVariant
from torpor.simulator.simulation_inputs import Profiles, SimulationInputs, Spreads, load
from torpor.simulator.simulation_result import ShadowOutcome, SimulationResult
from torpor.simulator.simulation_run import run, run_with_shadow
from torpor.value_rules import COUNT, Kind, a, check, optional
from torpor.workloads import First, Peak, Trace, busiest
from torpor_container.core.eviction import POLICIES
from torpor_endpoint.core.pricing.prices import PRICES, Prices

REQUESTS_MAX = 200_000
"""Of a longer trace, the busiest stretch of this many requests is simulated first: a scenario must serve that to go
on."""
PLAYED_MAX = 5_000_000
"""The most requests of a trace that are simulated, from its beginning: a minute or two for each candidate."""

ARGUMENTS: Mapping[str, Kind] = {
    "seeds": COUNT,
    "requests_max": COUNT,
    "played_max": COUNT,
    "space": optional(a(PlanSpace, "is a torpor.PlanSpace")),
    "shadow": optional(a(ShadowVariant, "is a torpor.ShadowVariant")),
    "prices": a(Prices, "is the .prices of a price list, as torpor.prices.read(file).prices"),
}

Says = Callable[[str], None]


def plan(
    trace: Trace | Path | str | SimulationInputs,
    profiles: Profiles | Path | str | None = None,
    *,
    slo_s: float,
    quantile: float = 0.99,
    space: PlanSpace | None = None,
    seeds: int = 3,
    seed: int = 0,
    spreads: Spreads | None = None,
    lasts_s: float | None = None,
    requests_max: int = REQUESTS_MAX,
    played_max: int = PLAYED_MAX,
    prices: Prices = PRICES,
    shadow: ShadowVariant | None = None,
    says: Says = lambda line: None,
) -> PlanResult:
    """Find the cheapest scenario of `space` that answers the share `quantile` of the requests within `slo_s` seconds.

    The plan is then simulated with other seeds, and with each eviction policy; and two ways without a multi-model
    endpoint are priced beside it. If nothing meets the SLO, the result says so; that is no error.

    - `trace`, `profiles`, `seed`, `spreads` and `lasts_s` are those of `torpor.simulate`.
    - `space` is what may be chosen. Without changes in `space.like`, the figures measured with the traffic are used.
    - `seeds`: how many seeds must confirm the plan. One is enough where nothing is drawn.
    - `requests_max`: of a longer trace, the busiest stretch of this many requests is simulated first.
    - `played_max`: of a longer trace, only this many requests are simulated, from its beginning. Goal and cost are
      those of the simulated requests.
    - `shadow` is a shadow variant beside the plan. It changes no latency; its cost is added to the plan's.
    - `says` is called with what is tried next.

    Raises BadTrace, BadScenario.
    """
    goal = Goal(slo_s, quantile)
    arguments = {
        "seeds": seeds, "requests_max": requests_max, "played_max": played_max, "space": space, "prices": prices,
        "shadow": shadow,
    }  # fmt: skip
    check(BadScenario, ARGUMENTS, arguments)
    whole = (
        trace
        if isinstance(trace, SimulationInputs)
        else load(trace, profiles, seed=seed, spreads=spreads, lasts_s=lasts_s)
    )
    space = space or PlanSpace()
    named = space.instance_types is not None
    if space.like == Scenario():
        space = replace(space, like=whole.scenario)
    whole = replace(whole, scenario=space.like)
    says("reading the trace")
    peak = busiest(whole.trace, requests_max)
    inputs = replace(whole, trace=First(whole.trace, max(requests_max, played_max)))
    search = Search(inputs, goal, space, prices, says, None if peak.whole else _peak_trial(inputs, peak, goal))
    best = _confirmed(search, inputs, seeds)
    apart = _apart(search) | _later(search)
    return PlanResult(
        goal, inputs, prices, search.bounds.requests, peak, best, search.tried,
        _policies(search, best, seeds), apart, search.floor, search.bounds.first, search.too_large(),
        _other_seeds(search, apart, best, seeds), named, space.aws_strict, shadow, _with_shadow(search, best, shadow),
    )  # fmt: skip


# -- inside ------------------------------------------------------------------------------------------------------------
def _peak_trial(inputs: SimulationInputs, peak: Peak, goal: Goal) -> PeakTrial:
    """The trial of the busiest stretch. If the whole trace is simulated afterwards, as many of the stretch may be late
    as of the whole trace; otherwise the goal holds for the stretch too. In both cases, one more request may be late for
    each model that is new in the stretch."""
    whole = inputs.trace
    assert isinstance(whole, First)
    stretch = peak.cut(whole.trace)
    late_max = goal.late_max(peak.of if peak.of <= whole.requests_max else peak.requests) + stretch.new
    return PeakTrial(replace(inputs, trace=stretch.trace), stretch.lead_s, late_max)


def _confirmed(search: Search, inputs: SimulationInputs, seeds: int) -> PlanCandidate | None:
    """The cheapest candidate that all seeds confirm; otherwise the one that most of them confirm. In `tried` it has its
    results with all seeds then."""
    seeds = seeds if inputs.drawn else 1
    confirmed: list[tuple[int, PlanCandidate]] = []
    found = search.found()
    found = sorted([*found, *(search.as_cheap(found[0]) if found else ())], key=search.rank)
    for candidate in found:
        assert candidate.result is not None
        search.says(f"{candidate.scenario.name}, with {seeds - 1} other seeds")
        others = (inputs.reseeded(inputs.seed + number) for number in range(1, seeds))
        sure = candidate.confirmed([run(other, candidate.scenario) for other in others], search.goal)
        search.tried[search.tried.index(candidate)] = sure
        missed = sum(not search.goal.met(result) for result in sure.results)
        confirmed.append((missed, sure))
        if not missed:
            break
    return min(confirmed, key=lambda one: one[0])[1] if confirmed else None


def _with_shadow(search: Search, best: PlanCandidate | None, shadow: ShadowVariant | None) -> ShadowOutcome | None:
    """The outcome of the shadow variant beside the plan; None without a plan."""
    if best is None or shadow is None:
        return None
    search.says(f"{best.scenario.name}, with its shadow variant")
    return run_with_shadow(search.inputs, best.scenario, shadow).shadow


def _policies(search: Search, best: PlanCandidate | None, seeds: int) -> list[SimulationResult]:
    """One scenario with each eviction policy, by its worst seed: of the plan, if it evicts models; otherwise of the
    cheapest scenario that was simulated to its end and evicts models. Of a long trace, only around its busiest stretch.
    """
    done = {one.scenario: one.results for one in search.tried if one.results}
    tight = [results[0] for results in done.values() if results[0].evictions]
    if best is not None and best.result is not None and best.result.evictions:
        tight = [best.result]
    if not tight:
        return []
    scenario = min(tight, key=lambda result: result.usd_per_month(search.prices) or 0.0).scenario
    inputs, found = search.inputs, []
    seeds = seeds if inputs.drawn else 1
    if search.peak is not None:
        inputs, done = search.peak.inputs, {}
    for policy in [*POLICIES, _offline_policy(inputs)]:
        like = scenario.altered(policy=policy)
        known = done.get(like, ())
        if len(known) < seeds:
            search.says(f"{scenario.name}, with {policy}")
        missing = (inputs.reseeded(inputs.seed + number) for number in range(len(known), seeds))
        found.append(search.goal.worst([*known, *(run(one, like) for one in missing)]))
    return found


def _offline_policy(inputs: SimulationInputs) -> str:
    """The offline policy to compare with. Where sizes differ, it weighs them: Belady's own rule would keep large
    models."""
    sizes = {inputs.profile(name).memory_bytes for name in inputs.trace.names}
    return "BELADY-SIZE" if len(sizes) > 1 else "BELADY"


def _apart(search: Search) -> dict[str, Apart]:
    search.says("without a multi-model endpoint")
    like, size = search.space.like, search.smallest_type()
    each = on_endpoints(search.inputs, size, search.prices, like.overhead_s + passing_s(like.containers))
    if reason := search.too_large():
        each = replace(each, cost=replace(each.cost, usd=None, assumes=reason))
    apart = {f"an endpoint per model, each 1 x {size}": each}
    apart |= component_ways(search)
    sleeps = bool(search.space.idle_s) and not search.space.aws_strict
    own = own_serverless(search) if sleeps else {}
    if like.containers:
        return apart | own  # AWS's serverless inference has no pipelines
    return (
        apart
        | own
        | {
            "serverless, an endpoint per model": on_serverless(
                search.inputs,
                search.prices,
                overhead_s=like.overhead_s,
                beside_load_s=like.beside_load_s,
                first_predict_s=like.first_predict_s,
            ),
        }
    )


def _later(search: Search) -> dict[str, Apart]:
    """Ways that answer later than an endpoint does: from a queue, and by a job each night."""
    if search.too_large():
        return {}
    like, later, prices = (
        search.space.like.altered(instance_type=search.smallest_type()),
        dict[str, Apart](),
        search.prices,
    )
    if not like.asynchronous and not search.space.aws_strict:
        search.says("asynchronous inference")
        queued = run(search.inputs, like.altered(asynchronous=True, instances=1, instances_min=0, instances_max=1))
        cost = queued.cost(prices)
        name = f"asynchronous inference, 0 to 1 x {like.instance_type}"
        later[name] = Apart(cost, queued.duration_s, queued.requests, queued.cold, queued.latencies, later=True)
    search.says("a job each night")
    jobs = nightly(search.inputs, scenario=like.altered(instances=1))
    cost = Cost(Way.BATCH, jobs.usd(prices), f"{len(jobs.jobs):,} jobs, from their start to their end")
    name = f"a batch transform job each night, 1 x {like.instance_type}"
    later[name] = Apart(cost, jobs.duration_s, jobs.requests, 0, jobs.latencies, later=True)
    return later


def _other_seeds(
    search: Search, apart: Mapping[str, Apart], best: PlanCandidate | None, seeds: int
) -> Mapping[str, Sequence[Apart]]:
    """The other ways with the other seeds too, if one of them meets the goal for less than the plan does."""
    usd = inf if best is None else search.rank(best)[0]
    found = [of_apart(name, [one], search.goal) for name, one in apart.items()]
    if not search.inputs.drawn or not any(one.meets and (one.usd or 0.0) < usd for one in found):
        return {}
    others = [_apart(replace(search, inputs=search.inputs.reseeded(search.inputs.seed + n))) for n in range(1, seeds)]
    return {name: [one, *(other[name] for other in others if name in other)] for name, one in apart.items()}
