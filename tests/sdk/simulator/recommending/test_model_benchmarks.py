"""What a measured model can do on other instances: more threads more answers, thresholds, memory, prices."""

from dataclasses import replace

import pytest

from torpor.simulator.recommending.model_benchmarks import Measured, benchmark
from torpor.simulator.scenario import Scenario
from torpor.simulator.simulation_inputs import load
from torpor.workloads import recorded
from torpor.workloads.profile import ModelProfile
from torpor_endpoint.core.pricing.prices import PRICES
from torpor_endpoint.core.recommendations.benchmark_records import Benchmark, BenchmarkSetup, RecommendationQuestion
from torpor_endpoint.core.resource_records import Serverless

MIB = 1024**2
PLAIN = RecommendationQuestion("ledger.sqlite", "e", "v")
LARGE = BenchmarkSetup("ml.m5.large")


def measured(memory_bytes: int = MIB) -> Measured:
    """A model that takes 10 ms for an answer."""
    profile = ModelProfile("a", memory_bytes, memory_bytes, 0.1, 0.1, 0.3, 0.0, 0.010)
    return Measured([profile], [5], Scenario(), load(recorded([(0.0, "a")]), {"a": profile}))


def tried(setup: BenchmarkSetup, question: RecommendationQuestion = PLAIN, memory_bytes: int = MIB) -> Benchmark:
    return benchmark(setup, measured(memory_bytes), question, PRICES)


def test_twice_the_vcpus_answer_twice_as_much() -> None:
    two, four = tried(LARGE), tried(BenchmarkSetup("ml.m5.xlarge"))
    assert two.invocations_per_minute == pytest.approx(12_000, rel=0.05)
    assert four.invocations_per_minute == pytest.approx(24_000, rel=0.05)
    assert two.processor_percent > 90
    assert two.usd_per_hour is not None
    assert two.usd_per_invocation == pytest.approx(two.usd_per_hour / (60 * two.invocations_per_minute))


def test_one_thread_of_a_parameter_answers_half() -> None:
    found = tried(replace(LARGE, environment={"TORPOR_VCPU": "1"}))
    assert found.invocations_per_minute == pytest.approx(6_000, rel=0.05)


def test_a_threshold_and_a_most_of_invocations_bound_the_users() -> None:
    allowed = tried(LARGE, replace(PLAIN, users=(1, 2, 8, 64), latency_ms=30.0))
    assert allowed.latency_ms <= 30.0
    assert (
        tried(LARGE, replace(PLAIN, latency_ms=5.0)).trouble
        == "p95 is 10 ms with its fewest users, and 5 ms are allowed"
    )
    assert tried(LARGE, replace(PLAIN, invocations_max=100)).invocations_per_minute == 100


def test_few_users_get_no_more_than_they_ask_for() -> None:
    assert tried(LARGE, replace(PLAIN, users=(1,))).invocations_per_minute == pytest.approx(6_000, rel=0.02)


def test_a_serverless_setup_is_paid_by_its_calls_and_tells_its_start() -> None:
    found = tried(BenchmarkSetup(serverless=Serverless(2048, 2)))
    assert found.trouble == ""
    assert found.setup_ms == 600
    assert found.usd_per_invocation == pytest.approx(2 * 0.010 * 0.00002, rel=0.01)


@pytest.mark.parametrize(
    ("setup", "memory_bytes", "said"),
    [
        (LARGE, 9 * 1024 * MIB, "the models need 9,663,676,416 bytes of memory, and an instance has "),
        (BenchmarkSetup("ml.nope.large"), MIB, "ml.nope.large is not in Torpor's catalogue"),
    ],
)
def test_what_cannot_be_run_says_why(setup: BenchmarkSetup, memory_bytes: int, said: str) -> None:
    found = tried(setup, memory_bytes=memory_bytes)
    assert found.trouble.startswith(said)
