"""Where one way of serving begins to be cheaper than another: formulas, each solved for what one can still choose.

They count money alone. A price that is not known makes the answer None; what never breaks even is infinite.
"""

from math import exp, expm1, inf, log1p

from torpor.simulator.costs.alternatives import TERMS, Calls, Cost, CostTerms, HeldInstances
from torpor.simulator.costs.costing import multi_model, serverless
from torpor.spans import HOUR_S


def models(each: HeldInstances, together: HeldInstances, terms: CostTerms = TERMS) -> float | None:
    """From so many models on, one multi-model endpoint is cheaper than an endpoint for each."""
    return _ratio(multi_model(together, terms).usd, multi_model(each, terms).usd)


def rate_per_s(rival: Cost, memory_mib: int, one: Calls, terms: CostTerms = TERMS) -> float | None:
    """Below this rate, over all models, serverless inference is cheaper than `rival`, which costs what it costs for
    the hours of `terms` at any rate. `one` is what a request takes."""
    seconds = terms.hours * HOUR_S
    return _ratio(rival.usd, _times(seconds, serverless(memory_mib, one, terms).usd))


def affordable_share(rival: Cost, held: HeldInstances, terms: CostTerms = TERMS) -> float | None:
    """The part of the time that `held`, which sleeps, may be awake until `rival` is cheaper. From 1 on, sleeping is
    cheaper even if it never sleeps."""
    return _ratio(rival.usd, multi_model(held, terms).usd)


def awake_share(arrivals_per_s: float, kept_s: float) -> float:
    """The part of the time that an instance is awake under Poisson requests, if each keeps it awake for so long.

    1 - exp(-rate x keep-alive): the chance that a request came within the last keep-alive (an M/D/infinity queue that
    is not empty). Seconds of waking and serving come on top: they belong to `kept_s`.
    """
    return -expm1(-arrivals_per_s * kept_s)


def keep_alive_s(arrivals_per_s: float, share: float) -> float:
    """The keep-alive under which an instance is awake for this part of the time: `awake_share`, the other way round.

    With `affordable_share` it is the longest keep-alive at which sleeping is still the cheaper way.
    """
    if share >= 1 or not arrivals_per_s:
        return inf
    return -log1p(-share) / arrivals_per_s


def cold_share(arrivals_per_s: float, kept_s: float) -> float:
    """The part of such requests that find the instance asleep: what the money that is saved is paid with."""
    return exp(-arrivals_per_s * kept_s)


# -- inside --------------------------------------------------------------------------------------------------------
def _ratio(above: float | None, below: float | None) -> float | None:
    if above is None or below is None:
        return None
    return above / below if below else inf


def _times(factor: float, amount: float | None) -> float | None:
    return None if amount is None else factor * amount
