"""Where a value falls in a logarithmic histogram, so that percentiles need neither every sample nor a known range.

Thirty-two steps to every doubling: a value read back is within 1.1 % of the one put in. Keys sort as values do, and
zero and negative values have keys too.
"""

from math import ceil, log2

STEPS_PER_DOUBLING = 32
ONE = 1 << 20
"""The key of the value 1; positive values lie around it, zero is 0, and negatives mirror the positives."""

ERROR = 2 ** (0.5 / STEPS_PER_DOUBLING) - 1
"""The largest relative error of a value read back."""


def key(value: float) -> int:
    if value > 0:
        return ONE + ceil(log2(value) * STEPS_PER_DOUBLING)
    return 0 if value == 0 else -key(-value)


def value(at: int) -> float:
    """The middle of the step, in logarithms."""
    if at == 0:
        return 0.0
    middle: float = 2 ** ((abs(at) - ONE - 0.5) / STEPS_PER_DOUBLING)
    return middle if at > 0 else -middle
