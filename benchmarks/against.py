"""`python -m benchmarks --against REV`: this checkout beside another revision of it, in turn, in one run.

Both serve the same models to the same requests: one model, several in turn, and a small ONNX network. The other
revision runs in an environment of its own, which has this one's libraries and that revision's packages.
"""

import os
import site
import socket
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import boto3

from benchmarks import onnx_model
from benchmarks.live import Live
from benchmarks.measure import Figures, Target, Turn, agree, cpu_ratio, rate_ratio, warm
from benchmarks.own_answers import make_models
from benchmarks.sizes import Sizes

ROOT = Path(__file__).parent.parent
PACKAGES = ("container", "endpoint", "sdk")
HERE = "here"
READY_WITHIN_S = 60.0
LOOK_S = 0.1


class DoesNotStart(Exception):
    """A revision's endpoint has ended, or does not answer."""


class RevisionEndpoint:
    """An endpoint that an interpreter starts, by the command that every revision has."""

    def __init__(self, python: Path, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._log = data_dir / "endpoint.log"
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        command = [str(python), "-m", "torpor_endpoint", "--port", str(port), "--log-level", "warning"]
        command += ["--data-dir", str(data_dir)]
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=variables, start_new_session=True)

    @property
    def pid(self) -> int:
        return self._process.pid

    def until_ready(self) -> None:
        """Raises DoesNotStart with what it printed."""
        deadline_s = time.monotonic() + READY_WITHIN_S
        while True:
            try:
                urlopen(f"{self.url}/_torpor/health", timeout=READY_WITHIN_S).close()
                return
            except (URLError, OSError):
                if self._process.poll() is not None or time.monotonic() > deadline_s:
                    raise DoesNotStart(self._log.read_text(errors="replace")) from None
                time.sleep(LOOK_S)

    def client(self, service: str) -> Any:
        keys = {"aws_access_key_id": "benchmark", "aws_secret_access_key": "benchmark"}
        return boto3.client(service, "us-east-1", endpoint_url=self.url, **keys)

    def bucket_folder(self, name: str) -> Path:
        folder = self._data_dir / "s3" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


@contextmanager
def interpreter_of(revision: str, folder: Path) -> Iterator[Path]:
    """The Python of an environment with a revision's packages, before this environment's libraries. Raises
    CalledProcessError if there is no such revision."""
    checkout = folder / "checkout"
    git = ("git", "-C", ROOT, "worktree")
    subprocess.run([*git, "add", "--detach", checkout, revision], check=True, stdout=subprocess.DEVNULL)
    try:
        venv.create(folder / "environment", symlinks=True)
        python = folder / "environment/bin/python"
        found = subprocess.run(
            [python, "-c", "import site; print(site.getsitepackages()[0])"], check=True, capture_output=True, text=True
        )
        paths = [*(checkout / package for package in PACKAGES), *site.getsitepackages()]
        (Path(found.stdout.strip()) / "revision.pth").write_text("\n".join(map(str, paths)))
        yield python
    finally:
        subprocess.run([*git, "remove", "--force", checkout], check=True)


def rows(revision: str, sizes: Sizes) -> list[Figures]:
    """What each target takes here and there, and the ratios."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="torpor-against-")))
        there = stack.enter_context(interpreter_of(revision, folder))
        models = make_models(folder / "models", sizes.models)
        network = onnx_model.make(folder / "network") if sizes.onnx else {}
        by_side: dict[str, list[Target]] = {}
        for side, python in ((HERE, Path(sys.executable)), (revision, there)):
            data_dir = folder / f"data-{len(by_side)}"
            data_dir.mkdir()
            process = RevisionEndpoint(python, data_dir)
            stack.callback(process.close)
            process.until_ready()
            by_side[side] = _targets(process, side, folder, models, network)
        targets = [target for side in by_side.values() for target in side]
        agree(targets)
        found: list[Figures] = []
        for connections in sizes.connections:
            warm(targets, (), connections, sizes.turn_s, 1)  # not measured: connections and caches warm up
            turns = warm(targets, (), connections, sizes.turn_s, sizes.rounds)
            found += [
                _row(here.name.removesuffix(HERE), connections, turns[here.name], turns[other.name])
                for here, other in zip(by_side[HERE], by_side[revision], strict=True)
            ]
    return found


def _targets(
    process: RevisionEndpoint, side: str, folder: Path, models: Mapping[str, float], network: Mapping[str, float]
) -> list[Target]:
    live = Live(process)
    for artifacts in (folder / "models", folder / "network"):
        if artifacts.exists():
            live.link(artifacts)
    live.deploy()
    asked = {"1 model": dict(islice(models.items(), 1)), f"{len(models)} models": models, "ONNX": network}
    return [live.through(f"{what}, {side}", expected) for what, expected in asked.items() if expected]


def _row(what: str, connections: int, here: list[Turn], there: list[Turn]) -> Figures:
    return {
        "target": what.rstrip(", "),
        "connections": connections,
        "rounds": len(here),
        "cpu_us": median(one.cpu_us for one in here),
        "cpu_us_there": median(one.cpu_us for one in there),
        "cpu_ratio": cpu_ratio(here, there),
        "per_second": median(one.per_second for one in here),
        "per_second_there": median(one.per_second for one in there),
        "rate_ratio": rate_ratio(here, there),
        "p50_ms": median(one.p50_ms for one in here),
        "p50_ms_there": median(one.p50_ms for one in there),
        "p50_ratio": median(one.p50_ms / other.p50_ms for one, other in zip(here, there, strict=True)),
    }
