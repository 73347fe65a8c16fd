"""Reads AWS's price list file of SageMaker's savings plans: offer AWSMachineLearningSavingsPlans, one region, as JSON.

Its form, as AWS publishes it: `terms.savingsPlan` is a list of plans, each with a `description`, such as `1 year No
Upfront SageMaker Savings Plan`, and with `rates`: the usage type that is discounted, and its price for an hour.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Raw, Struct

from torpor.prices.offers import USD, PriceFileRefused, decoded, document
from torpor_endpoint.core.pricing.quotes import SavingsRate

SAVINGS = "savingsPlan"


def is_of_savings(path: Path) -> bool:
    """Whether the beginning of the file says that it is of SageMaker's savings plans."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        return "MachineLearningSavingsPlans" in file.read(16_384)


def savings_rates(path: Path, item_of: Callable[[str], str | None]) -> tuple[SavingsRate, ...]:
    """The rates of the items that `item_of` finds for a usage type. Raises PriceFileRefused, ValueError, KeyError."""
    terms = document(path, _SavingsFile).terms
    if SAVINGS not in terms:
        raise KeyError(SAVINGS)
    found = [rate for plan in decoded(terms[SAVINGS], list[_SavingsPlan]) for rate in _rates(path, plan, item_of)]
    if not found:
        raise PriceFileRefused(path, "has no rates for endpoints or transform jobs: name AWS's whole file of a region")
    return tuple(found)


# -- inside ------------------------------------------------------------------------------------------------------------
class _SavingsPrice(Struct):
    price: str
    currency: str


class _PlanRate(Struct, rename="camel"):
    discounted_usage_type: str
    rate_code: str
    discounted_rate: _SavingsPrice


class _SavingsPlan(Struct):
    description: str
    rates: list[_PlanRate]


class _SavingsFile(Struct):
    terms: dict[str, Raw] = {}


def _rates(path: Path, plan: _SavingsPlan, item_of: Callable[[str], str | None]) -> Iterator[SavingsRate]:
    for rate in plan.rates:
        item = item_of(rate.discounted_usage_type)
        if item is None:
            continue
        price = rate.discounted_rate
        if price.currency != USD:
            told = f"{rate.rate_code} is priced in {price.currency}, not in US dollars: name another region's file"
            raise PriceFileRefused(path, told)
        usd = float(price.price)
        if not 0 < usd < 1e6:
            raise PriceFileRefused(path, f"{rate.rate_code} has the price {price.price}: fetch it from AWS again")
        yield SavingsRate(plan.description, item, usd)
