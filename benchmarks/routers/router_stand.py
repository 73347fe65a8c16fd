"""Routers that are killed: one that is started again here, at a port of its own, and one that the endpoint starts."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol
from urllib.request import urlopen

from benchmarks.interrupted.stand import Stand
from benchmarks.ports import free_port
from benchmarks.sleeping import children

READY_WITHIN_S = 30.0


class FollowedControl(Protocol):
    """What a router needs of its control."""

    @property
    def url(self) -> str: ...

    @property
    def environment(self) -> dict[str, str]: ...


class RouterStand:
    """One router of a control."""

    def __init__(self, stand: FollowedControl, log: Path) -> None:
        self._stand = stand
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "torpor_endpoint.router", "--control", self._stand.url]
            self._process = subprocess.Popen(
                [*command, "--port", str(self.port)], env=self._stand.environment, stdout=log, stderr=log
            )
        deadline_s = time.monotonic() + READY_WITHIN_S
        while not self._answers():
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"the router at {self.url} does not answer: see {self._log}")
            time.sleep(0.05)

    def kill(self) -> None:
        """SIGKILL to the process and its worker."""
        assert self._process is not None
        for pid in (self._process.pid, *children(self._process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(30.0)

    def _answers(self) -> bool:
        with suppress(OSError), urlopen(f"{self.url}/_torpor/health", timeout=2):
            return True
        return False


class RouterBeside:
    """One of the routers at the endpoint's own port, which the endpoint starts, and starts again."""

    def __init__(self, stand: Stand, number: int) -> None:
        self._stand = stand
        self._number = number

    @property
    def url(self) -> str:
        return self._stand.url

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def kill(self) -> None:
        """SIGKILL to the process and its worker, if it runs."""
        for router in self._stand.below_worker():
            if _ends_with(router, f",{self._number}"):
                for pid in (router, *children(router)):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)


def _ends_with(pid: int, place: str) -> bool:
    """Whether a process is the router of this place on the board of its port."""
    with suppress(OSError):
        command = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        return any(one.startswith("--shared-port=") and one.endswith(place) for one in command)
    return False
