"""Sends requests to a live endpoint, moves its clock over the quiet between them, and measures what came of them."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torpor.confirming.core.forecast_beside_fact import MachineStrain, StepMeans, TrafficFigures
from torpor.confirming.core.sent_part import stretches
from torpor.confirming.live_endpoint import ConfirmingEndpoint
from torpor.confirming.queued_requests import outcomes, until_over
from torpor.errors import TorporError
from torpor.pages import clock, ledger
from torpor.pages.data_frames import STEPS
from torpor.replay.joined_replays import ReplayedStretch, joined
from torpor.replay.paced_sending import Body, ReplayPace, Watch, replay, unwatched
from torpor.replay.replay_result import Replayed
from torpor.time_units import MINUTE_S
from torpor.workloads import Chunk, Recorded
from torpor_container.waiting.quiet_time import busy_s
from torpor_endpoint.core.ledger import milliseconds

LOOK_S = 0.25
"""How often the number of instances is read."""
NOTED_S = 0.2
"""The endpoint notes a request a moment after its answer. It does not know an instance for long that has ended."""
WRITTEN_S = 2.0
"""The ledger is written once a second."""
LOADS, UNLOADS = "torpor_model_loading_seconds_count", "torpor_model_unloading_seconds_count"
UNKNOWN_STEPS = StepMeans()
HITS = "torpor_model_cache_hit_sum"


@dataclass(eq=False)
class InstanceWatch:
    """Reads the number of ready instances again and again, in a thread of its own."""

    endpoint: ConfirmingEndpoint
    most: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def watching(self) -> Iterator[None]:
        thread = threading.Thread(target=self._look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _look(self) -> None:
        while True:
            try:
                self.most = max(self.most, self.endpoint.ready())
            except TorporError:
                return  # the endpoint is gone: whoever sends requests says so
            if self._over.wait(LOOK_S):
                return


@dataclass(frozen=True)
class LiveOutcome:
    """What came of the requests, and how busy the machine was meanwhile."""

    replayed: Replayed
    figures: TrafficFigures
    strain: MachineStrain


def lived(
    trace: Recorded,
    endpoint: ConfirmingEndpoint,
    body: Body,
    pace: ReplayPace,
    gap_s: float,
    slo_s: float,
    until_s: float,
    watch: Watch = unwatched,
) -> LiveOutcome:
    """Send the trace, which begins at 0, and return its figures. An endpoint whose clock can be moved then goes on to
    second `until_s` of the trace, so that what sleeps has fallen asleep. `slo_s` decides which requests are late."""
    minute_s = until_a_minute_begins(endpoint)
    before, began_s = counted_by(endpoint), endpoint.now_s()
    sending = _PacedStretches(trace, endpoint, body, pace, gap_s if endpoint.movable else inf, began_s, watch)
    looks = InstanceWatch(endpoint)
    with looks.watching():
        replayed = sending.replayed()
    if endpoint.movable and (ends_s := began_s + until_s) > endpoint.now_s():
        clock.move_to(endpoint.connection, ends_s)
    time.sleep(WRITTEN_S)
    since, costs = counted_by(endpoint) - before, costs_of(endpoint, minute_s, began_s + until_s)
    done = _done(replayed) if not endpoint.target.asynchronous else _queued(endpoint, began_s, sending.wakes, since)
    figures = _figures(replayed, slo_s, done, since, looks.most, costs)
    strain = MachineStrain(
        replayed.late_s(0.99),
        sending.busy_s / sending.wall_s if sending.wall_s else 0.0,
        _late(replayed.good, replayed.done_s - replayed.planned_s, slo_s)
        if not endpoint.target.asynchronous
        else figures.late,
        replayed.in_flight_most,
        pace.in_flight_max,
        len(os.sched_getaffinity(0)),
    )
    return LiveOutcome(replayed, figures, strain)


@dataclass(eq=False)
class _PacedStretches:
    trace: Recorded
    endpoint: ConfirmingEndpoint
    body: Body
    pace: ReplayPace
    gap_s: float
    began_s: float  # by the endpoint's clock
    watch: Callable[..., None]
    wall_s: float = 0.0
    busy_s: float = 0.0
    wakes: int = 0  # stretches that began without an instance

    def replayed(self) -> Replayed:
        [chunk] = self.trace.parts
        return joined(list(self._stretches(chunk)))

    def _stretches(self, chunk: Chunk) -> Iterator[ReplayedStretch]:
        for part in stretches(chunk.times_s, self.gap_s * self.pace.speed):
            sizes = None if chunk.request_bytes is None else chunk.request_bytes[part]
            stretch = Recorded(self.trace.names, [Chunk(chunk.times_s[part], chunk.models[part], sizes)])
            planned_s = float(chunk.times_s[part.start]) / self.pace.speed
            if part.start and self.endpoint.movable:
                self._arrive(planned_s)
            began_s = self.endpoint.now_s() - self.began_s if part.start else 0.0
            since_s, busy_before_s = time.monotonic(), busy_s()
            self.wakes += not self.endpoint.ready()
            done = replay(stretch, self.endpoint.target, self.body, self.pace, self.watch)
            if self.endpoint.target.asynchronous:
                until_over(self.endpoint)
            self.wall_s += time.monotonic() - since_s
            self.busy_s += busy_s() - busy_before_s
            yield ReplayedStretch(planned_s, began_s, done)
            if done.interrupted:
                return

    def _arrive(self, planned_s: float) -> None:
        """Move the clock to this second of the trace. Where the requests before took longer, it is there already."""
        time.sleep(NOTED_S)
        if (to_s := self.began_s + planned_s) > self.endpoint.now_s():
            clock.move_to(self.endpoint.connection, to_s)


def until_a_minute_begins(endpoint: ConfirmingEndpoint) -> float:
    """Go on to the beginning of a minute, and return it, by the endpoint's clock: a bill has the traffic of the minutes
    that begin in its time."""
    now_s = endpoint.now_s()
    begins_s = ceil(now_s / MINUTE_S) * MINUTE_S
    if endpoint.movable:
        clock.move_to(endpoint.connection, begins_s)
    else:
        time.sleep(begins_s - now_s)
    return begins_s


class EndpointCounts(NamedTuple):
    """What an endpoint has counted so far, or since then."""

    loads: int
    unloads: int
    hits: int

    def __sub__(self, before: "EndpointCounts") -> "EndpointCounts":
        return EndpointCounts(*(now - then for now, then in zip(self, before, strict=True)))


def counted_by(endpoint: ConfirmingEndpoint) -> EndpointCounts:
    """The counts of its metrics."""
    lines = endpoint.connection.page("metrics").decode().splitlines()
    label = f'endpoint_name="{endpoint.name}"'
    own = [line for line in lines if label in line]

    def summed(name: str) -> int:
        return round(sum(float(one.rpartition(" ")[2]) for one in own if one.startswith(name)))

    return EndpointCounts(*map(summed, (LOADS, UNLOADS, HITS)))


def costs_of(endpoint: ConfirmingEndpoint, since_s: float, until_s: float) -> tuple[float | None, float | None]:
    """The seconds of all instances, and their cost, by the endpoint's own ledger."""
    found = ledger.costs(endpoint.connection, ledger.Which(endpoint.name, since_s, until_s), models=1)
    sizes = [size for variant in found.variants if not variant.shadow for size in variant.sizes]
    usd = [variant.usd for variant in found.variants if not variant.shadow]
    return sum(size.instance_s for size in sizes), None if None in usd else sum(one or 0.0 for one in usd)


