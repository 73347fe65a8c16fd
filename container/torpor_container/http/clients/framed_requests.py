"""The server's end of the frame protocol: many requests on one connection, each answered as soon as it can be.

`transport.frames` says why the protocol exists, and what its bytes and states are. `client_connection` takes the
upgrade, and hands over everything after it: this module is in the state FRAMES, from its first byte to its last.

A request is in one of three states:

    WAITING ──── its turn comes ────> BEGUN ──── its answer is here ────> ANSWERED

- *WAITING.* It has come and nothing was done for it. Whole frames are taken up in the order in which they come, for up
  to TURN_S of the event loop's time; then answers leave, other connections are served, and those that are left have
  their turns. From then on each model has one request a turn (`core.rounds`): a model that many call holds up another
  by one prediction, and not by all of them.
- *BEGUN.* The application has it: it answers at once, later by a callback, or in a task of its own by ASGI.
- *ANSWERED.* Its frame leaves with those of the same round of the event loop, or at once if no other request is
  unanswered.

An application's failure is its request's own: it is answered with 500, and its connection stays. An answer that is too
long for a frame is replaced by NO_ANSWER, for the same reason.

What ends the connection: a frame that is too long; the client, when it closes; or a client that sends no more, once all
is answered. It has no keep-alive time: the endpoint keeps one for each instance, however seldom it is used.

Why it is bounded: a request's size is bounded by its frame. How many wait is bounded by the client, not here: each
request of an endpoint's belongs to one caller's connection, which has one request at a time (`client_connection`), and
those are bounded (`connections`).
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from functools import partial
from time import monotonic
from typing import NamedTuple, Protocol

from starlette.types import Receive, Scope, Send

from torpor_container import wire
from torpor_container.core.rounds import Rounds
from torpor_container.http.clients.known_heads import Inline
from torpor_container.http.exchange import Exchange, TakeInline
from torpor_container.transport.frames import (
    BODY_MAX_BYTES,
    HEAD_MAX_BYTES,
    KNOWN_MAX,
    KNOWN_MAX_BYTES,
    NO_ANSWER,
    BadHeaders,
    Frame,
    FrameReader,
    FrameTooLong,
    Header,
    encoded,
    headers_of,
    valid_lines,
)
from torpor_container.transport.loop_batch import BatchScope, LoopBatch

TURN_S = 0.001
"""So long requests are begun without a pause. Those that share one prediction have it at the end of this time."""

TARGET = wire.TARGET_MODEL.lower().encode()


class App(Protocol):
    """An ASGI application that takes some requests inline (see `exchange.InlineApp`)."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def inline(self, scope: Scope) -> TakeInline | None: ...


class KnownFrameHead:
    """The scope of requests with this head, and how the application takes them inline; None: it does not."""

    __slots__ = ("scope", "take", "target")

    def __init__(self, scope: Scope, inline: Inline) -> None:
        self.scope = scope
        self.take = inline(scope)
        self.target = next((value for name, value in scope["headers"] if name == TARGET), b"")


class KnownFrameHeads(dict[bytes, KnownFrameHead]):
    """By their bytes: an endpoint sends the same ones again and again. Bounded as the lines of `frames` are."""

    def __init__(self, alike: Scope, inline: Inline) -> None:
        self._alike = alike
        self._inline = inline

    def __missing__(self, head: bytes) -> KnownFrameHead:
        known = KnownFrameHead({**self._alike, "headers": headers_of(head)}, self._inline)
        if len(head) <= KNOWN_MAX_BYTES:
            if len(self) == KNOWN_MAX:
                self.clear()
            self[head] = known
        return known


class Client(NamedTuple):
    """How to write to the client, and how to close its connection."""

    write: Callable[[bytes], None]
    close: Callable[[], None]


