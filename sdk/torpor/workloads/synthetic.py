"""Synthetic traces: groups of models with one pattern of calls each, streamed in order of time. One seed gives one
trace."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from torpor.time_units import DAY_S
from torpor.value_rules import COUNT, MORE, NUMBER, Kind, ValueRule, a, check, optional, whole
from torpor.workloads.arrivals import BURSTY, POISSON, SESSIONS, TIMER, Gaps
from torpor.workloads.rhythm import DAILY, EVEN, Rhythm
from torpor.workloads.trace import CHUNK_REQUESTS, BadTrace, Chunk, Ids, Times

HABITS: Sequence[tuple[Gaps, float]] = ((TIMER, 0.2), (POISSON, 0.4), (BURSTY, 0.2), (SESSIONS, 0.2))
"""Distributions of gaps, each with its share of the models: 40 % of Azure's applications have a CV of gaps above 1."""
CONSTANT = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Constant shares of a model's load, each for an equal part of the models: half of all load is constant, as at
Azure."""
CALLS_PER_DAY_MU, CALLS_PER_DAY_SIGMA, CALLS_PER_DAY_MAX = 3.69, 4.08, 1e7
"""A log-normal distribution: 45 % of Azure's applications are called at most once an hour, 81 % at most once a
minute."""

PARAMETERS: Mapping[str, Kind] = {
    "models": COUNT,
    "s": (NUMBER, ValueRule("is from -20 to 20", lambda power: -20 <= power <= 20)),
    "rate_hz": MORE,
    "duration_s": MORE,
    "seed": whole(0),
    "constant": (NUMBER, ValueRule("is from 0 to 1", lambda share: 0 <= share <= 1)),
    "gaps": (ValueRule("is one of workloads.POISSON, TIMER, BURSTY, SESSIONS", lambda gaps: hasattr(gaps, "draw")),),
    "rhythm": a(Rhythm, "is workloads.EVEN or DAILY"),
}


@dataclass(frozen=True, eq=False)
class ModelGroup:
    """Models with one pattern of calls, and a rate for each."""

    models: Ids
    rates_hz: Times
    gaps: Gaps = POISSON
    constant: float = 1.0


@dataclass(frozen=True, eq=False)
class Synthetic:
    """A trace that is drawn while it is read, the same each time, by numpy's generator with the seed."""

    what: str
    seed: int
    duration_s: float
    names: Sequence[str] = field(repr=False)
    groups: Sequence[ModelGroup] = field(repr=False)
    rhythm: Rhythm = EVEN

    def __post_init__(self) -> None:
        check(BadTrace, PARAMETERS, self.__dict__)

    @property
    def rate_hz(self) -> float:
        """The expected requests per second, over whole weeks."""
        return float(sum(group.rates_hz.sum() for group in self.groups))

    @property
    def lasts_s(self) -> float:
        return self.duration_s

    def chunks(self) -> Iterator[Chunk]:
        """All requests. Raises BadTrace if there is none."""
        streams = [_Stream(group, self.rhythm, [self.seed, place]) for place, group in enumerate(self.groups)]
        empty = True
        for end_s in _ends(self.duration_s, CHUNK_REQUESTS / self.rate_hz):
            drawn = [stream.until(end_s) for stream in streams]
            times_s = np.concatenate([times_s for times_s, _ in drawn])
            order = np.argsort(times_s, kind="stable")
            if len(order):
                empty = False
                yield Chunk(times_s[order], np.concatenate([models for _, models in drawn])[order])
        if empty:
            raise BadTrace(f"{self!r} has no requests: it is too short for its rate")


def zipf(
    models: int = 1_000,
    s: float = 1.0,
    rate_hz: float = 100.0,
    duration_s: float = DAY_S,
    seed: int = 0,
    *,
    gaps: Gaps = POISSON,
    rhythm: Rhythm = EVEN,
    constant: float = 0.5,
) -> Synthetic:
    """A trace by Zipf's law: the model of rank k is called 1/k^s as often as the first one. The share `constant` of the
    load does not follow the rhythm."""
    given = {"models": models, "s": s, "rate_hz": rate_hz, "gaps": gaps, "constant": constant}
    check(BadTrace, PARAMETERS, {**given, "duration_s": duration_s, "seed": seed, "rhythm": rhythm})
    shares = np.arange(1, models + 1, dtype=np.float64) ** -s
    rates_hz = shares * (rate_hz / shares.sum())
    group = ModelGroup(np.arange(models, dtype=np.int32), rates_hz, gaps, constant)
    return Synthetic(
        f"Zipf {s} over {models:,} models at {rate_hz:g}/s", seed, duration_s, _names(models), [group], rhythm
    )


