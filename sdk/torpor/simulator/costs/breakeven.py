"""Computes where one way to serve becomes cheaper than another. Each formula is solved for a quantity to choose.

They count money only. If a price is not known the result is None; if one way is always dearer it is infinite.
"""

from math import expm1, inf

from torpor.simulator.costs.costing import multi_model, serverless
from torpor.simulator.costs.ways_to_serve import TERMS, Calls, Cost, CostTerms, HeldInstances
from torpor.time_units import HOUR_S


def models(each: HeldInstances, together: HeldInstances, terms: CostTerms = TERMS) -> float | None:
    """The number of models from which one multi-model endpoint is cheaper than an endpoint for each model."""
    return _ratio(multi_model(together, terms).usd, multi_model(each, terms).usd)


def rate_per_s(rival: Cost, memory_mib: int, one: Calls, terms: CostTerms = TERMS) -> float | None:
    """The rate over all models below which serverless inference is cheaper than `rival`, whose cost for the hours of
    `terms` does not depend on the rate. `one` is a single request."""
    seconds = terms.hours * HOUR_S
    return _ratio(rival.usd, _times(seconds, serverless(memory_mib, one, terms).usd))


def awake_share(arrivals_per_s: float, kept_s: float) -> float:
    """The share of the time that an instance is awake under Poisson requests, if each keeps it awake for `kept_s`.

    1 - exp(-rate x keep-alive): the probability that a request came within the last keep-alive (an M/D/infinity queue
    that is not empty). Include the seconds of waking and serving in `kept_s`.
    """
    return -expm1(-arrivals_per_s * kept_s)


# -- inside --------------------------------------------------------------------------------------------------------
def _ratio(above: float | None, below: float | None) -> float | None:
    if above is None or below is None:
        return None
    return above / below if below else inf


def _times(factor: float, amount: float | None) -> float | None:
    return None if amount is None else factor * amount
