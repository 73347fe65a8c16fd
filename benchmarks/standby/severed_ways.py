"""Ways between processes of this machine that can be severed: connections over loopback that are carried, cut off or
swallowed, as a network does it."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

PIECE_BYTES = 1 << 16
GIVEN_UP_S = 5.0
"""A connection whose bytes are swallowed breaks after so long, as one does whose peer acknowledges nothing
(`tcp_user_timeout`). A connection over loopback would be acknowledged for ever."""
HEALTH = b"GET /_torpor/health HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
LOOK_S = 0.25
LOOKED_WITHIN_S = 1.0

T = TypeVar("T")
Far = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class WaysLoop:
    """The event loop of all ways, in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30.0)

    def close(self) -> None:
        self.run(_others_ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


async def _others_ended() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class SeverableWay:
    """A port on loopback whose connections go where `reach` connects them. All methods but `__init__` are for the loop
    of the ways."""

    def __init__(self, reach: Callable[[], Coroutine[Any, Any, Far]]) -> None:
        self._reach = reach
        self._passes = asyncio.Event()
        self._cut = False
        self._near: set[asyncio.StreamWriter] = set()
        self.port = 0

    async def begin(self) -> None:
        self._passes.set()
        server = await asyncio.start_server(self._come, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """Break every connection, and refuse new ones."""
        self._cut = True
        self._break_all()

    async def swallow(self) -> None:
        """Let no byte through, either way."""
        self._passes.clear()
        asyncio.get_running_loop().call_later(GIVEN_UP_S, self._give_up)

    async def mend(self) -> None:
        self._cut = False
        self._passes.set()

    def _give_up(self) -> None:
        if not self._passes.is_set():
            self._break_all()

    def _break_all(self) -> None:
        for writer in self._near:
            writer.transport.abort()

    async def _come(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._cut:
            writer.transport.abort()
            return
        self._near.add(writer)
        try:
            with suppress(OSError, asyncio.CancelledError):  # it is cancelled as the loop ends
                await self._passes.wait()
                far_reader, far_writer = await self._reach()
                await self._carried((reader, writer), (far_reader, far_writer))
        finally:
            self._near.discard(writer)
            writer.transport.abort()

    async def _carried(self, near: Far, far: Far) -> None:
        ways = [
            asyncio.ensure_future(self._carry(near[0], far[1])),
            asyncio.ensure_future(self._carry(far[0], near[1])),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            far[1].transport.abort()

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while piece := await source.read(PIECE_BYTES):
            await self._passes.wait()
            sink.write(piece)
            await sink.drain()


class ServingPort:
    """Which of some ports answers the page of health: as a load balancer, or a Service of Kubernetes, it asks each of
    them again and again, and keeps to one for as long as that is healthy."""

    def __init__(self, ports: Callable[[], list[int]]) -> None:
        self._ports = ports
        self._port = 0
        self._healthy: set[int] = set()

    async def begin(self) -> None:
        self._tasks = [asyncio.ensure_future(self._ask(place)) for place, _ in enumerate(self._ports())]

    async def reach(self) -> Far:
        if self._port not in self._healthy:
            found = [port for port in self._ports() if port in self._healthy]
            if not found:
                raise ConnectionRefusedError("no port is healthy")
            self._port = found[0]
        return await asyncio.open_connection("127.0.0.1", self._port)

    async def _ask(self, place: int) -> None:
        while True:
            port = self._ports()[place]  # it has none before it starts
            if await _is_healthy(port):
                self._healthy.add(port)
            else:
                self._healthy.discard(port)
            await asyncio.sleep(LOOK_S)


async def _is_healthy(port: int) -> bool:
    writer = None
    try:
        async with asyncio.timeout(LOOKED_WITHIN_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(HEALTH)
            return b" 200 " in await reader.readline()
    except (OSError, TimeoutError):
        return False
    finally:
        if writer is not None:
            writer.transport.abort()
