"""The client's end of the frame protocol: one connection to an instance, which all small requests share.

`transport.frames` says why the protocol exists, and what its bytes and states are. This module adds the client's rules.

The router uses it, for requests of small bodies that no task waits for; each has a callback instead. All others go by
`transport.upstream`, and so does everything while no connection is open: to send is refused then, and nothing is
lost.

What the client does in each state:

- *Not connected.* Nothing can be sent. `Multiplexed.connect` opens a connection and waits until the server agrees.
- *ASKED* (`settled` is not set). Nothing is sent. Any other answer than UPGRADED closes the connection.
- *FRAMES* (`open`). Requests are numbered and sent. Each ends in exactly one of four ways, and its callback is called
  once:

- its answer comes: UpstreamAnswer;
- its time is over: UpstreamTimedOut. The connection stays, and a late answer, known by its number, is dropped;
- the server says that it has no answer, or the connection ends: UpstreamBroken, as the server may have acted on it;
- the connection ends before anything of it was written: UpstreamRefused, and it may be sent again elsewhere.

- *Lost.* `open` is unset for good, and all that still wait are answered. `connect` makes a new connection.

Why it is bounded: each request has its own time, so none waits for ever; and each belongs to one caller's connection,
which has one request at a time, so there are never more than callers. A frame's size is bounded by the protocol.
Answers are handed on as they come, and none is kept here.
"""

import asyncio
import logging
from typing import cast

from torpor_container import wire
from torpor_container.transport.address import Address
from torpor_container.transport.frames import (
    NO_ANSWER,
    UPGRADED,
    FrameReader,
    FrameTooLong,
    KnownLines,
    encoded,
    number_of,
    upgrade,
)
from torpor_container.transport.loop_batch import LoopBatch
from torpor_container.transport.upstream import Then, opened
from torpor_container.transport.upstream_answers import (
    UpstreamAnswer,
    UpstreamBroken,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimedOut,
)

log = logging.getLogger(__name__)

PIECE_MAX = 10
"""So many requests leave in one write. In larger pieces, instance and endpoint would take turns to be
idle: the instance while the endpoint gathers the piece, the endpoint while the instance answers all of it."""

TIMING = wire.SERVER_TIMING.lower().encode()
NEVER_SENT = "the connection was closed before the request was sent"


class SentRequest:
    """A request that waits for its answer, until the event loop's time `until_s`."""

    __slots__ = ("then", "timeout_s", "until_s")

    def __init__(self, then: Then, timeout_s: float, until_s: float) -> None:
        self.then = then
        self.timeout_s = timeout_s
        self.until_s = until_s

    def tell(self, outcome: UpstreamAnswer | UpstreamError) -> None:
        """Call back. A callback that raises is logged, so that the others are called too."""
        try:
            self.then(outcome)
        except Exception:  # an outer edge: a request's own failure is not the connection's
            log.exception("a request failed as it got its outcome")


