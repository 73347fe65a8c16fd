"""`python -m benchmarks.flames [--py-spy PROGRAM] [--folder FOLDER]`: a flame graph of each hop of a warm request.

py-spy samples the endpoint's worker and the instance, 400 times a second, while 8 connections send signed requests.
It is not among the requirements: it needs the right to trace other processes. Install it separately.
"""

import argparse
import asyncio
import subprocess
import tempfile
from pathlib import Path

from benchmarks import client
from benchmarks.live import Live, live
from benchmarks.measure import Target, agree
from benchmarks.own_answers import make_models
from benchmarks.sleeping import children

CONNECTIONS = 8
LOOKED_S = 10
RATE_HZ = 400
FOLDER = Path("docs/explanation/performance")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flames", description=__doc__)
    parser.add_argument("--py-spy", default="py-spy", help="the program")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the SVGs go")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, live() as running:
        target = _served(running, Path(folder))
        for name, pid in (("endpoint", children(running.process.pid)[0]), ("instance", running.instances()[0])):
            _look(asked.py_spy, pid, asked.folder / f"{name}.svg", target)


def _served(running: Live, folder: Path) -> Target:
    expected = make_models(folder / "models", 1)
    running.link(folder / "models")
    running.deploy()
    target = running.through("Torpor", expected)
    agree([target])
    return target


def _look(program: str, pid: int, svg: Path, target: Target) -> None:
    """Raises CalledProcessError if py-spy may not trace the process."""
    what = ["--pid", str(pid), "--duration", str(LOOKED_S), "--rate", str(RATE_HZ), "--output", str(svg)]
    command = [program, "record", "--format", "flamegraph", *what]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as looking:
        while looking.poll() is None:
            asyncio.run(client.run(target.where, target.requests, CONNECTIONS, 1.0))
        told = looking.stderr.read() if looking.stderr else b""
    if looking.returncode:
        raise subprocess.CalledProcessError(looking.returncode, command, stderr=told)


if __name__ == "__main__":
    main()
