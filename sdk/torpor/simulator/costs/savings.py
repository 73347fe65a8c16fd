"""What a month of always-on instances costs under AWS's savings plans, as far as their rates are known."""

from collections.abc import Sequence
from dataclasses import replace

from torpor.simulator.costs.ways_to_serve import MONTH_H
from torpor.simulator.scenario import Scenario
from torpor_endpoint.core.pricing.bills import Bill
from torpor_endpoint.core.pricing.prices import Prices
from torpor_endpoint.core.pricing.savings_plans import PlannedCost, best_commitment


def under_savings_plans(scenario: Scenario, prices: Prices) -> Sequence[PlannedCost]:
    """A month under each plan that is cheaper, of the instances alone, the cheapest first. None for a scenario whose
    instances sleep or scale: what a plan covers there depends on each hour."""
    if scenario.instances_min is not None or scenario.serverless is not None:
        return ()
    hours = [(1.0, {scenario.instance_type: float(scenario.instances)})]
    found = [best_commitment(hours, plan, prices) for plan in prices.savings]
    month = [
        replace(one, committed_usd=one.committed_usd * MONTH_H, beyond_usd=one.beyond_usd * MONTH_H)
        for one in found
        if one is not None
    ]
    return sorted(month, key=lambda one: one.usd)


def with_savings(scenario: Scenario, billed: Bill, prices: Prices) -> Sequence[tuple[PlannedCost, float]]:
    """Each plan that is cheaper, and the whole bill of a month with it."""
    others = billed.usd_of(*(line.item for line in billed.lines if line.item != scenario.instance_type))
    return [(one, one.usd + others) for one in under_savings_plans(scenario, prices)]
