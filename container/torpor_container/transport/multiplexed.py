"""The hop to an instance for requests that are small and waited for by no task: one connection that all of them share.

What comes in one turn of the event loop leaves in few pieces, and so the instance finds together what came together. An
instance that was never asked for frames, or does not speak them, is reached by `upstream` alone.
"""

import asyncio
import logging
from typing import NamedTuple, cast

from torpor_container.transport.frames import NOT_GIVEN, UPGRADED, FrameTooLong, Unframed, framed, lines, upgrade
from torpor_container.transport.loop_batch import LoopBatch
from torpor_container.transport.upstream import (
    Headers,
    Then,
    UpstreamAnswer,
    UpstreamBroken,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimedOut,
)

log = logging.getLogger(__name__)

PIECE_MAX = 10
"""So many requests leave in one piece: an instance that waited for more would idle meanwhile, and let its endpoint idle
while it answers them all."""

NEVER_SENT = "the connection was closed before the request was sent"


class SentRequest(NamedTuple):
    """One request that was sent."""

    then: Then
    timeout_s: float
    until_s: float

    def tell(self, outcome: UpstreamAnswer | UpstreamError) -> None:
        """Whatever it raises, the others are told too."""
        try:
            self.then(outcome)
        except Exception:
            log.exception("a request was told its outcome, and failed")


class Multiplexed:
    """One connection to the server on a Unix socket, for `POST` to one path. Not open until `connect` was called."""

    def __init__(self, socket: str, path: str) -> None:
        self._socket = socket
        self._path = path
        self._connection: SharedConnection | None = None

    @property
    def open(self) -> bool:
        return self._connection is not None and self._connection.open

    async def connect(self, within_s: float) -> bool:
        """Whether it is open now. One that was lost is made anew."""
        if not self.open:
            self.close()
            loop = asyncio.get_running_loop()
            try:
                async with asyncio.timeout(within_s):
                    _, self._connection = await loop.create_unix_connection(
                        lambda: SharedConnection(self._path), self._socket
                    )
                    await self._connection.settled.wait()
            except (TimeoutError, OSError):
                self.close()
        return self.open

    def send(self, headers: Headers, body: bytes, timeout_s: float, then: Then) -> bool:
        """One request; False, and nothing is done, if the connection is not open.

        `then` is called as soon as the answer is there, with no task between, or with UpstreamBroken,
        UpstreamTimedOut, or UpstreamRefused where the other side had gone before anything of it was sent.
        """
        if self._connection is None or not self._connection.open:
            return False
        self._connection.request(headers, body, timeout_s, then)
        return True

    def close(self) -> None:
        """Who still waits is told that it broke."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class SharedConnection(asyncio.Protocol):
    """`open` once the server has agreed, until it is lost; `settled` once either is known."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._frames = Unframed()
        self._waiting: dict[int, SentRequest] = {}  # by number
        self._number = 0
        self._leaving = LoopBatch[tuple[int, bytes]](self._write, PIECE_MAX)
        self._alarm: asyncio.TimerHandle | None = None
        self.open = False
        self.settled = asyncio.Event()

    def request(self, headers: Headers, body: bytes, timeout_s: float, then: Then) -> None:
        self._number = number = (self._number + 1) & 0xFFFF_FFFF
        until_s = self._loop.time() + timeout_s
        self._waiting[number] = SentRequest(then, timeout_s, until_s)
        self._leaving.add((number, framed(number, 0, lines(headers), body)), last=len(self._waiting) == 1)
        if self._alarm is None or until_s < self._alarm.when():
            self._ring_at(until_s)

    def close(self) -> None:
        self._hang_up("the connection was closed before the answer came")

    def _hang_up(self, why: str) -> None:
        if self._transport is not None:
            self._transport.abort()
        self._lost(why)

    def _write(self, requests: list[tuple[int, bytes]]) -> None:
        """If it is lost just now, nobody has read them."""
        assert self._transport is not None
        at_once = not self._transport.get_write_buffer_size()
        self._transport.write(b"".join([frame for _, frame in requests]))
        if at_once and self._transport.is_closing():
            for one in self._of(requests):
                self._loop.call_soon(one.tell, UpstreamRefused(NEVER_SENT))

    def _of(self, requests: list[tuple[int, bytes]]) -> list[SentRequest]:
        """Those of them who still wait: they wait no longer."""
        return [self._waiting.pop(number) for number, _ in requests if number in self._waiting]

    # -- patience --------------------------------------------------------------------------------------------------
    def _ring_at(self, until_s: float) -> None:
        """One alarm for all: to set one for each costs more than to look again when it rings."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self._loop.call_at(until_s, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        now_s, waiting = self._loop.time(), self._waiting
        late = [number for number, one in waiting.items() if one.until_s <= now_s]
        for one in [waiting.pop(number) for number in late]:
            one.tell(UpstreamTimedOut(f"no answer within {round(one.timeout_s, 2):g} s"))
        if waiting:
            self._ring_at(min(one.until_s for one in waiting.values()))

    # -- asyncio.Protocol ------------------------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but its class
        self._transport.write(upgrade(self._path))

    def data_received(self, data: bytes) -> None:
        if self.settled.is_set():
            try:
                self._read(data)
            except FrameTooLong as error:
                self._hang_up(f"the answer is too long: {error}")
        elif data == UPGRADED:
            self.open = True
            self.settled.set()
        else:
            self.close()

    def _read(self, data: bytes) -> None:
        for number, status, headers, body in self._frames.read(data):
            if one := self._waiting.pop(number, None):  # it may have come too late
                one.tell(_told(status, headers, body))

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost("the connection was closed before the answer was whole")

    def _lost(self, why: str) -> None:
        self.open = False
        self.settled.set()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        never_sent = self._of(self._leaving.taken_back())
        waiting, self._waiting = self._waiting, {}
        for one in never_sent:
            one.tell(UpstreamRefused(NEVER_SENT))
        for one in waiting.values():
            one.tell(UpstreamBroken(why))


def _told(status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> UpstreamAnswer | UpstreamError:
    if status == NOT_GIVEN:
        return UpstreamBroken(body.decode(errors="replace"))
    return UpstreamAnswer(status, headers, [body])
