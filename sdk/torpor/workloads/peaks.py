"""Finds the busiest stretch of a long trace, and how long a variant must be awake for it, in one reading each."""

from dataclasses import dataclass
from math import inf

import numpy as np

from torpor.workloads.trace import Chunk, Recorded, Times, Trace


@dataclass(frozen=True)
class Peak:
    """The busiest stretch of a trace: a number of successive requests that come in the shortest time."""

    since: int  # how many requests come before them
    requests: int
    since_s: float  # from the first request of the trace
    lasts_s: float
    of: int  # the requests of the whole trace

    @property
    def whole(self) -> bool:
        return self.requests == self.of

    def cut(self, trace: Trace) -> "Stretch":
        """These requests, and as many before them, in memory."""
        lead = min(self.since, self.requests)
        parts, before, since, until = list[Chunk](), 0, self.since - lead, self.since + self.requests
        for chunk in trace.chunks():
            part = slice(max(0, since - before), max(0, until - before))
            sizes = None if chunk.request_bytes is None else chunk.request_bytes[part]
            parts.append(Chunk(chunk.times_s[part], chunk.models[part], sizes))
            before += len(chunk)
            if before >= until:
                break
        times_s = np.concatenate([part.times_s for part in parts])
        models = np.concatenate([part.models for part in parts])
        new = np.setdiff1d(models[lead:], models[:lead])
        return Stretch(Recorded(trace.names, parts), float(times_s[lead] - times_s[0]), len(new))


@dataclass(frozen=True, eq=False)
class Stretch:
    """A part of a trace, in memory. The quiet around it is not known."""

    trace: Recorded
    lead_s: float  # the time of the requests before the peak, which fill the memory with models
    new: int  # models of the peak that are not among those


def busiest(trace: Trace, requests: int) -> Peak:
    """The busiest stretch of this many requests; the first of several, and the whole of a shorter trace. Raises
    BadTrace."""
    tail_s, read, began_s, last_s = np.empty(0), 0, 0.0, 0.0
    since, since_s, least_s = 0, 0.0, inf
    for chunk in trace.chunks():
        began_s = began_s if read else float(chunk.times_s[0])
        last_s = float(chunk.times_s[-1])
        times_s: Times = np.concatenate((tail_s, chunk.times_s))
        read += len(chunk)
        if len(times_s) >= requests:
            spans_s = times_s[requests - 1 :] - times_s[: len(times_s) - requests + 1]
            at = int(spans_s.argmin())
            if spans_s[at] < least_s:
                since, since_s, least_s = read - len(times_s) + at, float(times_s[at]), float(spans_s[at])
        tail_s = times_s[max(0, len(times_s) - requests + 1) :]
    if read <= requests:
        return Peak(0, read, 0.0, last_s - began_s, read)
    return Peak(since, requests, since_s - began_s, least_s, read)


def awake_s(trace: Trace, idle_s: float) -> tuple[float, float]:
    """The seconds that an instance with the keep-alive `idle_s` is awake at least, and the seconds that the trace
    lasts."""
    awake_s, began_s, last_s = idle_s, None, 0.0
    for chunk in trace.chunks():
        if began_s is None:
            began_s = last_s = float(chunk.times_s[0])
        awake_s += float(np.minimum(np.diff(chunk.times_s, prepend=last_s), idle_s).sum())
        last_s = float(chunk.times_s[-1])
    return awake_s, max(trace.lasts_s or 0.0, last_s - (began_s or 0.0) + idle_s)
