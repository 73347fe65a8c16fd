"""Reads AWS's price list file of SageMaker's savings plans: offer AWSMachineLearningSavingsPlans, one region, as JSON.

Its form, as AWS publishes it: `terms.savingsPlan` is a list of plans, each with a `description`, such as `1 year No
Upfront SageMaker Savings Plan`, and with `rates`: the usage type that is discounted, and its price for an hour.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torpor.prices.json_stream import JsonStream
from torpor.prices.offers import USD, PriceFileRefused
from torpor_endpoint.core.pricing.quotes import SavingsRate

SAVINGS = "savingsPlan"


def is_of_savings(path: Path) -> bool:
    """Whether the beginning of the file says that it is of SageMaker's savings plans."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        return "MachineLearningSavingsPlans" in file.read(16_384)


def savings_rates(path: Path, stream: JsonStream, item_of: Callable[[str], str | None]) -> tuple[SavingsRate, ...]:
    """The rates of the items that `item_of` finds for a usage type. Raises PriceFileRefused, ValueError, KeyError."""
    found: list[SavingsRate] = []
    has_terms = False
    for name in stream.members():
        if name != "terms":
            stream.value()
            continue
        for kind in stream.members():
            if kind != SAVINGS:
                stream.value()
                continue
            has_terms = True
            for _ in stream.items():
                found += _rates(path, stream.value(), item_of)
    stream.end()
    if not has_terms:
        raise KeyError(SAVINGS)
    if not found:
        raise PriceFileRefused(path, "has no rates for endpoints or transform jobs: name AWS's whole file of a region")
    return tuple(found)


def _rates(path: Path, plan: Any, item_of: Callable[[str], str | None]) -> Iterator[SavingsRate]:
    for rate in plan["rates"]:
        item = item_of(rate["discountedUsageType"])
        if item is None:
            continue
        price = rate["discountedRate"]
        if price["currency"] != USD:
            told = f"{rate['rateCode']} is priced in {price['currency']}, not in US dollars: name another region's file"
            raise PriceFileRefused(path, told)
        usd = float(price["price"])
        if not 0 < usd < 1e6:
            raise PriceFileRefused(path, f"{rate['rateCode']} has the price {price['price']}: fetch it from AWS again")
        yield SavingsRate(plan["description"], item, usd)
