"""Maps values to keys of a logarithmic histogram, so that percentiles need neither every sample nor a known range.

Each doubling has 32 steps: a value that is read back is within 1.1 % of the original. Keys sort like values, and zero
and negative values have keys too.
"""

from math import ceil, log2

STEPS_PER_DOUBLING = 32
ONE = 1 << 20
"""The key of the value 1. Positive values lie around it, zero has key 0, and negative values mirror positive ones."""

ERROR = 2 ** (0.5 / STEPS_PER_DOUBLING) - 1
"""The largest relative error of a value that is read back."""


def key(value: float) -> int:
    """The key of the step that holds the value."""
    if value > 0:
        return ONE + ceil(log2(value) * STEPS_PER_DOUBLING)
    return 0 if value == 0 else -key(-value)


def value(at: int) -> float:
    """The value in the middle of the step, on the logarithmic scale."""
    if at == 0:
        return 0.0
    middle: float = 2 ** ((abs(at) - ONE - 0.5) / STEPS_PER_DOUBLING)
    return middle if at > 0 else -middle
