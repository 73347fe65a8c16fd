"""Robust regression of seconds by bytes, with outliers and multiplicative noise."""

from dataclasses import dataclass, replace
from math import inf, pi, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

MODELS_MIN = 8
"""With fewer models, the line is a constant."""
GRAIN_S = 1e-6
"""The resolution of the ledger: shorter times count as this."""
HUBER = 1.345
"""Huber's constant, in scales: a residual beyond it gets no more weight. Without outliers, the estimate is 95 % as
efficient as least squares."""
ROUNDS = 50

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FittedLine:
    """Seconds by bytes: the median, with a log-normal spread of `sigma`. The errors are standard errors, infinite if
    they are not known."""

    fixed_s: float
    fixed_error_s: float = inf
    s_per_byte: float = 0.0
    s_per_byte_error: float = inf
    sigma: float = 0.0

    @property
    def bytes_per_s(self) -> float:
        """Infinite if the size makes no measurable difference."""
        return 1 / self.s_per_byte if self.s_per_byte else inf

    @property
    def bytes_per_s_error(self) -> float:
        return self.s_per_byte_error / self.s_per_byte**2 if self.s_per_byte else inf

    def seconds(self, size_bytes: float) -> float:
        return max(0.0, self.fixed_s + size_bytes * self.s_per_byte)

    def times(self, factor: float) -> "FittedLine":
        """The line multiplied by a factor. The errors stay as they are."""
        return replace(self, fixed_s=self.fixed_s * factor, s_per_byte=self.s_per_byte * factor)


def line_through(sizes: Floats, seconds: Floats) -> FittedLine:
    """A line, with a slope only if there are enough points and the slope differs significantly from 0."""
    constant = constant_line(seconds)
    if len(sizes) < MODELS_MIN or np.ptp(sizes) == 0:
        return constant
    try:
        line = _sloped(sizes, seconds)
    except np.linalg.LinAlgError:  # the times differ by so many powers of ten that no error can be computed
        return constant
    if line.s_per_byte > _student(len(sizes) - 2) * line.s_per_byte_error:
        return line
    return replace(constant, s_per_byte_error=line.s_per_byte_error)


def constant_line(seconds: Floats) -> FittedLine:
    """The median, with its standard error for log-normal values."""
    middle_s = float(np.median(seconds))
    sigma = _scale(np.log(np.maximum(seconds, GRAIN_S) / max(middle_s, GRAIN_S)))
    error_s = middle_s * sigma * sqrt(pi / 2 / len(seconds)) if len(seconds) > 1 else inf
    return FittedLine(middle_s, error_s, sigma=sigma)


def _sloped(sizes: Floats, seconds: Floats) -> FittedLine:
    """Huber's regression of the logarithms: multiplicative noise has the same weight at every size."""
    middle, width = float(sizes.mean()), float(sizes.std())
    points = np.column_stack((np.ones(len(sizes)), (sizes - middle) / width))
    line = np.array([max(float(np.median(seconds)), GRAIN_S), 0.0])
    for _ in range(ROUNDS):
        jacobian, rest, scale = _linearised(points, seconds, line)
        weights = np.sqrt(np.minimum(1.0, HUBER * scale / np.maximum(np.abs(rest), 1e-12)))
        step = np.linalg.lstsq(jacobian * weights[:, None], rest * weights, rcond=None)[0]
        while np.min((points @ (line + step)) / (points @ line)) < 0.1:  # times stay positive
            step = step / 2
        line = line + step
    to_origin = np.array([[1.0, -middle / width], [0.0, 1 / width]])  # from the mean size to size 0
    errors = np.sqrt(np.diag(to_origin @ _covariance(points, seconds, line) @ to_origin.T))
    _, rest, scale = _linearised(points, seconds, line)
    (fixed_s, s_per_byte), (fixed_error_s, s_per_byte_error) = (to_origin @ line).tolist(), errors.tolist()
    sigma = scale * sqrt(len(sizes) / (len(sizes) - 2))
    return FittedLine(fixed_s, fixed_error_s, s_per_byte, s_per_byte_error, sigma)


def _covariance(points: Floats, seconds: Floats, line: Floats) -> Floats:
    """Huber, Robust Statistics (1981), 7.6."""
    jacobian, rest, scale = _linearised(points, seconds, line)
    bound = np.clip(rest, -HUBER * scale, HUBER * scale)
    inside = np.mean(np.abs(rest) < HUBER * scale)
    covariance: Floats = bound @ bound / (len(rest) - 2) / inside**2 * np.linalg.inv(jacobian.T @ jacobian)
    return covariance


def _linearised(points: Floats, seconds: Floats, line: Floats) -> tuple[Floats, Floats, float]:
    """The Jacobian of the logarithms, the residuals, and their scale."""
    lawful_s = points @ line
    rest = np.log(np.maximum(seconds, GRAIN_S) / lawful_s)
    return points / lawful_s[:, None], rest, max(_scale(rest), 1e-9)


def _scale(rest: Floats) -> float:
    """The standard deviation by the median absolute deviation, which ignores the wilder half."""
    return float(np.median(np.abs(rest))) / NormalDist().inv_cdf(0.75)


def _student(freedom: int) -> float:
    """Student's t for 5 % on two sides, to 1 % with five degrees of freedom or more (Abramowitz & Stegun 26.7.5)."""
    z = NormalDist().inv_cdf(0.975)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
