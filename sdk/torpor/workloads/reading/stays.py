"""When models were in memory, as a ledger's loads tell it, and where in its minute a warm request then came.

A warm request found its model there. So it came after the model's load, and no later than the model's last use, which
the instance tells when the model has left. Set at any moment of its minute, it would find the model gone, or not there
yet, and the same traffic would load more.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median
from typing import NamedTuple

import numpy as np

from torpor.workloads.trace import Times

SEEN_WITHIN_S = 0.001
"""When the first and the last came is known so well."""


SURELY_KEPT = 0.6
"""Between two uses no more than this part of the time goes by after which the model left. Others left earlier than it,
where room for a large model was needed; and each of these requests did find its model, however long the gap was. Of
0.6, 0.7 and 0.8 it is the one with which six ledgers of `python -m benchmarks.room` had the loads that were lived."""


class Told(NamedTuple):
    """A load, as its instance reported it: its model, when it ended, and which models had left since the last one."""

    instance: str
    model: str
    loaded_s: float
    took_s: float
    left: Mapping[str, tuple[float, int]]  # seconds since the last use, and requests that had found it


class WarmStretch(NamedTuple):
    """So many warm requests for one model between two moments: when the first and the last came, if that was `seen`, or
    the minute's beginning and end."""

    requests: int
    first_s: float
    last_s: float
    seen: bool


@dataclass(frozen=True)
class Stay:
    """A model in an instance's memory, from its load to its last use; what is None is not known yet."""

    since_s: float
    until_s: float = inf
    hits: int | None = None
    idle_s: float | None = None  # unused, when it left


@dataclass(frozen=True)
class Stays:
    """Those of one variant, by model and in order of time. A model that was not used for `idle_s` has left, mostly."""

    by_model: Mapping[str, Sequence[Stay]]
    idle_s: float

    @classmethod
    def of(cls, told: Iterable[Told]) -> "Stays":
        """Each request that waited for a load reports it, so that a load may be there several times."""
        loads = {(one.instance, one.model, one.took_s): one for one in told}
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
        """Moments of so many warm requests for this model: the last use of each stay, its other hits before that, and
        what is left in the stays that go on. None where no stay is known."""
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
            moments_s[[-1, 0]] = (ends_s - SEEN_WITHIN_S, begins_s) + SEEN_WITHIN_S * rng.random(2)
        for stay in here:
            inside = slice(*np.searchsorted(moments_s, (stay.since_s, stay.until_s), side="left").tolist())
            before = [stay.since_s] if begins_s <= stay.since_s else []
            after = [stay.until_s] if stay.until_s < ends_s else []
            moments_s[inside] = _closer(moments_s[inside], before, after, SURELY_KEPT * (stay.idle_s or self.idle_s))
        return moments_s


def _closer(moments_s: Times, before: Sequence[float], after: Sequence[float], idle_s: float) -> Times:
    """Between two uses no more time than that goes by: what is more is given to the shorter gaps. Those before and
    after stay where they are."""
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
    """Each moment of these stays is as likely as the next."""
    since_s = np.array([max(stay.since_s, called.first_s) for stay in over])
    spans_s = np.maximum(np.array([min(stay.until_s, called.last_s) for stay in over]) - since_s, 1e-9)
    ends = np.cumsum(spans_s)
    drawn_s = rng.random(count) * ends[-1]
    which = np.minimum(np.searchsorted(ends, drawn_s, side="right"), len(over) - 1)
    moments_s: Times = since_s[which] + drawn_s - (ends - spans_s)[which]
    return moments_s