@dataclass(frozen=True)
class _Done:
    """What became of the requests. A request's time is the endpoint's own where it says it: the way to the caller is in
    no forecast."""

    taken_s: NDArray[np.float64]
    good: NDArray[np.bool_]
    hits: int
    wakes: int
    steps: StepMeans = UNKNOWN_STEPS
    billed_ms: int = 0


def _done(replayed: Replayed) -> _Done:
    taken_s = np.where(replayed.timed, replayed.steps_s.sum(axis=1), replayed.done_s - replayed.sent_s)
    hits = int((replayed.hits[replayed.good] == 1).sum())
    predicts_s = replayed.steps_s[replayed.timed][:, STEPS.index("predict")].astype(np.float64)
    billed_ms = sum(map(milliseconds, predicts_s.tolist()))
    return _Done(taken_s, replayed.good, hits, wakes(replayed), _steps(replayed), billed_ms)


def _queued(endpoint: ConfirmingEndpoint, since_s: float, wakes: int, counts: EndpointCounts) -> _Done:
    found = outcomes(endpoint, since_s)
    return _Done(found.taken_s, found.good, counts.hits, wakes)


def _figures(
    replayed: Replayed,
    slo_s: float,
    done: _Done,
    counts: EndpointCounts,
    instances: int,
    costs: tuple[float | None, float | None],
) -> TrafficFigures:
    answered_s = done.taken_s[done.good]
    quantiles = (None, None) if not len(answered_s) else tuple(map(float, np.quantile(answered_s, (0.5, 0.99))))
    refused = replayed.failed if len(done.good) < len(replayed) else 0  # has no place in the queue
    return TrafficFigures(
        len(replayed),
        int((~done.good).sum()) + refused,
        _late(done.good, done.taken_s, slo_s) + refused,
        done.hits,
        counts.loads,
        counts.unloads,
        done.wakes,
        instances,
        quantiles[0],
        quantiles[1],
        *costs,
        done.steps,
        done.billed_ms,
    )


def _late(good: NDArray[np.bool_], taken_s: NDArray[np.float64], slo_s: float) -> int:
    return int((~good | (taken_s > slo_s)).sum())


def wakes(replayed: Replayed) -> int:
    """How often requests woke the variant: those that wait for an instance before another one that waited is answered
    wait for the same wake."""
    waited = replayed.steps_s[:, [STEPS.index("hold"), STEPS.index("wake")]].sum(axis=1) > 0
    found, until_s = 0, -inf
    for sent_s, done_s in sorted(zip(replayed.sent_s[waited].tolist(), replayed.done_s[waited].tolist(), strict=True)):
        found += sent_s > until_s
        until_s = max(until_s, done_s)
    return found


def _steps(replayed: Replayed) -> StepMeans:
    timed = replayed.steps_s[replayed.good & replayed.timed]

    def mean_s(step: str) -> float | None:
        had = timed[:, STEPS.index(step)]
        had = had[had > 0]
        return float(had.mean()) if len(had) else None

    return StepMeans(*map(mean_s, ("wake", "load", "predict", "overhead")))