class Multiplexed:
    """The way to one instance: a connection to its address, for `POST` to one path. `connect` opens it."""

    def __init__(self, address: Address, path: str) -> None:
        self._address = address
        self._path = path
        self._connection: SharedConnection | None = None

    @property
    def open(self) -> bool:
        return self._connection is not None and self._connection.open

    async def connect(self, within_s: float) -> bool:
        """Open a connection, if none is open. False where nobody listens, or agrees to frames, within that time."""
        if not self.open:
            self.close()
            try:
                async with asyncio.timeout(within_s):
                    self._connection = await opened(self._address, lambda: SharedConnection(self._path), within_s)
                    await self._connection.settled.wait()
            except (TimeoutError, UpstreamRefused):
                self.close()
        return self.open

    def send(self, head: bytes, body: bytes, timeout_s: float, then: Then) -> bool:
        """Send one request, whose head is header lines. False, and `then` is not called, where no connection is open.

        `then` is called once, as soon as the answer is here and with no task between: with UpstreamAnswer,
        UpstreamBroken, UpstreamTimedOut, or UpstreamRefused where nothing of the request was ever written.
        """
        connection = self._connection
        if connection is None or not connection.open:
            return False
        connection.request(head, body, timeout_s, then)
        return True

    def close(self) -> None:
        """Requests that still wait end with UpstreamBroken, or UpstreamRefused if they were not written yet."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class SharedConnection(asyncio.Protocol):
    """One connection, from its first byte to its last. `settled` is set once the server has agreed or it is lost."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._frames = FrameReader()
        self._known = KnownLines()
        self._waiting: dict[int, SentRequest] = {}  # by number
        self._number = 0
        self._leaving = LoopBatch[bytes](self._write, PIECE_MAX)
        self._alarm: asyncio.TimerHandle | None = None
        self.open = False
        self.settled = asyncio.Event()

    # -- requests, in FRAMES -----------------------------------------------------------------------------------------
    def request(self, head: bytes, body: bytes, timeout_s: float, then: Then) -> None:
        """A request that no other waits beside leaves at once; else it leaves with those of this round."""
        self._number = number = (self._number + 1) & 0xFFFF_FFFF
        until_s = self._loop.time() + timeout_s
        self._waiting[number] = SentRequest(then, timeout_s, until_s)
        self._leaving.add(encoded(number, 0, head, body), len(self._waiting) == 1)
        if self._alarm is None or until_s < self._alarm.when():
            self._set_alarm(until_s)

    def _write(self, requests: list[bytes]) -> None:
        """Write one piece.

        Where nothing was buffered before, the transport writes to the socket at once. If it is closing right after, the
        server had gone first, and nobody has read any of these requests.
        """
        assert self._transport is not None
        unqueued = not self._transport.get_write_buffer_size()
        self._transport.write(b"".join(requests))
        if unqueued and self._transport.is_closing():
            for sent in self._take(requests):
                self._loop.call_soon(sent.tell, UpstreamRefused(NEVER_SENT))

    def _take(self, requests: list[bytes]) -> list[SentRequest]:
        """Those of them that still wait. They wait no longer."""
        numbers = [number_of(frame) for frame in requests]
        return [self._waiting.pop(number) for number in numbers if number in self._waiting]

    # -- times -------------------------------------------------------------------------------------------------------
    def _set_alarm(self, until_s: float) -> None:
        """One alarm for all requests, at the earliest time: one for each would cost more than a look at all of them."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self._loop.call_at(until_s, self._end_overdue)

    def _end_overdue(self) -> None:
        self._alarm = None
        now_s, waiting = self._loop.time(), self._waiting
        overdue = [number for number, sent in waiting.items() if sent.until_s <= now_s]
        for sent in [waiting.pop(number) for number in overdue]:
            sent.tell(UpstreamTimedOut(f"no answer within {round(sent.timeout_s, 2):g} s"))
        if waiting:
            self._set_alarm(min(sent.until_s for sent in waiting.values()))

    # -- asyncio.Protocol --------------------------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """ASKED."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but its class
        self._transport.write(upgrade(self._path))

    def data_received(self, data: bytes) -> None:
        if self.open:
            self._read(data)
        elif not self.settled.is_set() and data == UPGRADED:
            # FRAMES: the server sends nothing before it has a request, so these come alone
            self.open = True
            self.settled.set()
        else:
            self.close()

    def _read(self, data: bytes) -> None:
        try:
            for number, status, head, body in self._frames.read(data):
                sent = self._waiting.pop(number, None)
                if sent is None:
                    continue  # the answer is too late
                if status == NO_ANSWER:
                    sent.tell(UpstreamBroken(body.decode(errors="replace")))
                    continue
                first, _, alike = head.partition(b"\r\n")
                name, _, value = first.partition(b": ")
                if name == TIMING:
                    sent.tell(UpstreamAnswer(status, [(name, value), *self._known[alike]], [body], alike))
                else:
                    sent.tell(UpstreamAnswer(status, [*self._known[head]], [body]))
        except FrameTooLong as error:
            self._abort(f"the answer is too long: {error}")

    # -- its end -----------------------------------------------------------------------------------------------------
    def close(self) -> None:
        self._abort("the connection was closed before the answer came")

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost("the connection was closed before the answer was whole")

    def _abort(self, why: str) -> None:
        if self._transport is not None:
            self._transport.abort()
        self._lost(why)

    def _lost(self, why: str) -> None:
        """End all that wait. Requests of this round's batch have not been written."""
        self.open = False
        self.settled.set()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        never_sent = self._take(self._leaving.take_back())
        waiting, self._waiting = self._waiting, {}
        for sent in never_sent:
            sent.tell(UpstreamRefused(NEVER_SENT))
        for sent in waiting.values():
            sent.tell(UpstreamBroken(why))
