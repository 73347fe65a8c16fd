"""`torpor.simulate_components`: simulates components over a trace with their models' profiles."""

from collections.abc import Callable, Sequence
from math import ceil
from pathlib import Path
from typing import Any

from torpor.simulator.components.component_scenario import ComponentScenario
from torpor.simulator.components.component_setup import MEMORY_LEAST_MIB, ComponentSetup
from torpor.simulator.components.components_result import ComponentsResult, components_outcome
from torpor.simulator.components.simulated_endpoint import SimulatedEndpoint
from torpor.simulator.engine.call_records import SimulatedCall
from torpor.simulator.request_tally import OutcomeTally
from torpor.simulator.scenario import MIB, OWN_BYTES
from torpor.simulator.simulation_inputs import Profiles, SimulationInputs, Spreads, load, names_of
from torpor.simulator.simulation_run import CountedTrace, known_profiles, without_garbage_collection
from torpor.workloads import Paced, Trace


def simulate_components(
    trace: Trace | Path | str,
    profiles: Profiles | Path | str | None = None,
    scenario: ComponentScenario | None = None,
    *,
    seed: int = 0,
    spreads: Spreads | None = None,
    lasts_s: float | None = None,
    **changes: Any,
) -> ComponentsResult:
    """Simulate inference components with this traffic: a component for each model. The live endpoint's own code places
    and moves their copies, scales them, and lets instances come and go.

    `trace`, `profiles`, `seed`, `spreads` and `lasts_s` are those of `torpor.simulate`. Without a scenario, each model
    of the trace has a component of one copy, as large as the model and its process. Fields of the scenario can be
    named: `simulate_components("calls.csv", instances=2)`.

    Raises BadTrace, BadScenario.
    """
    inputs = load(trace, profiles, seed=seed, spreads=spreads, lasts_s=lasts_s)
    if scenario is None:
        scenario = ComponentScenario(one_for_each(inputs))
    return run_components(inputs, scenario.altered(**changes))


def one_for_each(inputs: SimulationInputs, own_bytes: int = OWN_BYTES, **fields: Any) -> tuple[ComponentSetup, ...]:
    """A component for each model of the trace, the largest first, with the memory that the model takes in a process of
    its own. `fields` are further ones of each component. Raises BadScenario."""
    found = [inputs.profile(name) for name in names_of(inputs.trace)]
    ordered = sorted(found, key=lambda one: (-one.memory_bytes, one.name))
    return tuple(
        ComponentSetup(one.name, **{"memory_mib": memory_mib(one.memory_bytes, own_bytes), **fields}) for one in ordered
    )


def memory_mib(model_bytes: int, own_bytes: int = OWN_BYTES) -> int:
    """MinMemoryRequiredInMb for a model of this size."""
    return max(MEMORY_LEAST_MIB, ceil((model_bytes + own_bytes) / MIB))


def run_components(
    inputs: SimulationInputs,
    scenario: ComponentScenario,
    listener: Callable[[list[SimulatedCall]], None] | None = None,
    begun: Callable[[SimulatedEndpoint], None] | None = None,
) -> ComponentsResult:
    """Simulate one scenario. `listener` gets the requests in batches as they end, and may stop the simulation by
    raising an exception; `begun` gets the endpoint before its first request. Raises BadTrace, BadScenario."""
    profiles = known_profiles(inputs)
    scenario.checked_bounds({name: profiles[name].memory_bytes for name in scenario.serves() if name in profiles})
    trace, tally = CountedTrace(Paced(inputs.trace), inputs.response_bytes), OutcomeTally(scenario.overhead_s)

    def on_calls(calls: list[SimulatedCall]) -> None:
        if inputs.on_progress is not None:
            inputs.on_progress(len(calls))
        if listener is not None:
            listener(calls)
        tally.add(calls)

    endpoint = SimulatedEndpoint(scenario, profiles, on_calls, inputs.spread())
    _watch(endpoint, tally)
    if begun is not None:
        begun(endpoint)
    with without_garbage_collection():
        endpoint.run(trace)
    return components_outcome(
        endpoint, tally, trace=inputs.what, seed=inputs.seed, assumed=_notes(inputs, scenario),
        moved_bytes=trace.moved_bytes,
        stored_bytes=sum(profiles[name].stored_bytes for name in scenario.serves()),
    )  # fmt: skip


# -- inside ------------------------------------------------------------------------------------------------------------
def _notes(inputs: SimulationInputs, scenario: ComponentScenario) -> Sequence[str]:
    if any(0 < one.cores < 1 for one in scenario.components):
        return (*inputs.notes, "a copy with a part of a core: as slow as that part of one")
    return inputs.notes


def _watch(endpoint: SimulatedEndpoint, tally: OutcomeTally) -> None:
    """Add a reading to the timeline at the end of each of its steps, until the endpoint is quiet."""
    kernel, timeline = endpoint.kernel, tally.timeline

    def read(endpoint: SimulatedEndpoint) -> None:
        reading = endpoint.reading()
        timeline.add(reading)
        if not endpoint.quiet:
            kernel.at((reading.at_s // timeline.period_s + 1) * timeline.period_s, read, endpoint)

    kernel.at(timeline.period_s, read, endpoint)
