"""Starts bare servers of one model as targets: the floor on a Unix socket, the reference on a port."""

import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import client, scene
from benchmarks.live import CSV
from benchmarks.measure import Target
from benchmarks.ports import free_port, listening


@dataclass(frozen=True)
class Bare:
    """A program that serves the first of the given models alone."""

    name: str
    model: Path
    expected: float

    @classmethod
    def of(cls, name: str, artifacts: Path, expected: Mapping[str, float], unpacked: Path) -> "Bare":
        """`unpacked` is a folder for the artifact's only file."""
        first, answer = next(iter(expected.items()))
        return cls(name, unpack(artifacts / first, unpacked), answer)


def unpack(artifact: Path, folder: Path) -> Path:
    """Unpack an artifact's only file into a folder of its own. XGBoost recognises its format by its name."""
    with tarfile.open(artifact) as archive:
        (member,) = archive.getmembers()
        archive.extract(member, folder, filter="data")
    found = folder / member.name
    return found if found.suffix else found.rename(found.with_suffix(".ubj"))


@contextmanager
def floor(bare: Bare, folder: Path) -> Iterator[Target]:
    """A server on a Unix socket under gunicorn, as Torpor's instances."""
    path = str(folder / "floor")
    server = ["gunicorn", "-k", "asgi", "-b", f"unix:{path}", "--log-level", "error", "--no-control-socket"]
    with _served(bare, [*server, "benchmarks.floor:make_app()"], path) as target:
        yield target


@contextmanager
def reference(bare: Bare, predictor: str = "row") -> Iterator[Target]:
    """A server on a port, as Torpor's endpoint. `predictor` is one of the reference's."""
    port = free_port()
    with _served(bare, ["benchmarks.reference", str(port), predictor], ("127.0.0.1", port)) as target:
        yield target


@contextmanager
def _served(bare: Bare, module: Sequence[str], where: client.Where) -> Iterator[Target]:
    environment = {**os.environ, "BARE_MODEL": str(bare.model)}
    process = subprocess.Popen([sys.executable, "-m", *module], env=environment)
    try:
        listening(where, process)
        requests = [client.request("/invocations", CSV, scene.ROW)]
        yield Target(bare.name, where, requests, [bare.expected], lambda: scene.tree(process.pid))
    finally:
        process.terminate()
        process.wait()
