"""What a serverless variant is in a scenario: its rules, its processors and its name."""

from torpor.value_rules import Kind, ValueRule
from torpor_endpoint.core.pricing.catalogue import serverless_vcpus
from torpor_endpoint.core.resource_records import Serverless as Serverless

SIZES_MIB = (1024, 2048, 3072, 4096, 5120, 6144)
"""The memory sizes of serverless inference."""
CONCURRENCY_MOST = 200
"""AWS's largest MaxConcurrency of an endpoint."""


def _in_bounds(value: object) -> bool:
    if not isinstance(value, Serverless) or value.memory_mib not in SIZES_MIB:
        return False
    return (
        1 <= value.max_concurrency <= CONCURRENCY_MOST and 0 <= value.provisioned_concurrency <= value.max_concurrency
    )


SERVERLESS: Kind = (
    ValueRule(
        f"is a torpor.Serverless with memory_mib of {', '.join(map(str, SIZES_MIB))}, max_concurrency from 1 to"
        f" {CONCURRENCY_MOST}, and provisioned_concurrency of at most that",
        _in_bounds,
    ),
)


def vcpus(memory_mib: float) -> int:
    """The processors of a serverless instance, as its host gives them."""
    return max(1, round(serverless_vcpus(int(memory_mib))))


def title(serverless: Serverless) -> str:
    """A short name, for tables and plots."""
    kept = f", {serverless.provisioned_concurrency} provisioned" if serverless.provisioned_concurrency else ""
    return f"serverless {serverless.memory_mib:,} MB, at most {serverless.max_concurrency} at once{kept}"
