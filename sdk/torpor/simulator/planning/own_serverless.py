"""Torpor's own serverless multi-model endpoint as one way of a plan, which AWS does not have."""

from collections.abc import Iterator

from torpor.simulator.costs.single_models import Apart
from torpor.simulator.planning.search import Search
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.serverless_terms import CONCURRENCY_MOST, SIZES_MIB, Serverless
from torpor.simulator.simulation_result import SimulationResult
from torpor.simulator.simulation_run import run


def own_serverless(search: Search) -> dict[str, Apart]:
    """The smallest memory that meets the goal; otherwise the largest. Nothing if no size has room for the largest
    model. A hopeless size is stopped early."""
    scenarios = list(_with_room(search))
    for scenario in scenarios:
        search.says(scenario.name)
        last = scenario is scenarios[-1]
        result = run(search.inputs, scenario) if last else search.played(scenario)
        if result is not None and (last or search.goal.met(result)):
            return {f"serverless, one multi-model endpoint of {scenario.instance_mib:,.6g} MB": _apart(search, result)}
    return {}


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
