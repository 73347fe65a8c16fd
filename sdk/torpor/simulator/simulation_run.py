"""`torpor.simulate`: simulates a scenario over a trace with its models' profiles, and returns a `SimulationResult`."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from torpor.simulator.engine.call_records import SimulatedCall
from torpor.simulator.engine.consistency import ConsistencyCheck
from torpor.simulator.engine.simulated_variant import Choose, OnCalls, Simulation
from torpor.simulator.engine.variant.making_instances import Recorded
from torpor.simulator.engine.virtual_time import Kernel
from torpor.simulator.request_tally import OutcomeTally
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.shadow_variant import Copies, ShadowVariant
from torpor.simulator.simulation_inputs import Profiles, SimulationInputs, Spreads, left_out, load
from torpor.simulator.simulation_result import ShadowOutcome, SimulationResult, outcome
from torpor.simulator.version_switches import VersionSwitches, first_s
from torpor.value_rules import Kind, ValueRule, a, check, optional
from torpor.workloads import (
    Chunk,
    Paced,
    Trace,
    requests,
)
from torpor.workloads.profile import ModelProfile
from torpor_container.core.eviction import OFFLINE, Future, Policy
from torpor_container.core.residency import Decision
from torpor_endpoint.core.traffic import SHADOW_LIMITS

ARGUMENTS: Mapping[str, Kind] = {
    "scenario": optional(a(Scenario, "is a torpor.Scenario")),
    "recorded": optional((ValueRule("is a function of a slot and a decision", callable),)),
    "shadow": optional(a(ShadowVariant, "is a torpor.ShadowVariant")),
}


def simulate(
    trace: Trace | Path | str,
    profiles: Profiles | Path | str | None = None,
    scenario: Scenario | None = None,
    *,
    seed: int = 0,
    spreads: Spreads | None = None,
    lasts_s: float | None = None,
    recorded: Recorded | None = None,
    shadow: ShadowVariant | None = None,
    **changes: Any,
) -> SimulationResult:
    """Simulate a multi-model variant with this traffic. The live endpoint's own code takes all decisions.

    - `trace` is one of `torpor.workloads`; or a file: CSV, Parquet, or an endpoint's `ledger.sqlite`, with
      `#endpoint/variant` behind the name if it has several; or the line of a synthetic trace:
      `zipf:models=500,rate_hz=20,duration_s=3600`.
    - `profiles` are the sizes and times of the models: by name, a CSV file, or a ledger, to which they are fitted.
      Without them, a ledger's own times are fitted; for other traces they are drawn, and the result says so.
    - `scenario` is used as it is. Without it, the scenario has what a ledger measured: wake, overhead, the instances'
      type and memory, and what they take of it beside their models. Its fields can also be named:
      `simulate("calls.csv", instances=2, policy="GDSF")`.
    - `seed`: the same seed gives the same result to the byte, another one draws again. It is added to the seed in a
      synthetic trace's line; a trace object keeps its own seed.
    - `lasts_s` is how many seconds the trace was recorded, with the quiet before and after its requests. Without it, a
      trace that does not know ends with its last request.
    - `recorded` is called with a slot and each decision about its memory.
    - `shadow` is a shadow variant, which gets copies of the requests. The result has its outcome as `shadow`.

    Raises BadTrace, BadScenario.
    """
    check(BadScenario, ARGUMENTS, {"scenario": scenario, "recorded": recorded, "shadow": shadow})
    inputs = load(trace, profiles, seed=seed, spreads=spreads, lasts_s=lasts_s)
    chosen = (scenario or inputs.scenario).altered(**changes)
    return run(inputs, chosen, recorded) if shadow is None else run_with_shadow(inputs, chosen, shadow, recorded)


def run(
    inputs: SimulationInputs,
    scenario: Scenario,
    recorded: Recorded | None = None,
    listener: Callable[[list[SimulatedCall]], None] | None = None,
    begun: Callable[[Simulation], None] | None = None,
    over: Callable[[Simulation], None] | None = None,
    in_flight_max: int | None = None,
    choose: Choose | None = None,
) -> SimulationResult:
    """Simulate one scenario. `listener` gets the requests in batches as they end, and may stop the simulation by
    raising an exception; `begun` gets the simulation before its first request, and `over` after its last. Of a shadow
    variant, requests that come while `in_flight_max` are in flight are dropped. `choose` makes the requests; without
    it they are those of the trace, and of the steps by which versions took over.

    Raises BadTrace for a model that has no profile.
    """
    inputs = inputs.fitting(scenario)
    kernel, trace = Kernel(), CountedTrace(Paced(inputs.trace), inputs.response_bytes)
    switches = VersionSwitches(inputs.steps, first_s(inputs.trace)) if inputs.steps else None
    if switches is not None and choose is None:
        choose = switches.chosen
    tally = OutcomeTally(
        scenario.overhead_s,
        scenario.beside_load_s,
        scenario.first_predict_s,
        scenario.containers,
        scenario.asynchronous,
    )
    simulation = Simulation(
        scenario.plan,
        known_profiles(inputs),
        _listeners(tally, listener, inputs.on_progress),
        recorded,
        inputs.spread(),
        _offline(scenario.policy, inputs.trace, kernel),
        kernel,
        in_flight_max=in_flight_max,
        container_spreads=inputs.container_spreads(scenario),
        choose=choose,
    )
    _watch(simulation, tally)
    if switches is not None:
        switches.begin(simulation)
    if begun is not None:
        begun(simulation)
    with without_garbage_collection():
        began_s = time.process_time()
        simulation.run(trace)
        took_s = time.process_time() - began_s
    if over is not None:
        over(simulation)
    return outcome(
        scenario, simulation, tally, trace=inputs.what, seed=inputs.seed,
        assumed=(*inputs.notes, *left_out(scenario, inputs.profiles)), moved_bytes=trace.moved_bytes,
        stored_bytes=lambda model: inputs.profile(model).stored_bytes, took_s=took_s,
    )  # fmt: skip


def run_with_shadow(
    inputs: SimulationInputs,
    scenario: Scenario,
    shadow: ShadowVariant,
    recorded: Recorded | None = None,
    shadow_recorded: Recorded | None = None,
    checked: bool = False,
) -> SimulationResult:
    """Simulate a scenario, and then the shadow variant beside it, which gets the copies. The first result is the same
    as without a shadow variant. `checked`: as `recounted` does. Raises BadTrace, Inconsistent."""
    play = recounted if checked else run
    copies, dropped = Copies(shadow, scenario, inputs.seed), 0

    def count_dropped(simulation: Simulation) -> None:
        nonlocal dropped
        dropped = simulation.counts.dropped

    result = play(inputs, scenario, recorded, copies.add)
    trace = copies.trace(result.duration_s)
    beside = replace(inputs, trace=trace, what=f"copies of {inputs.what}", on_progress=None, steps=())
    if shadow.profiles is not None:
        beside = replace(load(trace, shadow.profiles, seed=inputs.seed), what=beside.what)
    most = SHADOW_LIMITS.requests
    copied = play(beside, shadow.scenario, shadow_recorded, over=count_dropped, in_flight_max=most)
    return replace(result, shadow=ShadowOutcome(shadow.share, dropped, copied))


def recounted(
    inputs: SimulationInputs,
    scenario: Scenario,
    recorded: Recorded | None = None,
    listener: OnCalls | None = None,
    over: Callable[[Simulation], None] | None = None,
    in_flight_max: int | None = None,
) -> SimulationResult:
    """The same as `run`, and then compare its counters with its log. Raises Inconsistent where they differ.

    It keeps each request and decision, so it is for traces that fit into memory.
    """
    recount = ConsistencyCheck()

    def both(slot: str, decision: Decision) -> None:
        recount.recorded(slot, decision)
        if recorded is not None:
            recorded(slot, decision)

    def listening(calls: list[SimulatedCall]) -> None:
        recount.on_calls(calls)
        if listener is not None:
            listener(calls)

    def verified(simulation: Simulation) -> None:
        recount.verify(simulation)
        if over is not None:
            over(simulation)

    return run(inputs, scenario, both, listening, recount.watch, verified, in_flight_max)


@dataclass
class DecisionDigest:
    """A hash of all decisions, to compare two simulations. Pass it as `recorded`."""

    decisions: int = 0
    _hash: Any = field(default_factory=sha256)

    def __call__(self, slot: str, decision: Decision) -> None:
        self.decisions += 1
        self._hash.update(f"{slot} {decision!r}\n".encode())

    @property
    def hex(self) -> str:
        digest: str = self._hash.hexdigest()
        return digest


@dataclass
class CountedTrace:
    """A trace that adds up the bytes of the requests read from it, and of their answers."""

    trace: Trace
    response_bytes: float = 0.0  # of an answer, on average
    moved_bytes: int = 0

    @property
    def names(self) -> Sequence[str]:
        return self.trace.names

    @property
    def lasts_s(self) -> float | None:
        return self.trace.lasts_s

    def chunks(self) -> Iterator[Chunk]:
        for chunk in self.trace.chunks():
            self.moved_bytes += round(len(chunk) * self.response_bytes)
            if chunk.request_bytes is not None:
                self.moved_bytes += int(chunk.request_bytes.sum())
            yield chunk


def known_profiles(inputs: SimulationInputs) -> dict[str, ModelProfile]:
    """The profiles of the inputs by name; that of a model which a ledger lacks is made when it is first read."""
    return _KnownProfiles(inputs)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """A simulation makes no reference cycles, and the search for them would take a third of its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


