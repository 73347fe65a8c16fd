"""The simulated variant: every request ends once, the same seed gives the same story, and at zero nothing runs."""

from collections import Counter
from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.example_counts import tries
from torpor.hit_rates.curves import lru_curve
from torpor.simulator.engine.call_records import FOUND, SimulatedCall
from torpor.simulator.engine.simulated_variant import SimulatedLife, Simulation
from torpor.simulator.engine.sizing_rounds import SizingRounds
from torpor.simulator.engine.variant.variant_plan import Machine, Rests, VariantPlan
from torpor.workloads import POISSON, Trace, TraceRequest, recorded, zipf
from torpor.workloads.profile import ModelProfile
from torpor_container.core.keepalive import keep_alive
from torpor_endpoint.core.scaling import InstanceRange

MIB = 1024 * 1024
ROOMY = Machine(memory_bytes=40 * MIB, disk_bytes=1000 * MIB, threads=2)


def profiles(trace: Trace, mib: int = 1) -> dict[str, ModelProfile]:
    return {name: ModelProfile(name, mib * MIB, mib * MIB) for name in trace.names}


def played(plan: VariantPlan, trace: Trace, mib: int = 1) -> tuple[Simulation, list[SimulatedCall]]:
    calls: list[SimulatedCall] = []
    simulation = Simulation(plan, profiles(trace, mib), calls.extend)
    simulation.run(trace)
    return simulation, calls


TRAFFIC = zipf(models=60, s=0.9, rate_hz=20.0, duration_s=120.0, seed=3, gaps=POISSON)


@pytest.mark.parametrize("policy", ["LRU", "LFU", "GDSF", "SIEVE", "TINYLFU", "S3-FIFO"])
@pytest.mark.parametrize("instances", [1, 3])
def test_every_request_ends_once_and_in_order_of_its_steps(policy: str, instances: int) -> None:
    machine = replace(ROOMY, memory_bytes=12 * MIB, policy=policy)
    simulation, calls = played(VariantPlan(machine, instances), TRAFFIC)
    asked = sum(len(chunk) for chunk in TRAFFIC.chunks())
    assert len(calls) == asked
    assert all(call.arrived_s <= call.routed_s <= call.ready_s <= call.done_s for call in calls)
    assert (simulation.in_flight, Counter(call.failed for call in calls)) == (0, {False: asked})


def test_hits_are_those_of_the_curve_when_loads_take_no_time() -> None:
    names = list(TRAFFIC.names)
    instant = {name: ModelProfile(name, MIB, MIB, 0.0, 0.0, 0.0, 0.0, 0.0) for name in names}
    for room in (5, 20):
        calls: list[SimulatedCall] = []
        machine = Machine(room * MIB, 1000 * MIB, wake_s=0.0)
        simulation = Simulation(VariantPlan(machine), instant, calls.extend)
        simulation.run(TRAFFIC)
        curve = lru_curve(TRAFFIC, dict.fromkeys(names, MIB), [room * MIB])
        assert sum(call.hit for call in calls) == curve.hits[0]


def test_work_takes_longer_where_others_work_and_a_delay_does_not() -> None:
    trace = recorded([(0.0, "a"), (0.0, "b"), (9.0, "c")])
    bare = ModelProfile("", MIB, MIB, 0.0, 0.0, 0.0, 0.0, 0.0)
    works = replace(bare, load_s=1.0, predict_s=0.1)
    waits = replace(bare, unpack_delay_s=0.5, load_delay_s=0.5, predict_delay_s=0.1)

    def story(one: ModelProfile) -> list[tuple[float, float]]:
        """How long each waited for its model, and for its answer."""
        calls: list[SimulatedCall] = []
        plan = VariantPlan(replace(ROOMY, processors=1), begun=True)
        Simulation(plan, {name: replace(one, name=name) for name in trace.names}, calls.extend).run(trace)
        return [(call.ready_s - call.routed_s, call.done_s - call.ready_s) for call in calls]

    assert story(works) == [pytest.approx(one) for one in ((2.0, 0.2), (2.0, 0.2), (1.0, 0.1))]
    assert story(waits) == [pytest.approx((1.0, 0.1))] * 3


