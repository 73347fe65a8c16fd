"""The consistency check: it agrees with the counters on any traffic, and it finds each difference."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.example_counts import tries
from torpor.simulator.engine.consistency import ConsistencyCheck, Inconsistent
from torpor.simulator.engine.simulated_variant import Simulation, VariantReading
from torpor.simulator.engine.variant.variant_plan import Machine, Rests, VariantPlan
from torpor.workloads import Synthetic, zipf
from torpor.workloads.profile import ModelProfile, Spread
from torpor_container.core.eviction import POLICIES
from torpor_endpoint.core.scaling import InstanceRange

MIB = 1024 * 1024
MACHINE = Machine(memory_bytes=12 * MIB, disk_bytes=30 * MIB, threads=2)


def simulated(
    plan: VariantPlan, trace: Synthetic, mapped: float = 0.0
) -> tuple[ConsistencyCheck, Simulation, list[VariantReading]]:
    """With a reading every few seconds, never at the moment of anything else. `mapped` is the part of each model that
    instances share."""
    sizes = {name: (1 + number % 3) * MIB for number, name in enumerate(trace.names)}
    profiles = {
        name: ModelProfile(name, size, MIB, load_s=0.3, predict_s=0.05, mapped_bytes=int(size * mapped))
        for name, size in sizes.items()
    }
    check, readings = ConsistencyCheck(), list[VariantReading]()
    simulation = Simulation(plan, profiles, check.on_calls, check.recorded, Spread(0.5, 0.5, 0.5, trace.seed))
    for step in range(1, 40):
        simulation.kernel.at(step * 3.1415926, lambda simulated: readings.append(simulated.reading()), simulation)
    simulation.run(trace)
    return check, simulation, readings


@settings(max_examples=tries(6), deadline=None)
@given(
    policy=st.sampled_from(sorted(POLICIES)),
    sizes=st.sampled_from([None, InstanceRange(0, 3, 2), InstanceRange(1, 2, 4)]),
    cache=st.booleans(),
    rests=st.sampled_from([None, Rests("fixed", 2.0), Rests("histogram", 5.0)]),
    rate_hz=st.floats(1.0, 40.0),
    seed=st.integers(0, 99),
    mapped=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_the_log_and_the_counters_agree(
    policy: str, sizes: InstanceRange | None, cache: bool, rests: Rests | None, rate_hz: float, seed: int, mapped: float
) -> None:
    machine = replace(MACHINE, policy=policy, cache=cache, models_rest=rests)
    plan = VariantPlan(machine, 2 if sizes is None else sizes.floor, sizes, idle_s=7.0)
    check, simulation, readings = simulated(plan, zipf(40, 0.9, rate_hz, 100.0, seed), mapped)
    check.verify(simulation, readings)
    assert len(readings) >= 30


TRACE = zipf(40, 0.9, 10.0, 100.0, 1)


def test_a_budget_that_is_smaller_than_what_was_planned_is_found() -> None:
    check, simulation, _ = simulated(VariantPlan(MACHINE), TRACE)
    simulation.plan = VariantPlan(replace(MACHINE, memory_bytes=6 * MIB))
    with pytest.raises(Inconsistent, match="the budget is 6,291,456"):
        check.verify(simulation)


def test_a_call_of_a_model_that_was_not_there_is_found() -> None:
    check, simulation, _ = simulated(VariantPlan(MACHINE), TRACE)
    check._calls[100].ready_s -= 100.0
    with pytest.raises(Inconsistent, match="was not in memory all that time"):
        check.verify(simulation)


def asleep(seed: int = 1) -> tuple[ConsistencyCheck, Simulation, list[VariantReading]]:
    """A variant that sleeps at the end: only readings and counters are left to compare."""
    plan = VariantPlan(replace(MACHINE, disk_bytes=400 * MIB), 0, InstanceRange(0, 1, 8), idle_s=0.5)
    return simulated(plan, zipf(40, 0.9, 1.0, 100.0, seed))


@pytest.mark.parametrize("what", ["instances", "in_flight", "models", "memory_bytes"])
def test_a_reading_of_one_more_or_one_less_is_found(what: str) -> None:
    check, simulation, readings = asleep()
    check.verify(simulation, readings)
    busy = max(readings, key=lambda reading: reading.memory_bytes)
    for saw in (getattr(busy, what) - 1, getattr(busy, what) + 1):
        with pytest.raises(
            Inconsistent, match=f"{what} at .*: {saw:,} in the reading, {getattr(busy, what):,} by the log"
        ):
            check.verify(simulation, [replace(busy, **{what: saw})])


@pytest.mark.parametrize(
    ("what", "found"),
    [
        ("loads", "^load: .* were counted"),
        ("unloads", "^evict: .* were counted"),
        ("load_s", "^load seconds: .* were counted"),
        ("downloads", "^downloads: .* were counted"),
        ("wakes", "^wakes: .* were counted"),
    ],
)
def test_a_counter_that_is_one_off_is_found(what: str, found: str) -> None:
    check, simulation, readings = asleep()
    counted = getattr(simulation.counts, what)
    assert counted > 1
    for told in (counted - 1, counted + 1):
        setattr(simulation.counts, what, told)
        with pytest.raises(Inconsistent, match=found):
            check.verify(simulation, readings)


def test_downloads_to_a_disk_too_small_for_all_are_checked_against_the_loads() -> None:
    check, simulation, _ = simulated(VariantPlan(MACHINE), TRACE)
    assert 40 < simulation.counts.downloads < simulation.counts.loads
    for told in (30, simulation.counts.loads + 1):
        simulation.counts.downloads = told
        with pytest.raises(Inconsistent, match=r"^downloads: .* were counted"):
            check.verify(simulation)


def test_bytes_that_are_left_over_at_the_end_are_found() -> None:
    check, simulation, _ = simulated(VariantPlan(MACHINE), TRACE)
    check._decisions.pop()
    with pytest.raises(Inconsistent, match="by the log"):
        check.verify(simulation)


def test_an_instance_too_many_is_found() -> None:
    check, simulation, readings = simulated(VariantPlan(MACHINE, 2), TRACE)
    with pytest.raises(Inconsistent, match=r"instances at .*: 3 in the reading, 2 by the log"):
        check.verify(simulation, [replace(readings[5], instances=3)])
