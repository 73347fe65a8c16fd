"""How many instances a variant should have. It counts; it starts and stops nothing."""

from dataclasses import dataclass

from torpor_endpoint.records import Variant


@dataclass(frozen=True)
class Seen:
    """What the router knows of a variant's traffic."""

    in_flight: int  # requests being served or held
    last_request_s: float  # when the last one came or ended
    now_s: float


def may_sleep(variant: Variant) -> bool:
    """Whether the variant may have no instance at all."""
    if variant.serverless is not None:
        return variant.serverless.provisioned_concurrency == 0
    return variant.instances_min == 0


def at_start(variant: Variant) -> int:
    """Instances that creation, or an update, waits for. A new serverless variant shows once that it can wake."""
    if variant.serverless is not None:
        return max(1, variant.serverless.provisioned_concurrency)
    return variant.instance_count if may_sleep(variant) else max(1, variant.instance_count)


def desired(variant: Variant, present: int, seen: Seen, idle_s: float) -> int:
    """The instances wanted now, given how many there are."""
    if not may_sleep(variant):
        return present
    if seen.in_flight == 0 and seen.now_s - seen.last_request_s >= idle_s:
        return 0
    return max(present, 1) if seen.in_flight else present
