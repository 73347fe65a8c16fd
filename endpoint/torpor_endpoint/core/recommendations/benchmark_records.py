"""What a recommendations job asks the simulator, and what it gets: one variant's measured model on other instances."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from torpor_endpoint.core.resource_records import Serverless
from torpor_endpoint.core.variant_setup import VariantSetup

RECOMMEND = "recommend"
"""The argument with which the simulator's module answers these questions."""


@dataclass(frozen=True)
class BenchmarkSetup:
    """An instance type or a serverless configuration, and what its container's Environment has beside the model's."""

    instance_type: str | None = None
    serverless: Serverless | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    specification: str | None = None  # the InferenceSpecificationName that it is for


@dataclass(frozen=True)
class RecommendationQuestion:
    """A variant whose requests the ledger has, and what is tried for its model. Without `setups`, all instance types
    with a price and no GPU. `users` are the numbers of users that call at once, one after the other; without them they
    double until more of them get no more answers."""

    ledger: str  # the path of the ledger's file
    endpoint: str
    variant: str
    setup: VariantSetup = field(default_factory=VariantSetup)
    setups: tuple[BenchmarkSetup, ...] = ()
    users: tuple[int, ...] = ()
    percentile: float = 95.0  # of the latency that is reported
    latency_ms: float | None = None  # the most that it may be
    invocations_max: int | None = None  # a minute; more are not tried
    stop_flat: bool = True  # whether more users are not tried once they get no more answers
    tests_max: int = 10  # the most setups in the answer


@dataclass(frozen=True)
class Benchmark:
    """What one setup can do. `trouble` says why it is no recommendation; its figures may be missing then."""

    setup: BenchmarkSetup
    invocations_per_minute: int = 0
    latency_ms: float = 0.0
    usd_per_hour: float | None = None
    usd_per_invocation: float | None = None
    processor_percent: float = 0.0
    memory_percent: float = 0.0
    setup_ms: int | None = None  # a serverless instance's start, with the load of its model
    trouble: str = ""


@dataclass(frozen=True)
class RecommendationAnswer:
    """The benchmarks, the cheapest answer first; and what was assumed, a line each."""

    benchmarks: tuple[Benchmark, ...]
    notes: tuple[str, ...] = ()
