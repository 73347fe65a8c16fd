"""Torpor's own serverless multi-model endpoint as one way of a plan, which AWS does not have."""

from collections.abc import Iterator

from torpor.simulator.costs.single_models import Apart
from torpor.simulator.planning.search import Search
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.serverless_terms import CONCURRENCY_MOST, SIZES_MIB, Serverless
from torpor.simulator.simulation_result import SimulationResult
from torpor.simulator.simulation_run import run


def own_serverless(search: Search) -> dict[str, Apart]:
    """The smallest memory that meets the goal; nothing if no size has room for the largest model. First comes the
    smallest with room for all models, or the largest there is: where that misses the goal, no smaller one is tried."""
    scenarios = list(_with_room(search))
    if not scenarios:
        return {}
    all_bytes = sum(search.inputs.profile(name).memory_bytes for name in search.inputs.trace.names)
    roomy = next((one for one in scenarios if one.models_bytes >= all_bytes), scenarios[-1])
    search.says(roomy.name)
    found = run(search.inputs, roomy)
    if search.goal.met(found):
        found = _smallest(search, scenarios[: scenarios.index(roomy)]) or found
    return {f"serverless, one multi-model endpoint of {found.scenario.instance_mib:,.6g} MB": _apart(search, found)}


def _smallest(search: Search, scenarios: list[Scenario]) -> SimulationResult | None:
    """The first of these that meets the goal; hopeless ones are stopped early."""
    for scenario in scenarios:
        search.says(scenario.name)
        result = search.played(scenario)
        if result is not None and search.goal.met(result):
            return result
    return None


def _with_room(search: Search) -> Iterator[Scenario]:
    for memory_mib in SIZES_MIB:
        config = Serverless(memory_mib, CONCURRENCY_MOST)
        try:
            scenario = search.space.like.altered(serverless=config, asynchronous=False)
        except BadScenario:  # the other containers of a pipeline leave no room
            continue
        if scenario.models_bytes >= search.largest_bytes:
            yield scenario


def _apart(search: Search, result: SimulationResult) -> Apart:
    cost, scenario = result.cost(search.prices), result.scenario
    return Apart(cost, result.duration_s, result.requests, result.cold, result.latencies, scenario=scenario)