@pytest.mark.parametrize("instances", [1, 64])  # so many would be played apart
def test_only_the_first_load_of_a_model_waits_for_what_the_machine_needs_once(instances: int) -> None:
    """Room for one model: each call evicts the other's model, and its own comes anew."""
    trace = recorded([(float(number), "ab"[number % 2]) for number in range(6)])
    one = ModelProfile("", 30 * MIB, MIB, 0.0, 0.0, 0.1, 0.0, 0.0, once_s=0.5)
    calls: list[SimulatedCall] = []
    plan = VariantPlan(ROOMY, instances, begun=True)
    Simulation(plan, {name: replace(one, name=name) for name in trace.names}, calls.extend).run(trace)
    waited_s = [call.ready_s - call.routed_s for call in sorted(calls, key=lambda call: call.routed_s)]
    later_s = 0.1 if instances == 1 else 0.0
    assert waited_s == [pytest.approx(seconds) for seconds in (0.6, 0.6, *[later_s] * 4)]


def test_the_same_trace_gives_the_same_story() -> None:
    def story() -> list[str]:
        told: list[str] = []
        machine = replace(ROOMY, memory_bytes=10 * MIB, policy="GDSF")
        simulation = Simulation(
            VariantPlan(machine, 2),
            profiles(TRAFFIC),
            lambda calls: None,
            lambda slot, made: told.append(f"{slot} {made}"),
        )
        simulation.run(TRAFFIC)
        return told

    assert story() == story()
    assert len(story()) > 100


def test_a_model_larger_than_the_machine_fails_its_own_callers_only() -> None:
    trace = recorded([TraceRequest(0.1, "small"), TraceRequest(0.2, "huge"), TraceRequest(0.3, "small")])
    sizes = {"small": ModelProfile("small", MIB, MIB), "huge": ModelProfile("huge", 900 * MIB, MIB)}
    calls: list[SimulatedCall] = []
    Simulation(VariantPlan(ROOMY), sizes, calls.extend).run(trace)
    assert sorted((call.model, call.failed) for call in calls) == [("huge", True), ("small", False), ("small", False)]


@pytest.mark.parametrize("keep_alive", ["fixed", "histogram"])
def test_a_year_asleep_is_a_few_events(keep_alive: str) -> None:
    """Where calls are expected it is awake for the next one, and then asleep again."""
    hour_s, year_s = 3600.0, 365 * 86_400.0
    trace = recorded([*(TraceRequest(hour_s * number, "a") for number in range(20)), TraceRequest(year_s, "a")])
    plan = VariantPlan(ROOMY, instances=0, sizes=InstanceRange(0, 1, 8), keep_alive=keep_alive, idle_s=60.0)
    simulation, calls = played(plan, trace)
    assert len(calls) == 21
    assert len(simulation.lives) == 21 + (keep_alive == "histogram")
    assert simulation.kernel.events < 20_000


def test_a_year_awake_is_a_few_events_too() -> None:
    trace = recorded([TraceRequest(0.0, "a"), TraceRequest(365 * 86_400.0, "a")])
    simulation, calls = played(VariantPlan(ROOMY, 1, InstanceRange(1, 4, 8)), trace)
    assert (len(calls), len(simulation.lives)) == (2, 1)
    assert simulation.kernel.events < 1_000


class DiligentRounds(SizingRounds):
    """Looks every second, whether anything can have changed or not."""

    def _skip(self, next_s: float) -> None:
        self._kernel.at(next_s, self.round, None)


class Diligent(Simulation):
    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.plan.sizes is not None
        learned = keep_alive(self.plan.keep_alive, self.plan.idle_s)
        self._sizing = DiligentRounds(self.kernel, self, self.plan.sizes, learned, self._calls.traffic)


@settings(max_examples=tries(16))
@given(
    gaps_s=st.lists(st.sampled_from([0.0, 0.01, 0.5, 7.0, 45.0, 70.0]), min_size=1, max_size=80),
    floor=st.integers(0, 2),
    keep_alive=st.sampled_from(["fixed", "histogram"]),
)
def test_looks_that_are_left_out_change_nothing(gaps_s: list[float], floor: int, keep_alive: str) -> None:
    trace = recorded([TraceRequest(time_s, "a") for time_s in accumulate(gaps_s)])
    slow = {"a": ModelProfile("a", MIB, MIB, predict_s=2.0)}
    plan = VariantPlan(ROOMY, floor, InstanceRange(floor, 3, 1), keep_alive, idle_s=30.0)

    def lived(kind: type[Simulation]) -> list[SimulatedLife]:
        simulation = kind(plan, slow, lambda calls: None)
        simulation.run(trace)
        return simulation.lives

    assert lived(Simulation) == lived(Diligent)