class FramedRequests:
    """One connection with frames. `unanswered` counts the requests that have come and are not answered."""

    def __init__(
        self,
        app: App,
        scope: Scope,
        client: Client,
        gone: asyncio.Event,
        log: logging.Logger,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`scope`: what all requests of the connection have in common. `gone` is set once the client has left."""
        self._app = app
        self._client = client
        self._heads = KnownFrameHeads(scope, app.inline)
        self._leaving = LoopBatch[bytes](lambda frames: client.write(b"".join(frames)))
        self.log = log
        self._frames = FrameReader()
        self._gone = gone
        self._clock = clock
        self._waiting = Rounds[Frame]()
        self.unanswered = 0
        self.answering: set[asyncio.Task[None]] = set()

    # -- WAITING -------------------------------------------------------------------------------------------------------
    def read(self, data: bytes) -> None:
        """Take in what the client sent, and begin what may begin at once."""
        try:
            frames = list(self._frames.read(data))
        except FrameTooLong as error:
            self.log.warning("a client's connection is closed: %s", error)
            self._client.close()
            return
        self.unanswered += len(frames)
        came = iter(frames)
        if self._waiting:
            self._wait(came)
            return
        try:
            self._begin_for_a_turn(came)
        finally:
            self._wait(came)
            self._plan_turn()

    def _wait(self, frames: Iterator[Frame]) -> None:
        for frame in frames:
            self._waiting.add(self._heads[frame[2]].target, frame)

    def _plan_turn(self) -> None:
        """If any request waits: in the event loop's next round, so that other connections have this one."""
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._take_turn)

    def _take_turn(self) -> None:
        if self._gone.is_set():
            self._waiting.clear()
        try:
            self._begin_for_a_turn(self._waiting)
        finally:
            self._plan_turn()

    def _begin_for_a_turn(self, frames: Iterator[Frame]) -> None:
        """Begin requests until TURN_S is over. It takes out of `frames` those that it begins."""
        until_s = self._clock() + TURN_S
        with BatchScope():
            for frame in frames:
                self._begin(frame)
                if self._clock() > until_s:
                    break

    # -- BEGUN ---------------------------------------------------------------------------------------------------------
    def _begin(self, frame: Frame) -> None:
        number, _, head, body = frame
        known = self._heads[head]
        try:
            if known.take is not None and known.take(known.scope, body, partial(self._tell, number)):
                return
        except Exception:  # the outer edge of a request: it is logged, and is no other's
            self.log.exception("Error in ASGI application")
            self._tell(number, 500, [], b"Internal Server Error")
            return
        task = asyncio.get_running_loop().create_task(self._answer(number, body, {**known.scope}))
        self.answering.add(task)
        task.add_done_callback(self.answering.discard)

    async def _answer(self, number: int, body: bytes, scope: Scope) -> None:
        exchange = Exchange(body, self._gone)
        try:
            await exchange.answered_by(self._app, scope)
        except asyncio.CancelledError:
            self._tell(number, 500, [], b"Internal Server Error")
            raise
        except Exception:  # the outer edge of a request, as above
            self.log.exception("Error in ASGI application")
            self._tell(number, 500, [], b"Internal Server Error")
            return
        self._tell(number, exchange.status, exchange.headers, exchange.body)

    # -- ANSWERED ------------------------------------------------------------------------------------------------------
    def _tell(self, number: int, status: int, headers: list[Header], body: bytes) -> None:
        try:
            head = valid_lines(headers)
        except BadHeaders:
            self.log.exception("Error in ASGI application")
            status, head, body = 500, b"", b"Internal Server Error"
        if len(head) > HEAD_MAX_BYTES or len(body) > BODY_MAX_BYTES:
            why = f"the answer is over {BODY_MAX_BYTES} bytes, or its headers over {HEAD_MAX_BYTES}"
            status, head, body = NO_ANSWER, b"", why.encode()
        self.unanswered -= 1
        self._leaving.add(encoded(number, status, head, body), last=not self.unanswered)
