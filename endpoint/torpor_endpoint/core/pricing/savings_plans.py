"""Computes what instances cost under a savings plan: a commitment of so many dollars for each hour, at lower rates.

AWS's Savings Plans User Guide: plans "are applied to your highest savings percentage first", hour by hour; what the
commitment does not cover is billed on demand, and what is left of it in an hour is paid all the same and is not carried
over. A SageMaker plan covers instances of endpoints and jobs. It covers no serverless inference, volume or data.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.pricing.accounts import Window
from torpor_endpoint.core.pricing.prices import HOUR_S, Prices

AMOUNTS_MAX = 32
"""The most commitments that are tried."""
Hours = Sequence[tuple[float, Mapping[str, float]]]
"""The usage hour by hour: the part of the hour that is meant, and the hours of instances by item."""


@dataclass(frozen=True)
class PlannedCost:
    """The cost of instances under a plan. `usd` is the sum of the commitment and of what is beyond it."""

    plan: str
    commitment_usd: float  # for each hour
    committed_usd: float  # of all hours
    beyond_usd: float  # on demand

    @property
    def usd(self) -> float:
        return self.committed_usd + self.beyond_usd


def under_plan(hours: Hours, plan: str, commitment_usd: float, prices: Prices) -> PlannedCost | None:
    """The cost with this commitment; None if an item has no price on demand."""
    rates = prices.savings.get(plan, {})
    committed = beyond = 0.0
    for part, used in hours:
        left = commitment_usd * part
        committed += left
        for item, on_demand, rate in _by_savings(used, rates, prices):
            if on_demand is None:
                return None
            covered = 0.0 if rate is None else min(used[item], left / rate)
            left -= covered * (rate or 0.0)
            beyond += (used[item] - covered) * on_demand
    return PlannedCost(plan, commitment_usd, committed, beyond)


def best_commitment(hours: Hours, plan: str, prices: Prices) -> PlannedCost | None:
    """The cheapest commitment of this plan. None if it covers nothing of the usage, if a price is not known, or if no
    commitment is cheaper than none.

    The cost is linear between the amounts that cover the usage of some hour, so that one of these is the best. Of more
    than `AMOUNTS_MAX` amounts as many are tried, evenly.
    """
    rates = prices.savings.get(plan, {})
    covering = {round(sum(rates.get(item, 0.0) * of for item, of in used.items()) / part, 9) for part, used in hours}
    amounts = sorted(covering)
    if len(amounts) > AMOUNTS_MAX:
        amounts = [amounts[number * (len(amounts) - 1) // (AMOUNTS_MAX - 1)] for number in range(AMOUNTS_MAX)]
    tried = (under_plan(hours, plan, amount, prices) for amount in (0.0, *amounts))
    known = [one for one in tried if one is not None]
    best = min(known, key=lambda one: (one.usd, one.commitment_usd), default=None)
    return best if best is not None and best.commitment_usd else None


def hours_of(lives: Iterable[InstanceLife], window: Window) -> Hours:
    """The usage of instances in each hour of the window, which begin with the window."""
    count = ceil(window.length_s / HOUR_S)
    ends_s = [min(window.since_s + (number + 1) * HOUR_S, window.until_s) for number in range(count)]
    hours: list[dict[str, float]] = [{} for _ in ends_s]
    for life in lives:
        began_s, ended_s = max(life.started_s, window.since_s), window.end_s(life)
        first = int((began_s - window.since_s) // HOUR_S)
        for number in range(first, min(count, ceil((ended_s - window.since_s) / HOUR_S))):
            since_s = window.since_s + number * HOUR_S
            alive_s = min(ended_s, ends_s[number]) - max(began_s, since_s)
            if alive_s > 0:
                hours[number][life.size] = hours[number].get(life.size, 0.0) + alive_s / HOUR_S
    parts = [(end_s - window.since_s - number * HOUR_S) / HOUR_S for number, end_s in enumerate(ends_s)]
    return list(zip(parts, hours, strict=True))


# -- inside --------------------------------------------------------------------------------------------------------
def _by_savings(
    used: Mapping[str, float], rates: Mapping[str, float], prices: Prices
) -> list[tuple[str, float | None, float | None]]:
    """The items with their price on demand and their rate, the highest savings first, then the lowest rate."""
    found = [(item, prices.usd(item), rates.get(item)) for item in used]

    def order(one: tuple[str, float | None, float | None]) -> tuple[float, float]:
        _, on_demand, rate = one
        return (1.0, 0.0) if rate is None or not on_demand else (rate / on_demand - 1, rate)

    return sorted(found, key=order)
