"""What a peer is to a measurement, and how one is started and ended with all that it started."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks import scene
from benchmarks.client import NoLength, Where, answers
from benchmarks.measure import Target
from benchmarks.ports import DidNotStart

ENVIRONMENTS = Path("build/peers")
READY_WITHIN_S = 120.0
ENDS_WITHIN_S = 20.0
POLL_S = 0.1
OK = 200


@dataclass(frozen=True)
class Site:
    """What a peer gets: models as `<name>.ubj` in one folder, a folder to write to, and ports."""

    models: Path
    names: tuple[str, ...]
    folder: Path
    ports: tuple[int, int, int]

    @property
    def port(self) -> int:
        return self.ports[0]


class Peer(Protocol):
    """One server, with its settings."""

    @property
    def name(self) -> str: ...

    @property
    def environment(self) -> str:
        """Its folder below `build/peers`."""

    @property
    def models_max(self) -> int | None:
        """How many models one server takes; None is any number."""

    def command(self, site: Site) -> list[str]:
        """The program in its environment, and its arguments; what it reads besides is written to the site's folder."""

    def request(self, model: str) -> bytes:
        """One prediction for `scene.ROW`."""

    def said(self, body: bytes) -> float:
        """The number of an answer."""

    def bring(self, model: str) -> list[bytes] | None:
        """What must be asked before the first prediction of a model that is not loaded; empty if nothing must, and None
        if it cannot be loaded once the server runs."""


def installed(peer: Peer) -> bool:
    return (ENVIRONMENTS / peer.environment / ".ready").exists()


@contextmanager
def running(peer: Peer, site: Site, expected: Mapping[str, float]) -> Iterator[Target]:
    """The peer as a target that predicts with the expected models in turn, all loaded. Raises DidNotStart."""
    program, *arguments = peer.command(site)
    binaries = (ENVIRONMENTS / peer.environment / "bin").resolve()
    log = site.folder / "output.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(binaries / program), *arguments],
            cwd=site.folder,
            env=_environment(binaries),
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        where = ("127.0.0.1", site.port)
        for model in expected:
            _until_answers(where, [*(peer.bring(model) or ()), peer.request(model)], process, log)
        requests = [peer.request(model) for model in expected]
        yield Target(peer.name, where, requests, list(expected.values()), lambda: scene.tree(process.pid), peer.said)
    finally:
        _end(process)


def _environment(binaries: Path) -> dict[str, str]:
    """Its own programs first, and one thread for one row: more would only wait for one another."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return {**kept, "PATH": f"{binaries}:{kept.get('PATH', '')}", "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


def _until_answers(where: Where, sent: list[bytes], process: "subprocess.Popen[bytes]", log: Path) -> None:
    """It may listen long before it can predict."""
    deadline_s = time.monotonic() + READY_WITHIN_S
    while not _answers(where, sent):
        if process.poll() is not None or time.monotonic() > deadline_s:
            raise DidNotStart(f"{process.args!r}:\n{log.read_text(errors='replace')[-3000:]}")
        time.sleep(POLL_S)


def _answers(where: Where, sent: list[bytes]) -> bool:
    """Whether it says 200 to the last of these."""
    try:
        return asyncio.run(answers(where, sent))[-1][0] == OK
    except (OSError, asyncio.IncompleteReadError, NoLength):
        return False


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ask it to end; then end whatever of its tree is left, each by its own number."""
    below = scene.tree(process.pid) if process.poll() is None else []
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pid in below[1:]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
