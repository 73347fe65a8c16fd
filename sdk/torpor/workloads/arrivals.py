"""Distributions of the gaps between the requests for one model."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from torpor.workloads.trace import Times


class Gaps(Protocol):
    """A renewal process. `mean_s` has the mean of each gap to draw, in any shape; the result has the same shape."""

    def draw(self, rng: np.random.Generator, mean_s: Times) -> Times:
        """Gaps from one request to the next, in seconds."""

    def first(self, rng: np.random.Generator, mean_s: Times) -> Times:
        """Gaps from a random moment to the next request, in seconds: a random moment is more likely to be in a long
        gap. Without this, models that are called once a year would all be called in the first hour."""


@dataclass(frozen=True)
class Gamma:
    """Gamma-distributed gaps with this coefficient of variation: 0.2 is a timer, 1 is Poisson, 4 is bursty, as
    AlpaServe's."""

    cv: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.cv <= 100:
            raise ValueError(f"a coefficient of variation is above 0 and at most 100, not {self.cv}")

    def draw(self, rng: np.random.Generator, mean_s: Times) -> Times:
        return rng.standard_gamma(self._shape, mean_s.shape) * (mean_s / self._shape)

    def first(self, rng: np.random.Generator, mean_s: Times) -> Times:
        within = rng.standard_gamma(self._shape + 1, mean_s.shape) * (mean_s / self._shape)
        return within * rng.random(mean_s.shape)

    @property
    def _shape(self) -> float:
        return 1 / self.cv**2


@dataclass(frozen=True)
class Sessions:
    """Sessions that start at random, each with some calls and short gaps between them, as of people.

    The number of calls is geometric. A model that is so busy that its sessions would overlap gets shorter gaps.
    """

    calls: float = 6.0  # the mean number in a session
    gap_s: float = 30.0  # the mean gap between them

    def __post_init__(self) -> None:
        if not (self.calls > 1 and self.gap_s > 0):
            raise ValueError("a session has more than one call, with a gap between them")

    def draw(self, rng: np.random.Generator, mean_s: Times) -> Times:
        short_s, long_s = self._means(mean_s)
        ends = rng.random(mean_s.shape) * self.calls < 1
        return rng.standard_exponential(mean_s.shape) * np.where(ends, long_s, short_s)

    def first(self, rng: np.random.Generator, mean_s: Times) -> Times:
        short_s, long_s = self._means(mean_s)
        between = rng.random(mean_s.shape) * mean_s < long_s / self.calls
        return rng.standard_exponential(mean_s.shape) * np.where(between, long_s, short_s)

    def _means(self, mean_s: Times) -> tuple[Times, Times]:
        """The means of the gaps within a session and between sessions, for which all gaps together have `mean_s`."""
        short_s = np.minimum(self.gap_s, mean_s / 2)
        return short_s, self.calls * mean_s - (self.calls - 1) * short_s


POISSON = Gamma(1.0)
TIMER = Gamma(0.2)
BURSTY = Gamma(4.0)
SESSIONS = Sessions()
