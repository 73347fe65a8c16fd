"""A listening Unix socket whose server starts when a connection comes to it. It lets the server accept, and never does
itself but to refuse."""

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

from torpor_container.processes.zygote_client import listening


class AwaitedSocket:
    """Listens at `path` from its first use until it is closed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._listener: socket.socket | None = None

    def listener(self) -> socket.socket:
        """The socket, for a server that starts now."""
        if self._listener is None:
            self._listener = listening(self.path)
            self._listener.setblocking(False)
        return self._listener

    def await_one(self, asked: Callable[[], object]) -> None:
        """Call `asked` once a connection waits, or at once if one does."""
        listener = self.listener()

        def came() -> None:
            self.await_none()
            asked()

        asyncio.get_running_loop().add_reader(listener, came)

    def await_none(self) -> None:
        asyncio.get_running_loop().remove_reader(self.listener())

    def refuse(self) -> None:
        """Close the connections that wait, since the server could not start."""
        while True:
            try:
                self.listener().accept()[0].close()
            except OSError:  # none waits any more
                return

    def close(self) -> None:
        if self._listener is not None:
            self.await_none()
            self._listener.close()
            self._listener = None
            self.path.unlink(missing_ok=True)
