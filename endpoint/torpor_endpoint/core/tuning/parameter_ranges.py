"""The ranges of hyperparameters: each maps a share from 0 to 1 to a value, and a value to its share."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, floor, isfinite, log
from typing import Any, Final

from torpor_account.core.written_numbers import decimal_of, whole_of

LOGARITHMIC_FROM: Final = 100.0
"""Auto scales a range logarithmically if its end is so many times its begin. AWS does not say how it chooses."""


class BadRange(ValueError):
    """A range that cannot be drawn from. The text says which, and why."""


@dataclass(frozen=True)
class NumberRange:
    """Numbers from `least` to `most`, both included, whole ones if `whole`. `scaling` is one of AWS's, but not Auto."""

    name: str
    least: float
    most: float
    scaling: str = "Linear"
    whole: bool = False

    def value(self, share: float) -> str:
        """The value at this share of the range, as a hyperparameter has it."""
        begin, end = self._ends()
        at = self._unscaled(begin + share * (end - begin))
        if self.whole:
            return str(int(min(max(floor(at + 0.5), self.least), self.most)))
        return repr(float(min(max(at, self.least), self.most)))

    def share(self, value: str) -> float:
        """The share of the range at which this value is."""
        begin, end = self._ends()
        return 0.5 if begin == end else min(max((self._scaled(float(value)) - begin) / (end - begin), 0.0), 1.0)

    def _ends(self) -> tuple[float, float]:
        """The scaled ends. A whole number has the space of one around it, so that each is as likely as the others."""
        half = 0.5 if self.whole else 0.0
        return self._scaled(self.least - half), self._scaled(self.most + half)

    def _scaled(self, value: float) -> float:
        if self.scaling == "Logarithmic":
            return log(value)
        return -log(1.0 - value) if self.scaling == "ReverseLogarithmic" else value

    def _unscaled(self, scaled: float) -> float:
        if self.scaling == "Logarithmic":
            return exp(scaled)
        return 1.0 - exp(-scaled) if self.scaling == "ReverseLogarithmic" else scaled


@dataclass(frozen=True)
class Choices:
    """A few values without an order."""

    name: str
    values: tuple[str, ...]

    def value(self, share: float) -> str:
        """The value at this share of the list."""
        return self.values[min(int(share * len(self.values)), len(self.values) - 1)]

    def share(self, value: str) -> float:
        """The middle of the value's share of the list."""
        return (self.values.index(value) + 0.5) / len(self.values)


ParameterRange = NumberRange | Choices


def read_ranges(given: Mapping[str, Any]) -> tuple[ParameterRange, ...]:
    """The ranges of a request's ParameterRanges. Raises BadRange."""
    categories = given.get("CategoricalParameterRanges", ())
    ranges: list[ParameterRange] = [
        *(_numbers(one, whole=True) for one in given.get("IntegerParameterRanges", ())),
        *(_numbers(one, whole=False) for one in given.get("ContinuousParameterRanges", ())),
        *(Choices(one["Name"], tuple(dict.fromkeys(one["Values"]))) for one in categories),
    ]  # fmt: skip
    if not ranges:
        raise BadRange("ParameterRanges must have a range of at least one hyperparameter.")
    for name in _repeated([one.name for one in ranges]):
        raise BadRange(f"ParameterRanges: the hyperparameter {name} must have one range.")
    return tuple(ranges)


def _numbers(given: Mapping[str, Any], whole: bool) -> NumberRange:
    name, scaling = given["Name"], given.get("ScalingType", "Auto")
    read = whole_of if whole else decimal_of
    try:
        least, most = float(read(given["MinValue"])), float(read(given["MaxValue"]))
    except ValueError:
        kind = "whole numbers" if whole else "numbers"
        raise BadRange(f"The range of {name}: MinValue and MaxValue must be {kind}.") from None
    if not (isfinite(least) and isfinite(most)) or least > most:
        raise BadRange(f"The range of {name}: MinValue must not be more than MaxValue.")
    if scaling == "Auto":
        scaling = "Logarithmic" if 0 < least <= most / LOGARITHMIC_FROM else "Linear"
    if scaling == "Logarithmic" and least <= 0:
        raise BadRange(f"The range of {name}: MinValue must be more than 0 for ScalingType Logarithmic.")
    if scaling == "ReverseLogarithmic" and (whole or not 0 <= least <= most < 1):
        raise BadRange(
            f"The range of {name}: ScalingType ReverseLogarithmic needs a continuous range within 0 <= x < 1."
        )
    return NumberRange(name, least, most, scaling, whole)


def _repeated(names: Sequence[str]) -> Iterator[str]:
    return (name for at, name in enumerate(names) if name in names[:at])
