"""Proposes the hyperparameters of the next training job, by the strategies of AWS.

Bayesian is a tree-structured Parzen estimator: https://papers.nips.cc/paper/4443-algorithms-for-hyper-parameter-optimization
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, exp, log, prod
from statistics import NormalDist
from typing import Final

from torpor_endpoint.core.tuning.parameter_ranges import Choices, ParameterRange

Dice = Callable[[], float]
"""Gives a random number from 0 to 1, without 1."""

RANDOM_FIRST: Final = 5
"""So many results must be there before the Bayesian strategy uses them."""
GOOD_SHARE: Final = 0.25
"""The share of the results that counts as good."""
CANDIDATES: Final = 24
"""So many values of each hyperparameter are weighed."""
NARROWEST: Final = 0.02
"""The least width of a kernel, as a share of the range."""


@dataclass(frozen=True)
class TrialResult:
    """The hyperparameters of a training job that has ended, and its loss: less is better."""

    hyperparameters: Mapping[str, str]
    loss: float


def drawn(ranges: Sequence[ParameterRange], dice: Dice) -> dict[str, str]:
    """Hyperparameters at random."""
    return {one.name: one.value(dice()) for one in ranges}


def grid_size(ranges: Sequence[ParameterRange]) -> int:
    """How many training jobs a grid has. Its ranges are choices."""
    return prod(len(one.values) for one in ranges if isinstance(one, Choices))


def on_grid(ranges: Sequence[ParameterRange], at: int) -> dict[str, str]:
    """The hyperparameters of the grid's training job number `at`, from 0 on."""
    chosen = {}
    for one in ranges:
        assert isinstance(one, Choices), "the rules of the request refuse other ranges"
        at, place = divmod(at, len(one.values))
        chosen[one.name] = one.values[place]
    return chosen


def bayesian(ranges: Sequence[ParameterRange], results: Sequence[TrialResult], dice: Dice) -> dict[str, str]:
    """Hyperparameters like those of the good results, and unlike the others'. At random while there are few results."""
    if len(results) < RANDOM_FIRST:
        return drawn(ranges, dice)
    by_loss = sorted(results, key=lambda result: result.loss)
    good = ceil(GOOD_SHARE * len(by_loss))
    return {one.name: _likely(one, by_loss[:good], by_loss[good:], dice) for one in ranges}


def _likely(one: ParameterRange, good: Sequence[TrialResult], others: Sequence[TrialResult], dice: Dice) -> str:
    """The candidate that is likeliest among the good results, compared with the others."""
    near, far = ShareEstimate(one, good), ShareEstimate(one, others)
    shares = [near.draw(dice) for _ in range(CANDIDATES)]
    return one.value(max(shares, key=lambda share: log(near.density(share)) - log(far.density(share))))


class ShareEstimate:
    """Where the results are in one range: a kernel around each, and a share of the whole range.

    The kernels are as wide as the range divided by one more than there are results, and at least NARROWEST.
    """

    def __init__(self, one: ParameterRange, results: Sequence[TrialResult]) -> None:
        self._range = one
        self._shares = [one.share(result.hyperparameters[one.name]) for result in results]
        self._width = max(1.0 / (1 + len(results)), NARROWEST)

    def draw(self, dice: Dice) -> float:
        at = int(dice() * (len(self._shares) + 1))
        if at == len(self._shares):
            return dice()
        if isinstance(self._range, Choices):
            return self._shares[at]
        share = NormalDist(self._shares[at], self._width).inv_cdf(max(dice(), 1e-9))
        return min(max(share, 0.0), 1.0)

    def density(self, share: float) -> float:
        if isinstance(self._range, Choices):
            same = sum(self._range.value(share) == self._range.value(seen) for seen in self._shares)
            return (same + 1.0 / len(self._range.values)) / (len(self._shares) + 1)
        kernels = sum(exp(-(((share - seen) / self._width) ** 2) / 2) for seen in self._shares) / (self._width * 2.5066)
        return (kernels + 1.0) / (len(self._shares) + 1)
