"""What each way of serving costs: what was held, for how long, in; dollars out. It simulates nothing.

In none of the figures: free tiers, storage, data in and out of instances that are billed by the hour, and what each way
does to latency. A price that is not known makes the cost None, never 0.
"""

from collections.abc import Iterable
from math import ceil, floor

from torpor.simulator.costs.alternatives import TERMS, Calls, Component, Cost, CostTerms, HeldInstances, Way, check
from torpor.spans import HOUR_S
from torpor_endpoint.core.pricing.accounts import MIB_PER_GB
from torpor_endpoint.core.pricing.prices import PRICES, Prices

SERVERLESS_MIB = (1024, 2048, 3072, 4096, 5120, 6144)
"""The sizes that serverless inference is sold in."""


def endpoint_per_model(models: int, each: HeldInstances, terms: CostTerms = TERMS) -> Cost:
    """Every model has instances of its own."""
    check(models=models)
    usd = terms.prices.usd_by_the_hour(each.size, models * each.instances * terms.hours)
    return Cost(Way.ENDPOINT_PER_MODEL, usd, f"{models:,} endpoints of {each}, for {terms.hours:,.2f} h")


def multi_model(held: HeldInstances, terms: CostTerms = TERMS) -> Cost:
    """The models are free; the instances are not, called or idle."""
    usd = terms.prices.usd_by_the_hour(held.size, held.instances * terms.hours)
    return Cost(Way.MULTI_MODEL, usd, f"{held}, for {terms.hours:,.2f} h")


def autoscaled(size: str, instance_s: float, terms: CostTerms = TERMS) -> Cost:
    """Of a multi-model endpoint that never goes below one instance. `instance_s` is of all of them together."""
    return _by_the_second(Way.AUTOSCALED, size, instance_s, terms)


def asleep(size: str, instance_s: float, terms: CostTerms = TERMS) -> Cost:
    """Of a multi-model endpoint that holds nothing while nobody calls. `instance_s` is of all of them together."""
    return _by_the_second(Way.ASLEEP, size, instance_s, terms)


def components(models: int, each: Component, size: str, terms: CostTerms = TERMS) -> Cost:
    """As many instances as the reserves of all models fill, always on: a component is never evicted for another."""
    needed = instances_for(models, each, size, terms.prices)
    if needed is None:
        return Cost(Way.COMPONENTS, None, f"an instance of {size} has no room for one, or its size is not known")
    usd = terms.prices.usd_by_the_hour(size, needed * terms.hours)
    held = f"{HeldInstances(size, needed)}, for {terms.hours:,.2f} h"
    return Cost(Way.COMPONENTS, usd, f"{models:,} models of {each.memory_mib:,} MiB, {each.copies} of each: {held}")


def components_scaled(size: str, instance_s: float, terms: CostTerms = TERMS) -> Cost:
    """Of inference components whose copies and instances are scaled, to zero too: AWS's own way of sleeping, in which
    requests fail until an instance is there. `instance_s` is of all of them together."""
    return _by_the_second(Way.COMPONENTS_SCALED, size, instance_s, terms)


def instances_for(models: int, each: Component, size: str, prices: Prices = PRICES) -> int | None:
    """How many hold all the copies, if nothing of an instance is kept back. None where not even one fits."""
    check(models=models)
    found = prices.types.get(size)
    if found is None:
        return None
    has = ((found.memory_mib, each.memory_mib), (found.vcpus, each.cpus), (found.gpus, each.gpus))
    room = min((floor(whole / part) for whole, part in has if part), default=0)
    return ceil(models * each.copies / room) if room else None


def serverless(memory_mib: int, calls: Calls, terms: CostTerms = TERMS, starts_billed: bool = False) -> Cost:
    """Of the smallest size sold that has this memory. AWS does not say whether starting is billed; here it is not,
    unless told."""
    size_mib = next((size for size in SERVERLESS_MIB if size >= memory_mib), None)
    if size_mib is None:
        return Cost(Way.SERVERLESS, None, f"serverless inference has at most {SERVERLESS_MIB[-1]:,} MB")
    billed_ms = calls.predict_ms + (calls.start_ms if starts_billed else 0)
    gb = size_mib / MIB_PER_GB
    return Cost(
        Way.SERVERLESS,
        terms.prices.usd_by_the_call(billed_ms, gb, calls.moved_bytes),
        f"{calls.requests:,} requests on {size_mib:,} MB, {billed_ms / 1000 * gb:,.1f} GB-s and the data moved; "
        f"start-up is {'billed' if starts_billed else 'not billed'}",
    )


def ranked(costs: Iterable[Cost]) -> list[Cost]:
    """The cheapest first; those that are not known at the end."""
    return sorted(costs, key=lambda cost: (cost.usd is None, cost.usd or 0.0))


# -- inside --------------------------------------------------------------------------------------------------------
def _by_the_second(way: Way, size: str, instance_s: float, terms: CostTerms) -> Cost:
    check(instance_s=instance_s)
    usd = terms.prices.usd_by_the_hour(size, instance_s / HOUR_S)
    return Cost(way, usd, f"{instance_s / HOUR_S:,.2f} instance-hours of {size}, in {terms.hours:,.2f} h")
