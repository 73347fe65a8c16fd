"""An event loop without a clock, a socket or a thread: time leaps to the next timer, and all other work takes no time.

Unix sockets are wires between two protocols of this process. Work for a thread is done on the spot. What is due at one
moment comes in the order in which it was planned, which asyncio's own loops do not promise.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextvars import Context
from heapq import heappush
from itertools import count
from typing import Any, TypeVar, TypeVarTuple
from unittest.mock import patch

from torpor_container.processes import threads

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
P = TypeVar("P", bound=asyncio.BaseProtocol)


class NothingWillHappen(AssertionError):
    """All tasks wait, and none for a timer."""


class Leaping(selectors.DefaultSelector):
    """No event comes from outside, so a wait leaps to its timeout."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise NothingWillHappen
        self.now_s += timeout
        return []


class Timer(asyncio.TimerHandle):
    """Of two that are due at one moment, the one that was planned first is the lower."""

    __slots__ = ("place",)

    def __init__(self, place: int, *handle: Any) -> None:
        super().__init__(*handle)
        self.place = place

    def __lt__(self, other: object) -> bool:
        assert isinstance(other, Timer)
        return (self.when(), self.place) < (other.when(), other.place)


class Wire(asyncio.Transport):
    """One end of a connection. Written bytes arrive at the other end's protocol in the loop's next turn."""

    def __init__(self, loop: asyncio.AbstractEventLoop, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self.far: Wire | None = None
        self._loop = loop
        self._protocol = protocol

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.far is not None:
            self._loop.call_soon(self.far._protocol.data_received, bytes(data))

    def is_closing(self) -> bool:
        return self.far is None

    def abort(self) -> None:
        if self.far is not None:
            ends, self.far.far, self.far = (self, self.far), None, None
            for end in ends:
                self._loop.call_soon(end._protocol.connection_lost, None)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time begins at 0. What is due within a nanosecond is due at once.

    `servers` make a protocol for each connection to their path.
    """

    def __init__(self) -> None:
        self._leaping = Leaping()
        super().__init__(self._leaping)
        self.servers: dict[str, Callable[[], asyncio.Protocol]] = {}
        self._places = count()

    def time(self) -> float:
        return self._leaping.now_s

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = Timer(next(self._places), when, callback, args, self, context)
        heappush(self._scheduled, timer)  # type: ignore[attr-defined]  # there is no public way to another order
        timer._scheduled = True  # type: ignore[attr-defined]  # so that the loop counts it when it is cancelled
        return timer

    async def create_unix_connection(
        self, protocol_factory: Callable[[], P], path: str | None = None, **options: Any
    ) -> tuple[asyncio.Transport, P]:
        if path not in self.servers:
            raise ConnectionRefusedError(f"nobody listens at {path}")
        client, server = protocol_factory(), self.servers[path]()
        assert isinstance(client, asyncio.Protocol)
        near, far = Wire(self, client), Wire(self, server)
        near.far, far.far = far, near
        server.connection_made(far)
        client.connection_made(near)
        return near, client

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> "asyncio.Future[T]":
        """An error is raised here, which is the same for a caller that awaits at once."""
        future: asyncio.Future[T] = self.create_future()
        future.set_result(func(*args))
        return future


class OnTheSpot:
    """Stands for the threads that all work without threads of its own shares."""

    over: "asyncio.Future[Any]"

    def put(self, work: Callable[..., Any], arguments: tuple[object, ...]) -> "OnTheSpot":
        given = OnTheSpot()
        given.over = asyncio.get_running_loop().run_in_executor(None, work, *arguments)
        return given


def run(story: Coroutine[Any, Any, T]) -> T:
    """Runs the story to its end. A task that it leaves behind is an error."""
    with patch.object(threads, "_shared", OnTheSpot()), asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(_alone(story))


async def _alone(story: Coroutine[Any, Any, T]) -> T:
    told = await story
    await asyncio.sleep(1.0)  # whoever was told to end does so
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"tasks were left behind: {left}"
    return told
