"""The live endpoint on virtual time and the simulator, on one trace: not similar decisions, but the same ones.

All times are multiples of 2**-26 s (15 ns), so that no sum is rounded, and two things that have nothing to do with each
other do not happen at one moment, where no rule gives their order. Events that share a moment by nature are covered:
all requests that one freed model wakes, instances that are started together, sizing at whole seconds.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, zip_longest
from typing import Any

import pytest

from tests.helpers.thorough_values import thorough
from tests.sdk.helpers.live_on_virtual_time import Answered, Span, lived
from torpor.simulator.engine.call_records import SimulatedCall
from torpor.simulator.engine.simulated_variant import Simulation
from torpor.simulator.engine.variant.variant_plan import Machine, Rests, VariantPlan
from torpor.workloads import Trace, TraceRequest, recorded
from torpor.workloads.profile import ModelProfile
from torpor_container.core.residency import Decision
from torpor_endpoint.core.scaling import InstanceRange

TICK_S = 2.0**-26
MIB = 1024 * 1024
NAMES = [f"model-{number:02}" for number in range(40)]


def ticks(seconds: float) -> float:
    return max(1, round(seconds / TICK_S)) * TICK_S


# -- what both are given, and what they make of it ---------------------------------------------------------------------
@dataclass(frozen=True)
class Story:
    """`decisions` are of all instances in the order in which they were made, each with its slot: those of one moment by
    slots, since a request's own load and that of a second copy begin at one moment at two instances."""

    decisions: list[tuple[str, Decision]]
    spans: list[Span]
    answers: list[Answered]
    downloads: int


@dataclass(frozen=True)
class SimulationInputs:
    seed: int
    plan: VariantPlan
    profiles: Mapping[str, ModelProfile]
    trace: Trace

    def simulated(self) -> Story:
        decisions: list[tuple[str, Decision]] = []
        calls: list[SimulatedCall] = []
        simulation = Simulation(self.plan, self.profiles, calls.extend, lambda *decided: decisions.append(decided))
        simulation.run(self.trace)
        spans = [Span(life.slot, life.began_s, life.ready_s, life.ended_s) for life in simulation.lives]
        answers = [Answered(call.model, call.arrived_s, call.done_s, call.failed) for call in calls]
        return Story(
            sorted(decisions, key=_moment),
            self._whole(spans),
            sorted(answers, key=_arrival),
            simulation.counts.downloads,
        )

    def live(self) -> Story:
        decisions: list[tuple[str, Decision]] = []
        told = lived(self.plan, self.profiles, self.trace, lambda *decided: decisions.append(decided))
        return Story(sorted(decisions, key=_moment), self._whole(told.spans), told.answers, told.downloads)

    def _whole(self, spans: list[Span]) -> list[Span]:
        """In one order. A number of instances that is given has no end of its own."""
        ends = self.plan.sizes is not None
        return sorted((span if ends else replace(span, ended_s=None) for span in spans), key=_start)


def _moment(decided: tuple[str, Decision]) -> tuple[float, str]:
    return decided[1].at_s, decided[0]


def _arrival(answer: Answered) -> float:
    return answer.arrived_s


def _start(span: Span) -> tuple[float, str]:
    return span.began_s, span.slot


def difference(simulated: Story, live: Story) -> str:
    """The first one, or nothing."""
    for what in ("decisions", "spans", "answers"):
        pairs = zip_longest(getattr(simulated, what), getattr(live, what))
        for place, (one, other) in enumerate(pairs):
            if one != other:
                return f"{what}[{place}] is {one} in the simulator, and {other} live"
    return "" if simulated.downloads == live.downloads else f"{simulated.downloads} and {live.downloads} downloads"


def the_same(given: SimulationInputs) -> Story:
    simulated, live = given.simulated(), given.live()
    assert difference(simulated, live) == "", f"seed {given.seed}"
    return live


# -- traffic -----------------------------------------------------------------------------------------------------------
def profiles(seed: int) -> dict[str, ModelProfile]:
    rng = random.Random(seed)

    def between(least_s: float, most_s: float) -> float:
        return ticks(rng.uniform(least_s, most_s))

    return {
        name: ModelProfile(
            name,
            memory_bytes=rng.randrange(20, 400) * MIB,
            disk_bytes=3 * rng.randrange(100, 1000),
            download_s=between(0.02, 0.2),
            unpack_s=between(0.01, 0.1),
            load_s=between(0.01, 0.3),
            unload_s=between(0.001, 0.05),
            predict_s=between(0.001, 0.05),
        )
        for name in NAMES
    }


