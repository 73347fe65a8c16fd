"""Reconstructs from a ledger's loads when models were in memory, and places warm requests in those times.

A warm request found its model in memory. So it came after the model's load, and no later than the model's last use,
which the instance reports when the model has left. At a random moment of its minute, it might find the model evicted,
or not loaded yet, and the simulation of the same traffic would load more.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median
from typing import NamedTuple

import numpy as np

from torpor.workloads.trace import Times

KNOWN_WITHIN_S = 0.001
"""The precision of the times of the first and the last request, in seconds."""


SURELY_KEPT = 0.6
"""The longest gap between two uses of a stay, as a share of the idle time after which the model left. Other models left
earlier, to make room for a large one; but each request of a stay did find its model. Of 0.6, 0.7 and 0.8, this value
reproduced the loads of six ledgers of `python -m benchmarks.room`."""


class ReportedLoad(NamedTuple):
    """A load, as its instance reported it: its model, its end, and the models that had left since the previous one."""

    instance: str
    model: str
    loaded_s: float
    took_s: float
    left: Mapping[str, tuple[float, int]]  # seconds since the last use, and the number of hits


class WarmStretch(NamedTuple):
    """Warm requests for one model between two moments: the times of the first and the last, if these were `seen`,
    otherwise the minute's beginning and end."""

    requests: int
    first_s: float
    last_s: float
    seen: bool


@dataclass(frozen=True)
class Stay:
    """A model in an instance's memory, from its load to its last use. None is not known yet."""

    since_s: float
    until_s: float = inf
    hits: int | None = None
    idle_s: float | None = None  # from its last use until it left


@dataclass(frozen=True)
class Stays:
    """The stays of one variant, by model and in order of time. `idle_s` is the median idle time after which models
    left."""

    by_model: Mapping[str, Sequence[Stay]]
    idle_s: float

    @classmethod
    def of(cls, reported: Iterable[ReportedLoad]) -> "Stays":
        """The stays by the reported loads. Each request that waited for a load has a report of it, so loads may
        repeat."""
        loads = {(one.instance, one.model, one.took_s): one for one in reported}
        found = defaultdict[tuple[str, str], list[Stay]](list)
        for one in sorted(loads.values(), key=lambda load: load.loaded_s):
            for name, (ago_s, hits) in one.left.items():
                here = found[one.instance, name]
                if here and here[-1].hits is None:
                    since_s = here[-1].since_s
                    here[-1] = Stay(since_s, max(since_s, one.loaded_s - ago_s), hits, ago_s)
            found[one.instance, one.model].append(Stay(one.loaded_s))
        by_model = defaultdict[str, list[Stay]](list)
        for (_, name), some in found.items():
            by_model[name] += some
        idle_s = [stay.idle_s for some in by_model.values() for stay in some if stay.idle_s is not None]
        ordered = {name: sorted(some, key=lambda stay: stay.since_s) for name, some in by_model.items()}
        return cls(ordered, median(idle_s) if idle_s else inf)

    def placed(self, rng: np.random.Generator, called: WarmStretch, model: str) -> Times | None:
        """Times for these warm requests: the last use of each stay, its other hits before that, and the remaining
        requests in the stays that continue. None if no stay is known."""
        known, begins_s, ends_s = self.by_model.get(model, ()), called.first_s, called.last_s
        here = [stay for stay in known if stay.hits != 0 and stay.since_s < ends_s and stay.until_s >= begins_s]
        if not here or not called.requests:
            return None
        last_s = [stay.until_s for stay in here if stay.until_s < ends_s]
        whole = [stay for stay in here if stay.hits and begins_s <= stay.since_s and stay.until_s < ends_s]
        between = [_drawn(rng, (stay,), (stay.hits or 1) - 1, called) for stay in whole]
        sure = np.concatenate([np.array(last_s, np.float64), *between])[: called.requests]
        on = [stay for stay in here if stay not in whole] or here
        moments_s = np.sort(np.concatenate([sure, _drawn(rng, on, called.requests - len(sure), called)]))
        if called.seen:
            moments_s[[-1, 0]] = (ends_s - KNOWN_WITHIN_S, begins_s) + KNOWN_WITHIN_S * rng.random(2)
        for stay in here:
            inside = slice(*np.searchsorted(moments_s, (stay.since_s, stay.until_s), side="left").tolist())
            before = [stay.since_s] if begins_s <= stay.since_s else []
            after = [stay.until_s] if stay.until_s < ends_s else []
            moments_s[inside] = _closer(moments_s[inside], before, after, SURELY_KEPT * (stay.idle_s or self.idle_s))
        return moments_s


def _closer(moments_s: Times, before: Sequence[float], after: Sequence[float], idle_s: float) -> Times:
    """The times with no gap longer than `idle_s`: the excess is given to the shorter gaps. The uses before and after
    stay where they are."""
    marks = np.concatenate([np.array(before), moments_s, np.array(after)])
    gaps_s = np.diff(marks)
    slack_s = np.maximum(0.0, idle_s - gaps_s)
    over_s = float(np.maximum(0.0, gaps_s - idle_s).sum())
    if not over_s or slack_s.sum() <= over_s:
        return moments_s
    gaps_s = np.minimum(gaps_s, idle_s) + slack_s * (over_s / slack_s.sum())
    moved_s: Times = marks[0] + np.concatenate(([0.0], np.cumsum(gaps_s)))
    return moved_s[len(before) : len(before) + len(moments_s)]


def _drawn(rng: np.random.Generator, over: Sequence[Stay], count: int, called: WarmStretch) -> Times:
    """Random times, uniform over these stays."""
    since_s = np.array([max(stay.since_s, called.first_s) for stay in over])
    spans_s = np.maximum(np.array([min(stay.until_s, called.last_s) for stay in over]) - since_s, 1e-9)
    ends = np.cumsum(spans_s)
    drawn_s = rng.random(count) * ends[-1]
    which = np.minimum(np.searchsorted(ends, drawn_s, side="right"), len(over) - 1)
    moments_s: Times = since_s[which] + drawn_s - (ends - spans_s)[which]
    return moments_s
