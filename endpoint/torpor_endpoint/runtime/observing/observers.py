"""The observers of requests: each sees every request that has ended, with its body and its answer.

An observer that reads bodies chooses its requests, and is called when the answer is on its way: only the bodies of the
chosen requests are kept until then. The others are called for many requests at a time, when the bodies are gone: to
call them between two requests costs more than twice as much, because the processor's caches lose what the requests need
(benchmarks/README.md). Requests that are alike are counted as one group.

To add an observer that reads bodies, write a class with `reads` and `ended`, and give it to `Observers` in
`runtime/composed_router.py` as one of `single`. For one that reads none, write `ended` and `ended_alike`, and give it
as one of `batch`.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from torpor_account.log_lines import about
from torpor_endpoint.core.ledger import COLD_STEPS, minute_of
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.runtime.face_notes import FACE
from torpor_endpoint.runtime.observing.answer_heads import head_of
from torpor_endpoint.runtime.passage import InvokeAnswer, Passage, Route, Served

T = TypeVar("T")

log = logging.getLogger(__name__)

TOGETHER = 32
"""So many ended requests are passed on together, while the endpoint itself waits for an instance: passing them on takes
about as long as one request takes in its instance."""
WITHIN_S = 0.1
"""No ended request waits longer than that to be passed on."""

OK = 200


class Observer(Protocol):
    def ended(self, request: Passage, answer: InvokeAnswer) -> None:
        """The request has its answer. What this raises is logged, and harms neither the request nor other observers."""


class BodyObserver(Observer, Protocol):
    """An observer that needs the bodies of some requests: `ended` is called for these."""

    def may_read(self, route: Route) -> bool:
        """Whether it may read requests on this route. Called once for many requests, while the endpoint stays as it
        is."""

    def reads(self, request: Passage) -> bool:
        """Whether this observer reads the bodies. Called once for each request that has a route. If it raises, the
        observer does not see the request."""

    def missed(self, request: Passage) -> None:
        """There is no memory to keep the bodies: `ended` is not called for a request that this observer reads."""


class BatchObserver(Observer, Protocol):
    """An observer that needs no bodies: `ended` and `ended_alike` are called later, and the bodies are empty then."""

    def ended_alike(self, alike: "Alike", requests: Sequence[Passage], served: Sequence[Served]) -> None:
        """Requests that were served and waited for nothing, and the outcome of each."""


class Alike(NamedTuple):
    """What the requests of one group have in common."""

    endpoint: str
    variant: str
    pool: VariantPool
    target: str | None  # or the adapter's name; None where neither is named
    instance: str
    instances: int  # ready ones of the variant
    hit: bool | None  # None where there is no model cache
    came_minute_s: int
    ended_minute_s: int
    path: tuple[int, ...]  # the containers that they passed
    face: str = ""  # the protocol by which they came; empty for SageMaker's own


AlikeKey = tuple[str, str, VariantPool, str | None, str, int, bool | None, int, int, tuple[int, ...], str]
"""The fields of `Alike` as a plain tuple, because one is made of each request."""


class Observers:
    """Passes each ended request to those of `single` that read its bodies, and to `batch` later. For the event loop's
    thread."""

    def __init__(self, batch: Sequence[BatchObserver], single: Sequence[BodyObserver] = ()) -> None:
        self._batch = tuple(batch)
        self._single = tuple(single)
        self._ended: list[tuple[Passage, InvokeAnswer]] = []
        self._alarm: asyncio.TimerHandle | None = None

    def reads_bodies(self, request: Passage) -> bool:
        """Whether an observer reads the request's bodies: they must be kept until its end. Decided once, before the
        request is sent to an instance."""
        route, way = request.route, request.way
        if request.readers is None and route is not None:
            among = None if way is None else way.readers
            if among is None:
                among = [one for one in self._single if _told(one, (request,), one.may_read, route)]
                if way is not None:
                    way.readers = among
            request.readers = among and [one for one in among if _told(one, (request,), one.reads, request)]
        return bool(request.readers)

    def forgo(self, request: Passage) -> None:
        """There is no memory to keep the bodies of a request: its readers miss it."""
        for observer in request.readers or ():
            observer.missed(request)
        request.readers = ()

    def see(self, request: Passage, answer: InvokeAnswer) -> None:
        """Called once for each request, when its answer is on its way and before its bodies are released."""
        for observer in request.readers or ():
            _told(observer, (request,), observer.ended, request, answer)

    def account(self, request: Passage, answer: InvokeAnswer) -> None:
        """Called once for each request, when its bodies are released."""
        self._ended.append((request, answer))
        if self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(WITHIN_S, self.settle)

    def meanwhile(self) -> None:
        """A request has just been sent to an instance: there is time for those that have ended."""
        if len(self._ended) >= TOGETHER:
            self.settle()

    def settle(self) -> None:
        """The batch observers know of all requests that have ended."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        ended, self._ended = self._ended, []
        groups: dict[AlikeKey, tuple[list[Passage], list[Served]]] = {}
        for request, answer in ended:
            served, alike = request.outcome, _alike(request)
            if alike is not None and isinstance(served, Served):
                if alike not in groups:
                    groups[alike] = [], []
                requests, outcomes = groups[alike]
                requests.append(request)
                outcomes.append(served)
                continue
            for observer in self._batch:
                _told(observer, (request,), observer.ended, request, answer)
        for key, (requests, outcomes) in groups.items():
            for observer in self._batch:
                _told(observer, requests, observer.ended_alike, Alike(*key), requests, outcomes)


def _told(observer: object, requests: Sequence[Passage], tell: Callable[..., T], *what: Any) -> T | None:
    """What the observer answers as it is told of these requests; None if it fails."""
    try:
        return tell(*what)
    except Exception:  # the outer edge of an observer: the requests go on, and other observers see them
        first, others = requests[0], f" and {len(requests) - 1} others" if len(requests) > 1 else ""
        who = type(observer).__name__
        log.exception("request %s%s is not seen by %s", first.request_id, others, who, extra=_known(first))
        return None


def _known(request: Passage) -> dict[str, object]:
    """The fields of a line in the log about a request."""
    return about(request_id=request.request_id, endpoint=request.home.endpoint)


def _alike(request: Passage) -> AlikeKey | None:
    """The group of a request that was served, waited for nothing, and was not measured; else None."""
    route, served = request.route, request.outcome
    if route is None or not isinstance(served, Served) or not served.answer.status == request.status == OK:
        return None
    if not COLD_STEPS.isdisjoint(request.steps):
        return None
    head = head_of(served.answer)
    if head.alone:
        return None
    live, variant, pool, target, path, _, _, adapter = route
    came, ended = minute_of(request.at_s), minute_of(request.ended_at_s)
    face = request.scope[FACE].face if FACE in request.scope else ""  # `face_of`, without its calls
    model = target or adapter or None
    return live.name, variant, pool, model, served.instance, served.instances, head.hit, came, ended, path, face