def machine(taken: Mapping[str, ModelProfile], share: int = 5, **changes: Any) -> Machine:
    """With memory for a `share`-th of the models, and disk for half of them."""
    memory_bytes = sum(profile.memory_bytes for profile in taken.values()) // share
    disk_bytes = sum(profile.disk_bytes for profile in taken.values()) // 2
    return replace(Machine(memory_bytes, disk_bytes, threads=2, wake_s=ticks(0.05)), **changes)


def traffic(seed: int, count: int, rate_hz: float, pause_s: float = 0.0, burst: int = 0) -> Trace:
    """Zipf over the models. After each `burst` of calls comes a pause."""
    return recorded(_calls(random.Random(seed), count, rate_hz, pause_s, burst or count))


def _calls(rng: random.Random, count: int, rate_hz: float, pause_s: float, burst: int) -> Iterator[TraceRequest]:
    weights = [1 / rank for rank in range(1, len(NAMES) + 1)]
    now_s = 0.0
    for number in range(count):
        now_s += ticks(rng.expovariate(rate_hz))
        if number and number % burst == 0:
            now_s += ticks(pause_s * rng.uniform(0.9, 1.1))
        yield TraceRequest(now_s, rng.choices(NAMES, weights)[0])


def counted(story: Story) -> Counter[str]:
    return Counter(decision.action for _, decision in story.decisions)


def loads_at_once(story: Story) -> int:
    """The most, of all instances together."""
    steps = {"load": 1, "loaded": -1}
    return max(accumulate(steps.get(decision.action, 0) for _, decision in story.decisions))


# -- one instance ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("policy", "share", "seed"), [("LRU", 5, 1), pytest.param("GDSF", 12, 4, marks=pytest.mark.thorough)]
)
def test_a_single_instance_loads_evicts_and_waits_alike(policy: str, share: int, seed: int) -> None:
    taken = profiles(seed)
    plan = VariantPlan(machine(taken, share, policy=policy))
    story = the_same(SimulationInputs(seed, plan, taken, traffic(seed, 700, rate_hz=25.0)))
    assert counted(story)["evict"] > 200
    assert loads_at_once(story) >= 3
    assert story.downloads > 2 * len(NAMES)  # the disk is too small as well


def test_a_model_that_can_never_fit_is_refused_alike() -> None:
    taken = profiles(5)
    taken[NAMES[1]] = replace(taken[NAMES[1]], memory_bytes=9000 * MIB)
    taken[NAMES[2]] = replace(taken[NAMES[2]], disk_bytes=300_000)
    story = the_same(SimulationInputs(5, VariantPlan(machine(taken, share=20)), taken, traffic(5, 300, rate_hz=25.0)))
    assert counted(story)["refuse"] > 5
    assert {answer.model for answer in story.answers if answer.failed} == {NAMES[1], NAMES[2]}


@pytest.mark.parametrize("rests", [*thorough(None, Rests("fixed", 2.0)), Rests("histogram", 5.0)])
def test_models_that_are_not_kept_are_unloaded_alike(rests: Rests | None) -> None:
    """For lack of callers, or at once: `ModelCacheSetting` is Disabled then."""
    taken = profiles(6)
    plan = VariantPlan(machine(taken, share=2, cache=rests is not None, models_rest=rests))
    story = the_same(SimulationInputs(6, plan, taken, traffic(6, 300, rate_hz=2.0)))
    reasons = Counter(decision.reason.partition(";")[0] for _, decision in story.decisions)
    assert reasons["ModelCacheSetting is Disabled" if rests is None else "nobody calls"] > 20


@pytest.mark.thorough
def test_models_with_habits_come_before_their_calls_alike_where_there_is_no_room_for_all() -> None:
    """Sixteen, each called by a timer of its own, and memory for three: some come, and leave before their call."""
    taken, rng = profiles(13), random.Random(13)
    calls = sorted(
        TraceRequest(first_s + round_ * every_s + ticks(rng.uniform(0, 1)), name)
        for name, first_s, every_s in (
            (one, ticks(rng.uniform(0, 300)), ticks(rng.uniform(180, 360))) for one in NAMES[:16]
        )
        for round_ in range(15)
    )
    plan = VariantPlan(machine(taken, share=14, models_rest=Rests("histogram", 600.0)))
    story = the_same(SimulationInputs(13, plan, taken, recorded(calls)))
    reasons = Counter(decision.reason.partition(";")[0] for _, decision in story.decisions)
    assert reasons["nobody calls"] > 50
    assert len(calls) < counted(story)["loaded"] < 2 * len(calls)