# -- inside ------------------------------------------------------------------------------------------------------------
class _KnownProfiles(dict[str, ModelProfile]):
    def __init__(self, inputs: SimulationInputs) -> None:
        super().__init__(inputs.profiles)
        self._inputs = inputs

    def __missing__(self, name: str) -> ModelProfile:
        made = self[name] = self._inputs.profile(name)
        return made


def _listeners(
    tally: OutcomeTally,
    listener: Callable[[list[SimulatedCall]], None] | None,
    on_progress: Callable[[int], None] | None,
) -> Callable[[list[SimulatedCall]], None]:
    """One function for all that listen to ended requests."""
    if listener is None and on_progress is None:
        return tally.add

    def on_calls(calls: list[SimulatedCall]) -> None:
        if on_progress is not None:
            on_progress(len(calls))
        if listener is not None:
            listener(calls)
        tally.add(calls)

    return on_calls


def _offline(name: str, trace: Trace, kernel: Kernel) -> Callable[[], Policy] | None:
    """Makes an offline policy, which knows the trace in advance; None for the others."""
    if name.upper() not in OFFLINE:
        return None
    future = Future(requests(Paced(trace)), lambda: kernel.now_s)
    return lambda: OFFLINE[name.upper()](future)


def _watch(simulation: Simulation, tally: OutcomeTally) -> None:
    """Add a reading to the timeline at the end of each of its steps, until the simulation is quiet."""
    kernel, timeline = simulation.kernel, tally.timeline

    def read(simulation: Simulation) -> None:
        reading = simulation.reading()
        timeline.add(reading)
        if not simulation.quiet:
            kernel.at((reading.at_s // timeline.period_s + 1) * timeline.period_s, read, simulation)

    kernel.at(timeline.period_s, read, simulation)