class Late(Simulation):
    """The first slot is ready only after ten seconds, and after five one instance is enough."""

    def _start(self, life: SimulatedLife) -> None:
        super()._start(life)
        self.kernel.at(5.0, self.scale, 1)

    def _become_ready(self, life: SimulatedLife) -> None:
        if life.slot.endswith("/0") and self.kernel.now_s < 10.0:
            self.kernel.at(10.0, self._become_ready, life)
        else:
            super()._become_ready(life)


def test_the_ready_instance_stays_when_the_variant_shrinks() -> None:
    simulation = Late(VariantPlan(ROOMY, 2), profiles(TRAFFIC), lambda calls: None)
    simulation.run(TRAFFIC)
    assert {life.slot[-2:]: life.retired_s for life in simulation.lives} == {"/0": 5.0, "/1": None}


def test_a_variant_at_zero_runs_nothing_and_a_burst_of_calls_is_one_wake() -> None:
    times = [1.0, 1.01, 1.02, 500.0, 500.001]
    trace = recorded([TraceRequest(time_s, "a") for time_s in times])
    plan = VariantPlan(ROOMY, instances=0, sizes=InstanceRange(0, 4, 8), idle_s=60.0)
    simulation, calls = played(plan, trace)
    assert (len(calls), simulation.counts.wakes) == (5, 2)
    paid_s = sum((life.ended_s or 0.0) - life.began_s for life in simulation.lives)
    assert 120.0 <= paid_s <= 2 * 63.0
    assert calls[0].done_s - calls[0].arrived_s >= ROOMY.wake_s


@settings(max_examples=tries(16))
@given(
    times=st.lists(st.floats(0.0, 300.0), min_size=1, max_size=60).map(sorted),
    models=st.lists(st.sampled_from("abcdefgh"), min_size=60, max_size=60),
    room=st.integers(1, 8),
    floor=st.integers(0, 2),
    idle_s=st.floats(1.0, 100.0),
)
def test_no_request_of_any_trace_is_lost(
    times: list[float], models: list[str], room: int, floor: int, idle_s: float
) -> None:
    trace = recorded([TraceRequest(time_s, model) for time_s, model in zip(times, models, strict=False)])
    plan = VariantPlan(replace(ROOMY, memory_bytes=room * MIB), floor, InstanceRange(floor, 3, 2), idle_s=idle_s)
    simulation, calls = played(plan, trace)
    assert len(calls) == len(times)
    assert not any(call.failed for call in calls)
    assert all(life.ended_s is not None and life.ended_s >= life.began_s for life in simulation.lives)


def test_a_model_that_is_called_by_a_timer_is_there_before_its_call_once_the_timer_is_learned() -> None:
    trace = recorded([TraceRequest(600.0 * number, "timer") for number in range(60)])
    plan = VariantPlan(replace(ROOMY, models_rest=Rests("histogram", 60.0)))
    simulation, calls = played(plan, trace)
    assert [call.hit for call in calls[:10]] == [False] * 10
    assert all(call.hit for call in calls[14:])
    assert simulation.counts.loads == 60  # and in between it is not kept


def test_a_variant_that_is_called_by_a_timer_is_awake_before_its_call() -> None:
    trace = recorded([TraceRequest(3000.0 + 600.0 * number, "timer") for number in range(60)])
    plan = VariantPlan(ROOMY, instances=0, sizes=InstanceRange(0, 1, 8), keep_alive="histogram", idle_s=60.0)
    simulation, calls = played(plan, trace)
    assert all(call.routed_s == call.arrived_s for call in calls[14:])
    assert sum((life.ended_s or 0.0) - life.began_s for life in simulation.lives) < 0.6 * 60 * 600.0


