"""Sends a trace to a live endpoint at the trace's own moments, and keeps the times of each request, but no body.

The loop is open: a request is sent when its moment has come, whether or not earlier ones were answered. Nothing is
sent twice and nothing is left out; what could not be sent in time is sent late, and `Replayed.late_s` says how late.
Requests are not signed, since Torpor reads no signature.
"""

import json
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, count, islice, repeat
from struct import Struct
from threading import Event, Lock, Thread
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import numpy as np

from torpor.calling.answer import steps_ms
from torpor.calling.connection import EndpointConnection
from torpor.calling.defaults import ANSWER_WITHIN_S
from torpor.errors import EndpointUnreachable, TorporError
from torpor.pages.frames import STEPS
from torpor.replay.outcome import NOT_TOLD, Replayed
from torpor.validation import COUNT, check
from torpor.workloads.trace import ModelNumbers, Paced, Trace
from torpor_endpoint.core.ledger import is_cold

Body = Callable[[str, int | None], tuple[str, bytes]]
"""From the model, and the bytes that the trace has for the request, to its content type and its body."""

NO_ANSWER = 0
"""Stands for the status of a request that got none."""
CONNECT_WITHIN_S = 10.0
LOOK_EVERY_S = 0.1
MESSAGE_MAX = 300
"""Letters of an error's text that are kept."""
LOADING = ("wake", "download", "unpack", "load")
"""A request with one of these steps did not find its model in memory."""

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
"""The same as `_ROW`: a request's row is packed as it ends, and all rows are read as columns at the end."""


@dataclass(frozen=True)
class Target:
    """The endpoint that is called. `multi_model`: the trace's models are its TargetModels; otherwise none is named."""

    connection: EndpointConnection
    endpoint: str
    multi_model: bool = True

    @classmethod
    def found(cls, connection: EndpointConnection, endpoint: str) -> "Target":
        """As SageMaker's API describes it; of several variants, the first. Raises botocore's ClientError."""
        sagemaker = connection.client("sagemaker")
        config = sagemaker.describe_endpoint(EndpointName=endpoint)["EndpointConfigName"]
        variants = sagemaker.describe_endpoint_config(EndpointConfigName=config)["ProductionVariants"]
        model = sagemaker.describe_model(ModelName=variants[0]["ModelName"])
        container = model["PrimaryContainer"] if "PrimaryContainer" in model else model["Containers"][0]
        return cls(connection, endpoint, container.get("Mode") == "MultiModel")


@dataclass(frozen=True)
class ReplayPace:
    """`speed` times as fast as the trace, with at most `in_flight_max` requests at once: as many threads send."""

    speed: float = 1.0
    in_flight_max: int = 64

    def __post_init__(self) -> None:
        check(TorporError, {"in_flight_max": COUNT}, self.__dict__)


@dataclass(frozen=True)
class ReplayTally:
    """How far a replay is. Requests were sent, and of those some are done, and of those some were cold or failed."""

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
    """Send all requests of the trace, and wait for their answers. `watch` is told now and then how far it is.

    A request that fails is counted, and the replay goes on. Ctrl-C ends the sending, a second one the waiting too.
    Raises EndpointUnreachable if nobody listens at the start, BadTrace where the trace is bad, and what `body` raises.
    """
    _reach(target.connection.url)
    sending = _Sending(Paced(trace, pace.speed), target, body, pace.in_flight_max)
    sending.until_done(watch)
    return sending.replayed()


class _Due(NamedTuple):
    """A request whose moment comes."""

    number: int
    planned_s: float
    model: int
    headers: Mapping[str, str]
    body: bytes


class _Answer(NamedTuple):
    status: int
    outcome: str
    hit: int
    steps: Mapping[str, float] | None  # None: not told
    message: str = ""  # why it failed


