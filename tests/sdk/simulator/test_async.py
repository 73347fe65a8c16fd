"""Asynchronous variants in virtual time: one queue, as many at a time as the instances may have, in order."""

from typing import Any

from torpor.simulator.engine.call_records import SimulatedCall
from torpor.simulator.scenario import Scenario
from torpor.simulator.simulation_inputs import load
from torpor.simulator.simulation_result import SimulationResult
from torpor.simulator.simulation_run import recounted
from torpor.workloads import recorded, zipf
from torpor.workloads.profile import ModelProfile

PROFILES = {"m": ModelProfile("m", 1, 1, predict_s=1.0)}
WAITING = Scenario(asynchronous=True, concurrency=2, threads=8, processors=8, wake_s=1.0)


def played(arrivals_s: list[float], **changes: Any) -> tuple[list[SimulatedCall], SimulationResult]:
    """The requests for one model in the order in which they ended, and the result."""
    calls: list[SimulatedCall] = []
    inputs = load(recorded((at_s, "m") for at_s in arrivals_s), PROFILES)
    result = recounted(inputs, WAITING.altered(**changes), listener=calls.extend)
    return calls, result


def test_an_instance_has_no_more_at_once_than_it_may() -> None:
    calls, result = played([0.0, 0.0, 0.0, 0.0, 0.5])
    took_s = [call.done_s - call.routed_s for call in calls]
    assert max(took_s) < 1.1  # none waits in the instance
    assert [round(call.routed_s) for call in calls] == [0, 0, 1, 1, 2]
    assert [call.arrived_s for call in calls] == [0.0, 0.0, 0.0, 0.0, 0.5]
    assert 2.4 < result.latencies.quantile(1.0) < 2.7  # with the wait in the queue
    assert result.cold == 2  # the two that waited for the model; who waits for a turn is not cold


def test_two_instances_have_twice_as_many() -> None:
    calls, _ = played([0.0] * 8, instances=2)
    assert sum(call.routed_s == 0.0 for call in calls) == 4


def test_requests_that_wait_wake_the_variant_and_bring_further_instances() -> None:
    calls, result = played([0.0] * 60, instances_min=0, instances_max=3, idle_s=5.0)
    assert result.wakes == 1
    assert {call.slot.rpartition("/")[2] for call in calls} == {"0", "1", "2"}
    assert 0.9 < calls[0].routed_s < 1.2
    _, alone = played([0.0] * 60)
    assert result.latencies.quantile(1.0) < alone.latencies.quantile(1.0) - 5.0


def test_with_turns_enough_it_is_as_without_a_queue() -> None:
    trace = zipf(models=20, rate_hz=20.0, duration_s=120.0)
    inputs = load(trace)
    few = Scenario(concurrency=10_000, memory_mib=512)
    queued, plain = (recounted(inputs, few.altered(asynchronous=queued)) for queued in (True, False))
    assert queued.summary() | {"scenario": ""} == plain.summary() | {"scenario": ""}
