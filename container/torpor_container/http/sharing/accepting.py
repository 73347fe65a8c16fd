"""Accepts connections at a listening socket that several processes have.

The kernel wakes all of them for each connection, and most often the same one is first. So a process that has more
connections than another leaves it to that one, for PASSES looks: then the other is busy, or hangs, and it is accepted
here.
"""

import asyncio
import logging
import socket
from collections.abc import Callable

from torpor_container.http.sharing.shared_port import PortBoard

PASSES = 5
PASS_S = 0.001
"""Between two looks at a connection that another process may accept."""
RETRY_S = 1.0
"""How long nothing is accepted where no descriptor is left, as in asyncio's own servers."""


class SharedAccepting:
    """Accepts until it is closed. `made` makes the protocol of each connection, and shows it on the board."""

    def __init__(
        self, board: PortBoard, listener: socket.socket, made: Callable[[], asyncio.Protocol], log: logging.Logger
    ) -> None:
        self._board = board
        self._listener = listener
        self._made = made
        self._log = log
        listener.setblocking(False)
        board.join()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def close(self) -> None:
        """Accept nothing more. What waits is for the other processes."""
        self._board.leave()
        self._task.cancel()
        self._task.add_done_callback(lambda _: self._listener.close())

    async def _run(self) -> None:
        passes = 0
        while True:
            await self._readable()
            if passes < PASSES and self._board.another_has_fewer():
                passes += 1
                await asyncio.sleep(PASS_S)
                continue
            passes = 0
            await self._accept()

    async def _accept(self) -> None:
        """Accept one, and have it be a connection before the next one is looked at."""
        try:
            client, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # another process was first, or its client has left
        except OSError as error:
            self._log.error("no connection can be accepted: %s", error)
            await asyncio.sleep(RETRY_S)
            return
        try:
            await asyncio.get_running_loop().connect_accepted_socket(self._made, client)
        except OSError as error:
            client.close()
            self._log.debug("nothing has come of a connection: %s", error)

    async def _readable(self) -> None:
        loop, waiting = asyncio.get_running_loop(), self._listener.fileno()
        ready = loop.create_future()
        loop.add_reader(waiting, lambda: None if ready.done() else ready.set_result(None))
        try:
            await ready
        finally:
            loop.remove_reader(waiting)
