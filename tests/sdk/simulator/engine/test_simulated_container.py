"""A pipeline: each request passes all containers of its instance, and each container has its own turns."""

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.example_counts import tries
from torpor.simulator.engine.call_records import FOUND, SimulatedCall
from torpor.simulator.engine.consistency import ConsistencyCheck
from torpor.simulator.engine.simulated_variant import Simulation
from torpor.simulator.engine.variant.variant_plan import Machine, VariantPlan
from torpor.workloads import Trace, recorded, zipf
from torpor.workloads.profile import ContainerProfile, ModelProfile
from torpor_container.core.residency import Decision
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.routing.ready_slots import PlacedInstance
from torpor_endpoint.core.scaling import InstanceRange

MIB = 1024 * 1024
A = ModelProfile("a", MIB, MIB, 0.0, 0.0, 0.5, 0.0, 0.25)
CLEAN, MODELS = ContainerProfile("clean", 0, 0.125), ContainerProfile("models", models=True)
RANK = ContainerProfile("rank", 0, 0.0625, 0.5)
PIPELINE = (CLEAN, MODELS, RANK)
ALONE = Machine(10 * MIB, 10 * MIB, wake_s=0.0, threads=1, processors=None)


def served(
    machine: Machine, trace: Trace, profiles: Mapping[str, ModelProfile] | None = None, **plan: object
) -> list[SimulatedCall]:
    """The requests in the order in which they ended, after a check of all counters."""
    calls: list[SimulatedCall] = []
    check = ConsistencyCheck()

    def listen(ended: list[SimulatedCall]) -> None:
        calls.extend(ended)
        check.on_calls(ended)

    begun = VariantPlan(machine, begun=True, **plan)  # type: ignore[arg-type]  # fields of several types
    simulation = Simulation(begun, profiles or {"a": A}, listen, check.recorded)
    check.watch(simulation)
    simulation.run(trace)
    check.verify(simulation)
    return calls


def test_a_request_takes_the_sum_of_its_containers() -> None:
    cold, warm = served(replace(ALONE, containers=PIPELINE), recorded([(0.0, "a"), (10.0, "a")]))
    assert (cold.spent_s, warm.spent_s) == ([0.125, 0.75, 0.5625], [0.125, 0.25, 0.5625])
    assert (cold.done_s, warm.done_s) == (sum(cold.spent_s), 10.0 + sum(warm.spent_s))


def test_containers_work_at_the_same_time_each_with_its_own_turns() -> None:
    quick = replace(RANK, predict_delay_s=0.0)
    calls = served(replace(ALONE, containers=(CLEAN, MODELS, quick)), recorded([(8.0, "a")] + [(9.0, "a")] * 3))[1:]
    # The slowest container has the pace: after the first answer, one each quarter of a second.
    assert [call.done_s - 9.0 for call in calls] == [0.4375, 0.6875, 0.9375]
    assert [call.spent_s[0] for call in calls] == [0.125, 0.25, 0.375]


def test_a_container_has_as_many_turns_as_threads_of_its_own() -> None:
    two = replace(CLEAN, threads=2)
    calls = served(replace(ALONE, threads=8, containers=(two, MODELS)), recorded([(8.0, "a")] + [(9.0, "a")] * 3))[1:]
    assert [call.spent_s for call in calls] == [[0.125, 0.25], [0.125, 0.25], [0.25, 0.25]]


def test_all_containers_share_the_processors_of_their_instance() -> None:
    machine = replace(ALONE, processors=1, containers=(replace(CLEAN, predict_s=0.25), MODELS))
    first, second = served(machine, recorded([(8.0, "a"), (9.0, "a"), (9.25, "a")]))[1:]
    assert first.spent_s == [0.25, 0.5]  # the second one is in the container before, on the same processor
    assert second.spent_s == [0.5, 0.25]


def test_a_request_whose_model_is_too_large_goes_no_further() -> None:
    (call,) = served(replace(ALONE, memory_bytes=1, containers=PIPELINE), recorded([(0.0, "a")]))
    assert call.failed
    assert call.spent_s == [0.125]


def test_a_model_may_leave_while_its_request_is_in_a_later_container() -> None:
    slow = replace(RANK, predict_delay_s=8.0)
    both = {"a": A, "b": replace(A, name="b", memory_bytes=10 * MIB)}
    machine = replace(ALONE, threads=2, containers=(MODELS, slow))
    first, second = served(machine, recorded([(0.0, "a"), (1.0, "b")]), both)
    assert first.used_until_s < second.ready_s < first.done_s