def test_a_slot_that_wakes_while_its_last_instance_still_unloads_has_its_disk_for_itself() -> None:
    """An instance is waited for five seconds, and its model takes thirty to leave."""
    slow, calls = ModelProfile("a", MIB, MIB, unload_s=30.0), list[SimulatedCall]()
    plan = VariantPlan(replace(ROOMY, cache=False), instances=0, sizes=InstanceRange(0, 1, 8), idle_s=1.0)
    simulation = Simulation(plan, {"a": slow}, calls.extend)
    simulation.run(recorded([TraceRequest(time_s, "a") for time_s in (0.0, 7.0, 67.0, 127.0)]))
    assert (len(calls), simulation.counts.wakes, simulation.counts.downloads) == (4, 4, 1)


@settings(max_examples=8, deadline=None)
@given(room=st.integers(1, 6), every_s=st.integers(200, 600), apart_s=st.floats(0.0, 40.0))
def test_however_full_the_memory_is_a_model_comes_once_for_a_call_and_once_before_it(
    room: int, every_s: int, apart_s: float
) -> None:
    trace = recorded(
        TraceRequest(every_s * round_ + apart_s * number, f"timer-{number}")
        for round_ in range(18)
        for number in range(6)
    )
    plan = VariantPlan(replace(ROOMY, memory_bytes=room * MIB, models_rest=Rests("histogram", 60.0)))
    simulation, calls = played(plan, trace)
    assert len(calls) == 108
    assert simulation.counts.loads <= sum(not call.hit for call in calls) + len(calls)


def test_four_instances_need_a_mapped_file_once() -> None:
    """One model at four instances, which loads while all of them are in use: each is charged its share."""
    trace = recorded([(0.0, "m")] * 4 + [(5.0 + second, "m") for second in range(4)])
    shared = {"m": ModelProfile("m", 9 * MIB, MIB, predict_s=1.0, mapped_bytes=8 * MIB)}
    plan = VariantPlan(replace(ROOMY, threads=1), 4, begun=True, at_once=1)
    simulation = Simulation(plan, shared, lambda calls: None)
    simulation.run(trace)
    charged = sorted(simulation.planned_bytes().values())
    assert charged == [MIB - (-8 * MIB // holders) for holders in (4, 3, 2, 1)], "as each saw it at its load"
    for instance in simulation._ready:
        simulation._files.look(instance.memory, 99.0)
    assert sum(simulation.planned_bytes().values()) == (4 * 1 + 8) * MIB


# -- a second copy -----------------------------------------------------------------------------------------------------
def overflowing(load_s: float, predict_s: float) -> tuple[list[SimulatedCall], Simulation]:
    """A model in memory, and 20 requests at once for it, then 20 more after a minute, on two instances."""
    profile = ModelProfile("a", MIB, MIB, 0.0, 0.0, load_s, 0.0, predict_s)
    calls: list[SimulatedCall] = []
    simulation = Simulation(VariantPlan(ROOMY, 2, begun=True), {"a": profile}, calls.extend)
    simulation.run(recorded([(0.0, "a"), *[(30.0, "a")] * 20, *[(90.0, "a")] * 20]))
    calls.sort(key=lambda call: call.arrived_s)
    return calls, simulation


def test_requests_wait_at_the_busy_instance_until_the_second_copy_is_loaded() -> None:
    calls, simulation = overflowing(load_s=10.0, predict_s=0.1)
    assert [call.outcome == FOUND for call in calls] == [False] + [True] * 40
    first = calls[0].slot
    assert {call.slot for call in calls[1:21]} == {first}
    assert Counter(call.slot == first for call in calls[21:]) == {True: 13, False: 7}
    assert simulation.counts.loads == 2


def test_requests_wait_for_the_load_of_the_second_copy_where_the_line_is_longer() -> None:
    """Two threads answer one each twentieth of a second: behind 16, the load is the shorter wait."""
    calls, simulation = overflowing(load_s=0.78, predict_s=0.1)
    first = calls[0].slot
    there = [call.slot == first for call in calls[1:21]]
    assert there == [True] * 16 + [False] * 4
    assert (calls[17].outcome == FOUND, simulation.counts.loads) == (False, 2)
    assert max(call.done_s for call in calls[1:21]) < 31.0