class _Sending:
    """Threads take turns: one waits for the moment of the next request and sends it, while the others wait for their
    turn or for an answer. Nothing is handed from thread to thread, and the trace is read as far as it is sent."""

    def __init__(self, trace: Trace, target: Target, body: Body, threads: int) -> None:
        self._names = trace.names
        self._body = body
        self._post = _Post(target, threads)
        requests = _requests(trace)
        self._requests = chain(list(islice(requests, 1)), requests)  # opening the trace is no part of the replay
        self._turn, self._books, self._stop = Lock(), Lock(), Event()
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
            self._ended(watch)
        finally:
            self._stop.set()
            self._post.close()
        if self._failure is not None:
            raise self._failure

    def replayed(self) -> Replayed:
        with self._books:
            rows = np.frombuffer(bytes(self._rows), _COLUMNS)
            unanswered = self._sent - len(rows)
        rows = rows[np.argsort(rows["number"])]
        columns = {name: np.ascontiguousarray(rows[name]) for name in rows.dtype.names or () if name != "number"}
        names, outcomes = tuple(self._names), tuple(self._outcomes.met)
        return Replayed(
            names, outcomes, self._began_at_s, self._interrupted, unanswered, **columns, messages=self._messages
        )

    def _ended(self, watch: Watch) -> None:
        for _ in ("sending", "waiting"):  # one Ctrl-C ends the one, another one the other
            try:
                self._joined(watch)
                break
            except KeyboardInterrupt:
                self._interrupted = True
                self._stop.set()

    def _joined(self, watch: Watch) -> None:
        for thread in self._threads:
            while thread.is_alive():
                thread.join(LOOK_EVERY_S)
                watch(ReplayTally(self._now_s(), self._sent, self._done, self._cold, self._failed))

    def _work(self) -> None:
        try:
            while (due := self._next()) is not None:
                sent_s = self._now_s()
                answer = self._post.send(due.headers, due.body)
                self._keep(due, sent_s, self._now_s(), answer)
        except Exception as error:  # noqa: BLE001  of the trace or of `body`: raised again where all threads are awaited
            self._failure = error
            self._stop.set()

    def _next(self) -> _Due | None:
        """The next request, once its moment has come; None when it is over."""
        with self._turn:
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

    def _keep(self, due: _Due, sent_s: float, done_s: float, answer: _Answer) -> None:
        """Steps that there were not are 0; all are NaN if none was told."""
        told = answer.steps
        steps_s = repeat(np.nan, len(STEPS)) if told is None else (told.get(step, 0.0) for step in STEPS)
        with self._books:
            outcome = self._outcomes[answer.outcome]
            if answer.message:
                self._messages.setdefault(answer.outcome, answer.message)
            what = (due.model, outcome, answer.status, answer.hit)
            self._rows += _ROW.pack(due.number, due.planned_s, sent_s, done_s, *what, *steps_s)
            self._done += 1
            self._failed += not 200 <= answer.status < 300
            self._cold += told is not None and is_cold(told)

    def _now_s(self) -> float:
        return time.perf_counter() - self._began_s


class _Post:
    """One endpoint's invocations, over connections that are kept."""

    def __init__(self, target: Target, connections: int) -> None:
        from urllib3 import Timeout, connection_from_url

        url, patience = target.connection.url, Timeout(connect=CONNECT_WITHIN_S, read=ANSWER_WITHIN_S)
        self._pool = connection_from_url(url, maxsize=connections, timeout=patience)
        self._path = f"{urlsplit(url).path}/endpoints/{quote(target.endpoint, safe='')}/invocations"
        self._multi_model = target.multi_model

    def close(self) -> None:
        self._pool.close()

    def headers(self, model: str, content_type: str) -> dict[str, str]:
        """A name beyond ASCII is sent as UTF-8, as boto3 does; http.client would have Latin-1."""
        named = {"X-Amzn-SageMaker-Target-Model": model.encode().decode("latin-1")} if self._multi_model else {}
        return {"Content-Type": content_type, **named}

    def send(self, headers: Mapping[str, str], body: bytes) -> _Answer:
        """Also of a request that gets none."""
        from urllib3.exceptions import HTTPError

        try:
            got = self._pool.urlopen("POST", self._path, body=body, headers=headers, retries=False)
        except (HTTPError, OSError, ValueError) as error:
            why = error.__cause__ or error.__context__ or error  # urllib3 wraps what happened in an error of its own
            return _Answer(NO_ANSWER, type(why).__name__, NOT_TOLD, None, _line(str(why)))
        code = got.headers.get("x-amzn-errortype", "").partition(":")[0]
        steps = _steps(got.headers.get("server-timing"))
        hit = NOT_TOLD if steps is None else int(not any(step in steps for step in LOADING))
        message = "" if 200 <= got.status < 300 else _message(got.data)
        return _Answer(got.status, f"{got.status} {code}".strip(), hit, steps, message)


def _requests(trace: Trace) -> Iterator[tuple[float, int, int | None, int]]:
    """Moment, model, bytes and number."""
    numbers = count()
    for chunk in trace.chunks():
        sizes: Iterable[int | None] = repeat(None) if chunk.request_bytes is None else chunk.request_bytes.tolist()
        yield from zip(chunk.times_s.tolist(), chunk.models.tolist(), sizes, numbers, strict=False)


def _message(body: bytes) -> str:
    """What an error says: the model's own words where they are told apart."""
    try:
        said = json.loads(body)
        found = said.get("OriginalMessage") or said.get("Message") or said.get("message") or ""
    except (ValueError, AttributeError):  # no JSON, or no object
        found = body[: 4 * MESSAGE_MAX].decode(errors="replace")
    return _line(str(found))


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MESSAGE_MAX else f"{line[:MESSAGE_MAX]}…"


def _steps(told: str | None) -> dict[str, float] | None:
    """Seconds by step. None without a Server-Timing, and for one that is somebody else's."""
    steps = {name: took_ms / 1000 for name, took_ms in steps_ms(told or "").items() if name in STEPS}
    return steps or None


def _reach(url: str) -> None:
    """Raises EndpointUnreachable if nobody listens."""
    parts = urlsplit(url)
    try:
        address = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
        socket.create_connection(address, CONNECT_WITHIN_S).close()
    except (OSError, ValueError) as error:
        raise EndpointUnreachable(url, error) from error
