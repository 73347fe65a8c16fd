"""Sends a trace to a live endpoint at the trace's own times, and keeps the times of each request, but not its answer.

The loop is open: a request is sent at its time, whether or not earlier ones were answered. Each request is sent exactly
once. A request that cannot be sent in time is sent late, and `Replayed.late_s` says how late. Requests are not signed.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, count, islice, repeat
from struct import Struct
from threading import Event, Lock, Thread
from typing import NamedTuple

import numpy as np

from torpor.errors import TorporError
from torpor.pages.data_frames import STEPS
from torpor.replay.replay_result import Replayed
from torpor.replay.target import ReplayAnswer, ReplayPost, Target, check_reachable
from torpor.value_rules import COUNT, check
from torpor.workloads.trace import ModelNumbers, Paced, Trace
from torpor_endpoint.core.ledger import is_cold

Body = Callable[[str, int | None], tuple[str, bytes]]
"""Makes a request's media type and body from its model, and from its number of bytes in the trace."""

TALLY_EVERY_S = 0.1
_ROW = Struct(f"<qdddihhb{len(STEPS)}f")
_COLUMNS = np.dtype(
    [
        ("number", "<i8"),
        ("planned_s", "<f8"),
        ("sent_s", "<f8"),
        ("done_s", "<f8"),
        ("models", "<i4"),
        ("outcomes", "<i2"),
        ("statuses", "<i2"),
        ("hits", "i1"),
        ("steps_s", "<f4", (len(STEPS),)),
    ]
)
"""The columns of `_ROW`: each request is packed into a row when it ends, and all rows are read as columns at the
end."""


@dataclass(frozen=True)
class ReplayPace:
    """`speed` times as fast as the trace, with at most `in_flight_max` requests at once, each in a thread."""

    speed: float = 1.0
    in_flight_max: int = 64

    def __post_init__(self) -> None:
        check(TorporError, {"in_flight_max": COUNT}, self.__dict__)


@dataclass(frozen=True)
class ReplayTally:
    """The progress of a replay: requests sent, of these done, and of these cold and failed."""

    elapsed_s: float
    sent: int
    done: int
    cold: int
    failed: int


Watch = Callable[[ReplayTally], None]


def unwatched(tally: ReplayTally) -> None:
    pass


def replay(
    trace: Trace, target: Target, body: Body, pace: ReplayPace = ReplayPace(), watch: Watch = unwatched
) -> Replayed:
    """Send all requests of the trace, and wait for their answers. `watch` is called regularly with the progress.

    A request that fails is counted, and the replay continues. Ctrl-C ends sending; a second one also ends waiting.
    Raises EndpointUnreachable if nothing listens at the start, BadTrace for a bad trace, and what `body` raises.
    """
    check_reachable(target.connection.url_of("sagemaker-runtime"))
    sending = _Sending(Paced(trace, pace.speed), target, body, pace.in_flight_max)
    sending.until_done(watch)
    return sending.replayed()


class _Due(NamedTuple):
    """The next request to send."""

    number: int
    planned_s: float
    model: int
    headers: Mapping[str, str]
    body: bytes


class _Sending:
    """Threads take turns: one waits for the time of the next request and sends it, while the others wait for their turn
    or for an answer. So no request is handed from thread to thread, and the trace is read only as far as it is sent."""

    def __init__(self, trace: Trace, target: Target, body: Body, threads: int) -> None:
        self._names = trace.names
        self._body = body
        self._post = ReplayPost(target, threads)
        requests = _requests(trace)
        self._requests = chain(list(islice(requests, 1)), requests)  # opens the trace before the clock starts
        self._turn_lock, self._results_lock, self._stop = Lock(), Lock(), Event()
        self._failure: Exception | None = None
        self._interrupted = False
        self._outcomes = ModelNumbers()
        self._messages: dict[str, str] = {}
        self._rows = bytearray()
        self._sent = self._done = self._cold = self._failed = 0
        self._threads = [Thread(target=self._work, daemon=True) for _ in range(threads)]
        self._began_at_s, self._began_s = time.time(), time.perf_counter()

    def until_done(self, watch: Watch) -> None:
        try:
            for thread in self._threads:
                thread.start()
            self._wait_until_done(watch)
        finally:
            self._stop.set()
            self._post.close()
        if self._failure is not None:
            raise self._failure

    def replayed(self) -> Replayed:
        with self._results_lock:
            rows = np.frombuffer(bytes(self._rows), _COLUMNS)
            unanswered = self._sent - len(rows)
        rows = rows[np.argsort(rows["number"])]
        columns = {name: np.ascontiguousarray(rows[name]) for name in rows.dtype.names or () if name != "number"}
        names, outcomes = tuple(self._names), tuple(self._outcomes.met)
        return Replayed(
            names, outcomes, self._began_at_s, self._interrupted, unanswered, **columns, messages=self._messages
        )

    def _wait_until_done(self, watch: Watch) -> None:
        for _ in ("sending", "waiting"):  # the first Ctrl-C ends sending, the second one ends waiting
            try:
                self._join(watch)
                break
            except KeyboardInterrupt:
                self._interrupted = True
                self._stop.set()

    def _join(self, watch: Watch) -> None:
        for thread in self._threads:
            while thread.is_alive():
                thread.join(TALLY_EVERY_S)
                watch(ReplayTally(self._now_s(), self._sent, self._done, self._cold, self._failed))

    def _work(self) -> None:
        try:
            while (due := self._next()) is not None:
                sent_s = self._now_s()
                answer = self._post.send(due.headers, due.body)
                self._record(due, sent_s, self._now_s(), answer)
        except Exception as error:  # noqa: BLE001  a thread's outer edge: until_done raises what the trace or `body` raised
            self._failure = error
            self._stop.set()

    def _next(self) -> _Due | None:
        """The next request, at its time; None at the end."""
        with self._turn_lock:
            request = None if self._stop.is_set() else next(self._requests, None)
            if request is None:
                return None
            planned_s, model, request_bytes, number = request
            name = self._names[model]
            content_type, body = self._body(name, request_bytes)
            if self._stop.wait(max(0.0, planned_s - self._now_s())):
                return None
            self._sent += 1
            return _Due(number, planned_s, model, self._post.headers(name, content_type), body)

    def _record(self, due: _Due, sent_s: float, done_s: float, answer: ReplayAnswer) -> None:
        """Record a request. Missing steps are 0; all steps are NaN if the answer has no Server-Timing."""
        steps = answer.steps
        steps_s = repeat(np.nan, len(STEPS)) if steps is None else (steps.get(step, 0.0) for step in STEPS)
        with self._results_lock:
            outcome = self._outcomes[answer.outcome]
            if answer.message:
                self._messages.setdefault(answer.outcome, answer.message)
            what = (due.model, outcome, answer.status, answer.hit)
            self._rows += _ROW.pack(due.number, due.planned_s, sent_s, done_s, *what, *steps_s)
            self._done += 1
            self._failed += not 200 <= answer.status < 300
            self._cold += steps is not None and is_cold(steps)

    def _now_s(self) -> float:
        return time.perf_counter() - self._began_s


def _requests(trace: Trace) -> Iterator[tuple[float, int, int | None, int]]:
    """The time, model, bytes and number of each request."""
    numbers = count()
    for chunk in trace.chunks():
        sizes: Iterable[int | None] = repeat(None) if chunk.request_bytes is None else chunk.request_bytes.tolist()
        yield from zip(chunk.times_s.tolist(), chunk.models.tolist(), sizes, numbers, strict=False)