def calibrated(
    models: int = 1_000,
    duration_s: float = DAY_S,
    seed: int = 0,
    *,
    rate_hz: float | None = None,
    rhythm: Rhythm = DAILY,
) -> Synthetic:
    """A trace with rates, bursts, sessions and rhythm as observed in production: rates differ by eight orders of
    magnitude, and a fifth of the models has nearly all requests. `rate_hz` is the sum to which all rates are scaled."""
    given = {"models": models, "duration_s": duration_s, "seed": seed, "rhythm": rhythm}
    check(BadTrace, {**PARAMETERS, "rate_hz": optional(MORE)}, {**given, "rate_hz": rate_hz})
    rng = np.random.default_rng([seed, models])
    calls = np.exp(rng.normal(CALLS_PER_DAY_MU, CALLS_PER_DAY_SIGMA, models))
    rates_hz = np.minimum(calls, CALLS_PER_DAY_MAX) / DAY_S
    if rate_hz is not None:
        rates_hz *= rate_hz / rates_hz.sum()
    habits = rng.choice(len(HABITS), models, p=[share for _, share in HABITS])
    constants = rng.choice(len(CONSTANT), models)
    groups = []
    for habit, (gaps, _) in enumerate(HABITS):
        for place, constant in enumerate(CONSTANT):
            theirs = np.flatnonzero((habits == habit) & (constants == place)).astype(np.int32)
            groups.append(ModelGroup(theirs, rates_hz[theirs], gaps, constant))
    return Synthetic(f"calibrated, {models:,} models", seed, duration_s, _names(models), groups, rhythm)


class _Stream:
    """One group's requests. It knows the next request of each model, and keeps those drawn past the end of a window."""

    def __init__(self, group: ModelGroup, rhythm: Rhythm, seed: Sequence[int]) -> None:
        self._group, self._rhythm = group, rhythm
        self._rng = np.random.default_rng(seed)
        self._mean_s = 1 / group.rates_hz
        self._next_s = group.gaps.first(self._rng, self._mean_s)  # in even time, as all times here
        self._times_s: Times = np.empty(0)
        self._places: NDArray[np.intp] = np.empty(0, np.intp)

    def until(self, end_s: float) -> tuple[Times, Ids]:
        """The requests before this clock time that were not returned yet, unsorted."""
        even_s = self._rhythm.even_s(end_s, self._group.constant)
        self._draw(even_s)
        due = self._times_s < even_s
        times_s, places = self._times_s[due], self._places[due]
        self._times_s, self._places = self._times_s[~due], self._places[~due]
        return self._rhythm.clock_s(times_s, self._group.constant), self._group.models[places]

    def _draw(self, end_s: float) -> None:
        """Draw until every model's next request is past the end. Models that need similar numbers are drawn
        together."""
        parts = [(self._times_s, self._places)]
        while len(behind := np.flatnonzero(self._next_s < end_s)):
            expected = (end_s - self._next_s[behind]) / self._mean_s[behind]
            powers = np.ceil(np.log2(np.clip(expected, 1, CHUNK_REQUESTS))).astype(int)
            for power in np.unique(powers):
                parts.append(self._drawn(behind[powers == power], 2 ** int(power)))
        self._times_s = np.concatenate([times_s for times_s, _ in parts])
        self._places = np.concatenate([places for _, places in parts])

    def _drawn(self, places: NDArray[np.intp], count: int) -> tuple[Times, NDArray[np.intp]]:
        """Draw `count` more requests of each of these models, beginning with its next one."""
        gaps_s = self._group.gaps.draw(self._rng, np.repeat(self._mean_s[places, None], count, axis=1))
        times_s = np.cumsum(np.column_stack((self._next_s[places], gaps_s)), axis=1)
        self._next_s[places] = times_s[:, -1]
        return times_s[:, :-1].ravel(), np.repeat(places, count)


def _ends(duration_s: float, window_s: float) -> Iterator[float]:
    windows = max(1, int(np.ceil(duration_s / window_s)))
    return (duration_s * (window + 1) / windows for window in range(windows))


def _names(models: int) -> list[str]:
    width = len(str(models - 1))
    return [f"model-{number:0{width}}.tar.gz" for number in range(models)]
