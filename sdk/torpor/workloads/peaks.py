"""Where a long trace is busiest, and what may rest meanwhile: readings of a trace that keep no more than they are asked
for."""

from dataclasses import dataclass
from math import inf

import numpy as np

from torpor.workloads.trace import Chunk, Recorded, Times, Trace


@dataclass(frozen=True)
class Peak:
    """So many requests of a trace, one after another, that come in the shortest time."""

    since: int  # so many come before them
    requests: int
    since_s: float  # from the first of all
    lasts_s: float
    of: int  # all of the trace

    @property
    def whole(self) -> bool:
        return self.requests == self.of

    def cut(self, trace: Trace) -> "Stretch":
        """Only these, and as many before them, in memory."""
        lead = min(self.since, self.requests)
        parts, before, since, until = list[Chunk](), 0, self.since - lead, self.since + self.requests
        for chunk in trace.chunks():
            wanted = slice(max(0, since - before), max(0, until - before))
            sizes = None if chunk.request_bytes is None else chunk.request_bytes[wanted]
            parts.append(Chunk(chunk.times_s[wanted], chunk.models[wanted], sizes))
            before += len(chunk)
            if before >= until:
                break
        times_s = np.concatenate([part.times_s for part in parts])
        models = np.concatenate([part.models for part in parts])
        new = np.setdiff1d(models[lead:], models[:lead])
        return Stretch(Recorded(trace.names, parts), float(times_s[lead] - times_s[0]), len(new))


@dataclass(frozen=True, eq=False)
class Stretch:
    """Of a trace, in memory. Nobody knows of the quiet around it."""

    trace: Recorded
    lead_s: float  # what comes before is there so that it does not begin with no model in memory
    new: int  # models that are not in that: of these it does


def busiest(trace: Trace, requests: int) -> Peak:
    """The first of them, if there are several; all of a trace that has no more than so many. Raises BadTrace."""
    kept, read, began_s, last_s = np.empty(0), 0, 0.0, 0.0
    since, since_s, least_s = 0, 0.0, inf
    for chunk in trace.chunks():
        began_s = began_s if read else float(chunk.times_s[0])
        last_s = float(chunk.times_s[-1])
        times_s: Times = np.concatenate((kept, chunk.times_s))
        read += len(chunk)
        if len(times_s) >= requests:
            spans_s = times_s[requests - 1 :] - times_s[: len(times_s) - requests + 1]
            at = int(spans_s.argmin())
            if spans_s[at] < least_s:
                since, since_s, least_s = read - len(times_s) + at, float(times_s[at]), float(spans_s[at])
        kept = times_s[max(0, len(times_s) - requests + 1) :]
    if read <= requests:
        return Peak(0, read, 0.0, last_s - began_s, read)
    return Peak(since, requests, since_s - began_s, least_s, read)


def awake_s(trace: Trace, idle_s: float) -> tuple[float, float]:
    """For how long whoever rests `idle_s` after a request is awake at least; and for how long the trace goes on."""
    awake_s, began_s, last_s = idle_s, None, 0.0
    for chunk in trace.chunks():
        if began_s is None:
            began_s = last_s = float(chunk.times_s[0])
        awake_s += float(np.minimum(np.diff(chunk.times_s, prepend=last_s), idle_s).sum())
        last_s = float(chunk.times_s[-1])
    return awake_s, max(trace.lasts_s or 0.0, last_s - (began_s or 0.0) + idle_s)
