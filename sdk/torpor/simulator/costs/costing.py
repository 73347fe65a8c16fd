"""Computes what each way to serve costs, from what is held and for how long.

The bills are made by the rules of `core.pricing.bills`, as the live endpoint's are. No figure includes free tiers; a
simulation adds the artifacts in S3. If the price of instances or of processing is not known, the cost is None, never 0;
other items without a price are named beside it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import ceil, floor

from torpor.simulator.costs.ways_to_serve import TERMS, Calls, Component, Cost, CostTerms, HeldInstances, Way, check
from torpor.simulator.serverless_terms import SIZES_MIB
from torpor.time_units import HOUR_S
from torpor_endpoint.core.pricing.accounts import MIB_PER_GB
from torpor_endpoint.core.pricing.bills import Usage, bill, together
from torpor_endpoint.core.pricing.prices import PRICES, Prices
from torpor_endpoint.core.resource_records import Serverless


def endpoint_per_model(models: int, each: HeldInstances, terms: CostTerms = TERMS, moved_bytes: int = 0) -> Cost:
    """The cost if every model has instances of its own."""
    check(models=models)
    billed = terms.by_the_second(each.size, models * each.instances * terms.hours * HOUR_S, moved_bytes)
    return Cost.of(Way.ENDPOINT_PER_MODEL, billed, f"{models:,} endpoints of {each}, for {terms.hours:,.2f} h")


def multi_model(held: HeldInstances, terms: CostTerms = TERMS, moved_bytes: int = 0) -> Cost:
    """The cost of a multi-model endpoint: its instances cost the same whether they are called or idle."""
    billed = terms.by_the_second(held.size, held.instances * terms.hours * HOUR_S, moved_bytes)
    return Cost.of(Way.MULTI_MODEL, billed, f"{held}, for {terms.hours:,.2f} h")


def autoscaled(size: str, instance_s: float, terms: CostTerms = TERMS, moved_bytes: int = 0) -> Cost:
    """The cost of a multi-model endpoint with at least one instance. `instance_s` is the sum over all instances."""
    return _by_the_second(Way.AUTOSCALED, size, instance_s, terms, moved_bytes)


def asleep(size: str, instance_s: float, terms: CostTerms = TERMS, moved_bytes: int = 0) -> Cost:
    """The cost of a multi-model endpoint that scales to zero. `instance_s` is the sum over all instances."""
    return _by_the_second(Way.ASLEEP, size, instance_s, terms, moved_bytes)


def transform_jobs(size: str, instance_s: float, terms: CostTerms = TERMS) -> Cost:
    """The cost of batch transform jobs, at the price of a job's instances. `instance_s` is the sum over all of them."""
    billed = terms.by_the_second(size, instance_s, job=True)
    return Cost.of(Way.BATCH, billed, f"{instance_s / HOUR_S:,.2f} instance-hours of {size} for jobs")


def components(models: int, each: Component, size: str, terms: CostTerms = TERMS) -> Cost:
    """The cost of as many always-on instances as all models' components fill: a component is never evicted."""
    needed = instances_for(models, each, size, terms.prices)
    if needed is None:
        return Cost(
            Way.COMPONENTS, None, f"an instance of {size} has no room for a component, or its size is not known"
        )
    billed = terms.by_the_second(size, needed * terms.hours * HOUR_S)
    held = f"{HeldInstances(size, needed)}, for {terms.hours:,.2f} h"
    assumes = f"{models:,} models of {each.memory_mib:,} MiB, {each.copies} of each: {held}"
    return Cost.of(Way.COMPONENTS, billed, assumes)


def components_on(
    instance_s: Mapping[str, float],
    way: Way,
    terms: CostTerms = TERMS,
    moved_bytes: int = 0,
) -> Cost:
    """The cost of the instances of inference components. `instance_s` are the seconds of all of each type."""
    bills = [
        terms.by_the_second(size, alive_s, 0 if number else moved_bytes)
        for number, (size, alive_s) in enumerate(instance_s.items())
    ]
    parts = [f"{alive_s / HOUR_S:,.2f} instance-hours of {size}" for size, alive_s in instance_s.items()]
    return Cost.of(way, together(bills), f"{' and '.join(parts) or 'no instance'}, in {terms.hours:,.2f} h")


def instances_for(models: int, each: Component, size: str, prices: Prices = PRICES) -> int | None:
    """How many instances hold all copies, if models can use a whole instance. None if not even one copy fits."""
    check(models=models)
    found = prices.types.get(size)
    if found is None:
        return None
    has = ((found.memory_mib, each.memory_mib), (found.vcpus, each.cpus), (found.gpus, each.gpus))
    room = min((floor(whole / part) for whole, part in has if part), default=0)
    return ceil(models * each.copies / room) if room else None


def serverless(memory_mib: int, calls: Calls, terms: CostTerms = TERMS, starts_billed: bool = False) -> Cost:
    """The cost of serverless inference with the smallest sufficient memory size. AWS does not say whether starting is
    billed; here it is only with `starts_billed`, and in no other bill of Torpor."""
    size_mib = next((size for size in SIZES_MIB if size >= memory_mib), None)
    if size_mib is None:
        return Cost(Way.SERVERLESS, None, f"serverless inference has at most {SIZES_MIB[-1]:,} MB")
    billed_ms = calls.predict_ms + (calls.start_ms if starts_billed else 0)
    gb = size_mib / MIB_PER_GB
    return Cost.of(
        Way.SERVERLESS,
        bill(Usage(memory_gb=gb, processing_ms=billed_ms, moved_bytes=calls.moved_bytes), terms.prices),
        f"{calls.requests:,} requests on {size_mib:,} MB, {billed_ms / 1000 * gb:,.1f} GB-s and the data moved; "
        f"start-up is {'billed' if starts_billed else 'not billed'}",
    )


def serverless_variant(
    config: Serverless, multi_model: bool, instance_s: float, calls: Calls, terms: CostTerms = TERMS
) -> Cost:
    """The cost of one serverless variant of Torpor. With provisioned concurrency it is that of the time for which its
    instances are awake, and of processing on them, as in the live bill."""
    gb, used = config.memory_mib / MIB_PER_GB, Usage(memory_gb=config.memory_mib / MIB_PER_GB)
    if config.provisioned_concurrency:
        used = replace(used, provisioned_s=instance_s, provisioned_ms=calls.predict_ms)
    else:
        used = replace(used, processing_ms=calls.predict_ms)
    return Cost.of(
        Way.SERVERLESS_MULTI_MODEL if multi_model else Way.SERVERLESS,
        bill(replace(used, moved_bytes=calls.moved_bytes), terms.prices),
        f"{calls.requests:,} requests on {config.memory_mib:,} MB, {calls.predict_ms / 1000 * gb:,.1f} GB-s and the"
        " data moved; start-up is not billed",
    )


def ranked(costs: Iterable[Cost]) -> list[Cost]:
    """The costs, the cheapest first, and unknown ones at the end."""
    return sorted(costs, key=lambda cost: (cost.usd is None, cost.usd or 0.0))


# -- inside --------------------------------------------------------------------------------------------------------
def _by_the_second(way: Way, size: str, instance_s: float, terms: CostTerms, moved_bytes: int = 0) -> Cost:
    billed = terms.by_the_second(size, instance_s, moved_bytes)
    return Cost.of(way, billed, f"{instance_s / HOUR_S:,.2f} instance-hours of {size}, in {terms.hours:,.2f} h")
