"""The recount: it agrees with the counters on any traffic, and it finds what does not agree."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torpor.simulator.checks import Inconsistent, Recount
from torpor.simulator.engine import Look, Machine, Plan, Rests, Simulation
from torpor.simulator.profile import ModelProfile, Spread
from torpor.simulator.workloads import Synthetic, zipf
from torpor_container.core.policies import POLICIES
from torpor_endpoint.core.scaling import Range

MIB = 1024 * 1024
MACHINE = Machine(memory_bytes=12 * MIB, disk_bytes=30 * MIB, threads=2)


def simulated(plan: Plan, trace: Synthetic) -> tuple[Recount, Simulation, list[Look]]:
    """With a look every few seconds, never at the moment of anything else."""
    profiles = {
        name: ModelProfile(name, (1 + number % 3) * MIB, MIB, load_s=0.3, predict_s=0.05)
        for number, name in enumerate(trace.names)
    }
    recount, looks = Recount(), list[Look]()
    simulation = Simulation(plan, profiles, recount.told, recount.recorded, Spread(0.5, 0.5, 0.5, trace.seed))
    for step in range(1, 40):
        simulation.kernel.at(step * 3.1415926, lambda simulated: looks.append(simulated.look()), simulation)
    simulation.run(trace)
    return recount, simulation, looks


@settings(max_examples=25, deadline=None)
@given(
    policy=st.sampled_from(sorted(POLICIES)),
    sizes=st.sampled_from([None, Range(0, 3, 2), Range(1, 2, 4)]),
    cache=st.booleans(),
    rests=st.sampled_from([None, Rests("fixed", 2.0), Rests("histogram", 5.0)]),
    rate_hz=st.floats(1.0, 40.0),
    seed=st.integers(0, 99),
)
def test_the_log_and_the_counters_tell_one_story(
    policy: str, sizes: Range | None, cache: bool, rests: Rests | None, rate_hz: float, seed: int
) -> None:
    machine = replace(MACHINE, policy=policy, cache=cache, models_rest=rests)
    plan = Plan(machine, 2 if sizes is None else sizes.floor, sizes, idle_s=7.0)
    recount, simulation, looks = simulated(plan, zipf(40, 0.9, rate_hz, 100.0, seed))
    recount.verify(simulation, looks)
    assert len(looks) >= 30


TRACE = zipf(40, 0.9, 10.0, 100.0, 1)


def test_a_budget_that_is_smaller_than_what_was_planned_is_found() -> None:
    recount, simulation, _ = simulated(Plan(MACHINE), TRACE)
    simulation.plan = Plan(replace(MACHINE, memory_bytes=6 * MIB))
    with pytest.raises(Inconsistent, match="bytes are planned with 6,291,456"):
        recount.verify(simulation)


def test_a_call_of_a_model_that_was_not_there_is_found() -> None:
    recount, simulation, _ = simulated(Plan(MACHINE), TRACE)
    recount._calls[100].ready_s -= 100.0
    with pytest.raises(Inconsistent, match="not there all the time"):
        recount.verify(simulation)


def test_an_instance_too_many_is_found() -> None:
    recount, simulation, looks = simulated(Plan(MACHINE, 2), TRACE)
    with pytest.raises(Inconsistent, match="3 instances, 2 by the log"):
        recount.verify(simulation, [replace(looks[5], instances=3)])
