"""Makes the simulator's question from a job's request: what is tried, with how many users, and what ends a test."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from torpor_endpoint.core.recommendations.benchmark_records import BenchmarkSetup, RecommendationQuestion
from torpor_endpoint.core.resource_records import Serverless, Variant
from torpor_endpoint.core.variant_setup import setup_of
from torpor_endpoint.services.recommendations.recommendation_rules import TESTS_MAX
from torpor_endpoint.services.sagemaker.rules import Wire

PERCENTILE = "P95"
"""AWS's default of ModelLatencyThresholds."""
AS_IT_IS = BenchmarkSetup()


def question(request: Wire, endpoint: str, variant: Variant, ledger: Path) -> RecommendationQuestion:
    """The question about a variant that has the model."""
    given, stop = request["InputConfig"], request.get("StoppingConditions", {})
    thresholds = stop.get("ModelLatencyThresholds", [{}])[0]
    limit = given.get("ResourceLimit", {}).get("MaxNumberOfTests", TESTS_MAX)
    setups = (AS_IT_IS,) if "Endpoints" in given else tuple(_setups(given.get("EndpointConfigurations", ())))
    return RecommendationQuestion(
        str(ledger),
        endpoint,
        variant.name,
        setup_of(variant),
        setups[:limit],
        tuple(users(given.get("TrafficPattern", {}))),
        float(thresholds.get("Percentile", PERCENTILE).removeprefix("P")),
        thresholds.get("ValueInMilliseconds"),
        stop.get("MaxInvocations"),
        stop.get("FlatInvocations", "Stop") == "Stop",
        min(limit, TESTS_MAX),
    )


def users(pattern: Wire) -> Iterator[int]:
    """The numbers of users that call at once: of a phase at its beginning and at its end, of stairs on each step."""
    if stairs := pattern.get("Stairs"):
        for step in range(1, stairs.get("NumberOfSteps", 1) + 1):
            yield step * stairs.get("UsersPerStep", 1)
    for phase in pattern.get("Phases", ()):
        first = phase.get("InitialNumberOfUsers", 1)
        yield first
        spawned = phase.get("SpawnRate", 0) * phase.get("DurationInSeconds", 0) // 60
        if spawned:
            yield first + spawned


def _setups(configurations: Any) -> Iterator[BenchmarkSetup]:
    for one in configurations:
        ranges = one.get("EnvironmentParameterRanges", {}).get("CategoricalParameterRanges", ())
        names = [given["Name"] for given in ranges]
        for values in product(*(given["Value"] for given in ranges)):
            yield BenchmarkSetup(
                one.get("InstanceType"),
                _serverless(one.get("ServerlessConfig")),
                dict(zip(names, values, strict=True)),
                one.get("InferenceSpecificationName"),
            )


def _serverless(given: Wire | None) -> Serverless | None:
    if given is None:
        return None
    return Serverless(given["MemorySizeInMB"], given["MaxConcurrency"], given.get("ProvisionedConcurrency", 0))
