"""A Ray cluster of local processes for tests: a head without processors, and nodes that may be killed.

It has folders, ports and a token of its own, and ends what it started by number: another Ray of this machine is left
alone. Each node has a mark in its environment, which what runs on it inherits.
"""

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from tests.helpers.ports import free_port
from tests.helpers.processes import gone, marked
from tests.helpers.waiting import until
from torpor_container.processes.process_tree import descendants, kill_tree, parent

HAS_RAY = find_spec("ray") is not None
NO_RAY = "Ray is not installed: `make test-ray` runs it"
MARK = "TORPOR_TEST_NODE"
STARTED_WITHIN_S = 120.0
SMALL = ("--object-store-memory=80000000", "--min-worker-port=0", "--max-worker-port=0", "--disable-usage-stats")
MEMORY_BYTES = 8 * 1024**3
HEAD = "head"


class RayCluster:
    """A head, and nodes `a` and `b` of four processors each. `environment` is for drivers."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="rt-"))  # a short path: Ray keeps sockets in it
        self.environment: dict[str, str] = {
            **os.environ,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_raylet_start_wait_time_s": "120",
            "TORPOR_NODE_FOLDER": str(self.folder / "disks"),
        }
        self._mark = secrets.token_hex(4)
        self._nodes: dict[str, subprocess.Popen[bytes]] = {}
        head = ("--head", "--port=0", "--num-cpus=0", f"--temp-dir={self.folder / 'ray'}", "--include-dashboard=false")
        self.client_port = free_port()
        self._start(HEAD, *head, f"--ray-client-server-port={self.client_port}")
        try:
            self.address: str = until(lambda: _address(self._log(HEAD)), STARTED_WITHIN_S, 0.1)
            self.environment["RAY_ADDRESS"] = self.address
            for name in "ab":
                self.add(name)
        except BaseException:  # nobody else knows what runs already
            self.close()
            raise

    def add(self, name: str) -> None:
        """Start a node, and wait until it belongs to the cluster."""
        self._start(name, f"--address={self.address}", "--num-cpus=4", f"--memory={MEMORY_BYTES}")
        until(lambda: "Ray runtime started" in self._log(name), STARTED_WITHIN_S, 0.1)

    def node_of(self, pid: int) -> str:
        """The name of the node on which an instance runs: its lifeline has the node's environment."""
        lifeline = parent(pid)
        return next(name for name in self._nodes if lifeline in marked(self._marked(name)))

    def kill(self, name: str) -> None:
        """Kill a node, as when its machine stops: what the actors started must end without it."""
        started = self._nodes.pop(name)
        pids = [started.pid, *descendants(started.pid)]
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        started.wait()

    def close(self) -> None:
        """End all nodes, and whatever they left."""
        for name, started in reversed(self._nodes.items()):
            started.terminate()
            with suppress(subprocess.TimeoutExpired):
                started.wait(60.0)
            kill_tree(started.pid)
            started.wait()
            for pid in marked(self._marked(name)):
                kill_tree(pid)
                assert gone(pid)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, name: str, *arguments: str) -> None:
        environment = {**self.environment, MARK: f"{self._mark}-{name}"}
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", *arguments, *SMALL, "--block"]
        with self._log_of(name).open("wb") as log:
            self._nodes[name] = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, start_new_session=True, cwd=self.folder
            )

    def _marked(self, name: str) -> str:
        return f"{MARK}={self._mark}-{name}"

    def _log_of(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _log(self, name: str) -> str:
        started, said = self._nodes[name], self._log_of(name).read_text()
        assert started.poll() is None, said
        return said


def drivers(environment: Mapping[str, str]) -> list[int]:
    """The driver processes that were started with this environment."""
    token = f"RAY_AUTH_TOKEN={environment['RAY_AUTH_TOKEN']}"
    return [pid for pid in marked(token) if b"torpor_endpoint.host.ray.driver" in _command(pid)]


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _address(said: str) -> str:
    found = re.search(r"ray start --address='([\d.]+:\d+)'", said)
    return found[1] if found else ""