@pytest.mark.thorough
def test_models_that_are_all_expected_at_once_come_alike_where_callers_wait_for_room() -> None:
    """Thirty, called within the same minute, loads that take seconds, one at a time, and memory for one or two."""
    rng = random.Random(24)
    taken = {
        name: replace(profile, load_s=rng.choice([1, 10, 50]) * profile.load_s)
        for name, profile in profiles(24).items()
    }
    calls = sorted(
        TraceRequest(first_s + 200 * round_ + ticks(rng.uniform(0, 20)), name)
        for name, first_s in ((one, ticks(rng.uniform(0, 60))) for one in NAMES[:30])
        for round_ in range(14)
        for _ in range(rng.choice([1, 1, 3]))
    )
    plan = VariantPlan(machine(taken, share=25, loads_max=1, models_rest=Rests("histogram", 600.0)))
    story = the_same(SimulationInputs(24, plan, taken, recorded(calls)))
    assert counted(story)["refuse"] > 20  # who is expected, and has no room but that of others who are


# -- several instances -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("instances", "seed"), [(2, 7), pytest.param(3, 8, marks=pytest.mark.thorough)])
def test_several_instances_share_the_models_alike(instances: int, seed: int) -> None:
    taken = profiles(seed)
    plan = VariantPlan(machine(taken, share=10), instances)
    story = the_same(SimulationInputs(seed, plan, taken, traffic(seed, 700, rate_hz=60.0)))
    decided = Counter(slot for slot, _ in story.decisions)
    assert len(decided) == instances
    assert min(decided.values()) > 100


@pytest.mark.parametrize("keep_alive", [pytest.param("fixed", marks=pytest.mark.thorough), "histogram"])
def test_a_variant_sleeps_and_wakes_alike(keep_alive: str) -> None:
    """A slot's disk outlives its instance: its artifacts are not downloaded again."""
    taken = profiles(9)
    plan = VariantPlan(machine(taken), 0, InstanceRange(0, 1, 8), keep_alive, idle_s=40.0)
    story = the_same(SimulationInputs(9, plan, taken, traffic(9, 600, rate_hz=20.0, pause_s=300.0, burst=40)))
    assert len(story.spans) >= 10
    assert all(span.ended_s is not None for span in story.spans)
    assert story.downloads < counted(story)["load"]


@pytest.mark.parametrize("seed", [10, pytest.param(11, marks=pytest.mark.thorough)])
def test_a_variant_scales_out_and_in_alike(seed: int) -> None:
    taken = {name: replace(profile, predict_s=10 * profile.predict_s) for name, profile in profiles(seed).items()}
    plan = VariantPlan(machine(taken), 0, InstanceRange(0, 4, concurrency=2), idle_s=90.0)
    story = the_same(SimulationInputs(seed, plan, taken, traffic(seed, 800, rate_hz=10.0, pause_s=150.0, burst=270)))
    assert len({span.slot for span in story.spans}) == 4
    assert len({span.ended_s for span in story.spans}) > 4  # they go one after another


# -- the comparison ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("otherwise", [*thorough("policy"), "profile", *thorough("placement")])
def test_a_different_plan_makes_a_difference(otherwise: str) -> None:
    taken = profiles(12)
    given = SimulationInputs(12, VariantPlan(machine(taken)), taken, traffic(12, 200, rate_hz=25.0))
    slower = replace(taken[NAMES[0]], load_s=taken[NAMES[0]].load_s + TICK_S)
    others = {
        "policy": replace(given, plan=replace(given.plan, machine=replace(given.plan.machine, policy="GDSF"))),
        "profile": replace(given, profiles={**taken, NAMES[0]: slower}),
        "placement": replace(given, plan=replace(given.plan, instances=2)),
    }
    live = given.live()
    assert difference(given.simulated(), live) == ""
    assert difference(others[otherwise].simulated(), live).startswith("decisions[")