def test_an_instance_is_drained_when_its_last_container_has_answered() -> None:
    slow = replace(RANK, predict_delay_s=100.0)
    calls: list[SimulatedCall] = []
    plan = VariantPlan(replace(ALONE, containers=(MODELS, slow)), 0, InstanceRange(0, 1, 1), idle_s=5.0)
    simulation = Simulation(plan, {"a": A}, calls.extend)
    simulation.run(recorded([(0.0, "a")]))
    (life,) = simulation.lives
    assert life.ended_s is not None
    assert life.ended_s >= calls[0].done_s > 100.0


@settings(max_examples=tries(6), deadline=None)
@given(st.integers(0, 1000), st.integers(0, 2), st.integers(0, 2), st.booleans())
def test_containers_that_take_no_time_change_no_decision(seed: int, before: int, after: int, grows: bool) -> None:
    profiles = {
        f"model-{number}": ModelProfile(f"model-{number}", (number % 5 + 1) * MIB, MIB, 0.01, 0.02, 0.3, 0.01, 0.05)
        for number in range(20)
    }
    trace = zipf(models=20, rate_hz=15, duration_s=60, seed=seed)
    profiles = {name: replace(profiles[f"model-{number}"], name=name) for number, name in enumerate(trace.names)}
    idle = [ContainerProfile(f"c{number}") for number in range(before + after)]
    piped = (*idle[:before], MODELS, *idle[before:])
    logs = []
    for containers in ((), piped):
        log: list[tuple[str, Decision]] = []
        calls: list[SimulatedCall] = []
        sizes = InstanceRange(1, 4, 1) if grows else None
        plan = VariantPlan(Machine(15 * MIB, 100 * MIB, 2, containers=containers), 2, sizes, begun=True)
        Simulation(plan, profiles, calls.extend, lambda *one, log=log: log.append(one)).run(trace)
        logs.append((log, [(call.model, call.arrived_s, call.ready_s, call.done_s, call.outcome) for call in calls]))
    assert logs[0] == logs[1]


# -- an instance that comes --------------------------------------------------------------------------------------------
def test_in_a_pipeline_too_no_call_waits_for_the_load_of_a_model_that_an_instance_has() -> None:
    names = [f"m{number}" for number in range(8)]
    calls: list[SimulatedCall] = []
    machine = replace(ALONE, containers=PIPELINE)
    profiles = {name: replace(A, name=name) for name in names}
    simulation = Simulation(VariantPlan(machine, begun=True), profiles, calls.extend)
    simulation.kernel.at(30.0, simulation.scale, 2)
    times_s = [2.0 * number for number in range(8)] + [40.0 + number for number in range(32)]
    simulation.run(recorded([(time_s, names[number % 8]) for number, time_s in enumerate(times_s)]))
    calls.sort(key=lambda call: call.arrived_s)
    assert [call.outcome == FOUND for call in calls] == [False] * 8 + [True] * 32
    first, second = (life.slot for life in simulation.lives)
    assert {call.slot for call in calls[8:16]} == {first}
    assert {call.slot for call in calls[-8:]} == {first, second}
    assert simulation.counts.loads == 8 + sum(call.slot == second for call in calls[-8:])


def goes_to_the_second(model: str) -> bool:
    """Whether it goes to the second of two instances."""
    ready, both = Placement[PlacedInstance](), [PlacedInstance(), PlacedInstance()]
    for number, one in enumerate(both):
        one.in_flight = 0
        ready.offer(number, one)
    return ready.pick(model) is both[1]


def test_a_request_whose_model_left_the_former_owner_goes_on_at_the_newcomer() -> None:
    names = [f"m{number}" for number in range(20)]
    moving = next(name for name in names if goes_to_the_second(name))
    large = next(name for name in names if not goes_to_the_second(name))
    profiles = {moving: replace(A, name=moving, load_s=20.0), large: replace(A, name=large, memory_bytes=10 * MIB)}
    slow = replace(CLEAN, predict_s=0.0, predict_delay_s=5.0, threads=8)
    calls: list[SimulatedCall] = []
    machine = replace(ALONE, containers=(slow, MODELS, RANK))
    simulation = Simulation(VariantPlan(machine, begun=True), profiles, calls.extend)
    simulation.kernel.at(35.0, simulation.scale, 2)
    simulation.run(recorded([(0.0, moving), (40.0, moving), (41.0, large), (42.0, moving)]))
    first, second = (life.slot for life in simulation.lives)
    cold, stayed, evicting, went_on = sorted(calls, key=lambda call: call.arrived_s)
    assert [one.slot for one in (cold, stayed, evicting, went_on)] == [first, first, first, second]
    assert stayed.outcome == FOUND
    assert went_on.ready_s == 60.0, "the newcomer began to load the model with the call of second 40"
    assert went_on.spent_s == [5.0, 13.25, 0.5625]
    assert simulation.counts.loads == 3
    assert not any(one.in_flight for one in simulation.handovers.ready)
