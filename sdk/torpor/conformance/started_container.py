"""A container that is started by a command, as SageMaker starts an image with `serve`, and ended by its own id."""

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Self

from torpor_container.adapter.port_blocks import free_block, safe_range

DEFAULT_PORT = 8080
PORT = "{port}"
"""Replaced in the command's arguments by the port."""
LOOK_S = 0.02
END_S = 5.0
"""How long a container may take to end once its checks are done."""
QUOTED_LINES = 8


class StartedContainer:
    """The process of one container on this machine. Use it with `with`: at its end nothing of the process is left.

    Raises OSError if the command cannot be run.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], default_port: int = DEFAULT_PORT
    ) -> None:
        self.default_port = default_port
        self._block = free_block()
        self.bound_port = self._block.port
        self.names_port = any(PORT in word for word in command)
        self.default_port_was_free = not accepts(default_port)
        own = {
            "SAGEMAKER_BIND_TO_PORT": str(self.bound_port),
            "SAGEMAKER_SAFE_PORT_RANGE": safe_range(self.bound_port),
        }
        self._asked_to_end = False
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115  it is open as long as the container runs
        try:
            self._process = subprocess.Popen(
                [word.replace(PORT, str(self.bound_port)) for word in command],
                env={**os.environ, **own, **environment},
                stdin=subprocess.DEVNULL,
                stdout=self._printed,
                stderr=self._printed,
                start_new_session=True,  # so that what it starts ends with it
            )
        except OSError:
            self._printed.close()
            self._block.close()
            raise
        self.started_s = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if not self.has_ended and not self._asked_to_end:
            self.ended_by(signal.SIGTERM, END_S)  # a client of Docker passes it on, and no SIGKILL
        self.kill()
        self._process.wait()
        self._printed.close()
        self._block.close()

    def kill(self) -> None:
        """Kill the process, and whatever it has started and left behind: its session."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def exit_status(self) -> int | None:
        """As a shell's: negative for a signal. None while it runs."""
        return self._process.poll()

    def port(self, within_s: float) -> int:
        """The port on which the container listens: the one that it was told, else 8080 if it ignores that.

        After so many seconds, and once the process has ended, it is the one that it was told.
        """
        until_s = time.monotonic() + within_s
        while time.monotonic() < until_s and not self.has_ended:
            if accepts(self.bound_port):
                return self.bound_port
            if self.default_port_was_free and accepts(self.default_port):
                return self.default_port
            time.sleep(LOOK_S)
        return self.bound_port

    def ended_by(self, number: signal.Signals, within_s: float) -> bool:
        """Send the signal, and say whether the process ends within so many seconds."""
        self._asked_to_end = True
        self._process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(within_s)
        return self.has_ended

    @property
    def output(self) -> str:
        """The last lines that the container printed."""
        self._printed.seek(0)
        return "\n".join(self._printed.read().decode(errors="replace").splitlines()[-QUOTED_LINES:])


def accepts(port: int) -> bool:
    """Whether something on this machine accepts connections at the port."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
        return True
    return False
