"""Formats amounts as text, and chooses the round amounts for an axis' ticks."""

from collections.abc import Callable, Iterable, Sequence
from math import ceil, floor, log2, log10

from torpor.time_units import DAY_S, HOUR_S, MINUTE_S

Format = Callable[[float], str]
Marks = Callable[[float, float], Sequence[float]]
"""The round amounts between a least and a most."""

MARKS_MAX, FEW = 8, 4
UNITS = (("ms", 0.001), ("s", 1), ("min", MINUTE_S), ("h", HOUR_S), ("days", DAY_S))
BYTES = (("KiB", 2**10), ("MiB", 2**20), ("GiB", 2**30), ("TiB", 2**40))
LONG_S = (*(n * MINUTE_S for n in (0.5, 1, 2, 5, 10, 30)), *(n * HOUR_S for n in (1, 2, 5, 10)), DAY_S)
FEW_LONG_S = (MINUTE_S, 10 * MINUTE_S, HOUR_S, 10 * HOUR_S, 4 * DAY_S)


def dollars(usd: float) -> str:
    """`$171,360`, `$12.50`, `$0.0012`"""
    if not usd or abs(usd) >= 100:
        return f"${usd:,.0f}"
    return f"${usd:,.2f}".removesuffix(".00") if abs(usd) >= 1 else f"${_figures(usd, 2)}"


def seconds(amount_s: float) -> str:
    """`5 ms`, `1.25 s`, `10 min`, in the largest unit that gives at least 1."""
    if not amount_s:
        return "0 s"
    unit, each_s = _unit(amount_s, UNITS)
    return f"{_figures(amount_s / each_s, 3)} {unit}"


def percent(share: float) -> str:
    """`4.4%`, `99.97%`, `0%`: nearly all and nearly none keep enough digits to differ from 100% and 0%."""
    rest = min(abs(share), abs(1 - share)) * 100
    places = 1 if rest >= 0.1 or not rest else min(ceil(-log10(rest) - 1e-9), 6)
    return f"{_bare(f'{share * 100:,.{places}f}')}%"


def memory(size_bytes: float) -> str:
    """`512 MiB`, `1.5 GiB`, in the largest unit that gives at least 1."""
    if not size_bytes:
        return "0"
    unit, each_bytes = _unit(size_bytes, BYTES)
    return f"{_figures(size_bytes / each_bytes, 3)} {unit}"


def plain(number: float, figures: int = 3) -> str:
    """`12,000`, `0.01`, `1.25`"""
    return _figures(number, figures)


def decades(least: float, most: float) -> Sequence[float]:
    """1, 2 and 5 times each power of ten, or fewer, so that there are not too many."""
    powers = [10.0**power for power in range(floor(log10(least)), ceil(log10(most)) + 1)]
    ladders = [[step * power for power in powers for step in steps] for steps in ((1, 2, 5), (1, 3), (1,))]
    return _fewest(ladders, least, most)


def doublings(least: float, most: float) -> Sequence[float]:
    """Powers of two, for memory sizes."""
    power, marks = 1.0, list[float]()
    while power <= most:
        marks, power = [*marks, power], power * 2
    return _fewest([marks], least, most)


def binary(least: float, most: float) -> Sequence[float]:
    """Multiples of a power of two of at least a KiB, from 0."""
    step = 2.0 ** max(10, ceil(log2(max(most, 1) / FEW)))
    return [step * turn for turn in range(int(most / step) + 1) if least <= step * turn]


def times(least_s: float, most_s: float) -> Sequence[float]:
    """Decades of seconds below half a minute; minutes, hours and days above."""
    small = [10.0**power for power in range(-9, 2)]
    many = [step * power for power in small for step in (1, 2, 5) if step * power < 30]
    some = [step * power for power in small for step in (1, 3) if step * power < 30]
    return _fewest([[*many, *LONG_S], [*some, *LONG_S], [*small, *FEW_LONG_S]], least_s, most_s)


# -- inside ------------------------------------------------------------------------------------------------------------
def _unit(amount: float, units: Sequence[tuple[str, float]]) -> tuple[str, float]:
    return next((unit for unit in reversed(units) if abs(amount) >= unit[1]), units[0])


def _figures(number: float, figures: int) -> str:
    """The number with this many significant figures, without trailing zeros."""
    if not number:
        return "0"
    places = figures - 1 - floor(log10(abs(number)))
    return _bare(f"{number:,.{max(0, places)}f}")


def _bare(text: str) -> str:
    """The text without trailing zeros."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def _fewest(ladders: Iterable[Sequence[float]], least: float, most: float) -> Sequence[float]:
    """The marks of the first ladder that has at most MARKS_MAX; otherwise every nth mark of the last one."""
    within: list[float] = []
    for ladder in ladders:
        within = [mark for mark in ladder if least <= mark * (1 + 1e-9) and mark <= most * (1 + 1e-9)]
        if len(within) <= MARKS_MAX:
            return within
    return within[:: ceil(len(within) / MARKS_MAX)]
