"""`python -m benchmarks cold --against REV`: first calls to contents that the machine has never seen, here and there.

Every artifact differs in its bytes, so none profits from another one's trial, verdict or mapped form. Both revisions
get the same artifacts, call by call in turn. Processor time is that of all processes of a side: until the answer is
there, and until they rest, since a load may leave work that no caller waits for.
"""

import asyncio
import io
import os
import pickle
import signal
import sys
import tarfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import xgboost

from benchmarks import client, onnx_model
from benchmarks.against import HERE, RevisionEndpoint, interpreter_of
from benchmarks.live import Live
from benchmarks.measure import Figures
from benchmarks.scene import COLUMNS, cpu_s
from benchmarks.sizes import Sizes

FROM_S3, FROM_DISK = "S3, a new content", "disk tier"
LOOK_S, QUIET_LOOKS, QUIET_S, REST_WITHIN_S = 0.02, 5, 0.0005, 5.0
"""Processes rest once they took less than so much processor time in several looks one after the other."""
WARM_UP = 3
REPLACED_WITHIN_S = 60.0

Content = Callable[[int], tuple[str, bytes]]
"""The name and the bytes of a model's file: each number's differ from all others."""


@dataclass(frozen=True)
class Called:
    """One first call: how long its caller waited, and the processor time until then, and until all rests."""

    took_ms: float
    answer_cpu_ms: float
    cpu_ms: float


def rows(revision: str, sizes: Sizes) -> list[Figures]:
    """What the first call to each kind of model takes here and there, from S3 and from the disk tier."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="torpor-against-")))
        there = stack.enter_context(interpreter_of(revision, folder))
        sides: dict[str, Live] = {}
        for side, python in ((HERE, Path(sys.executable)), (revision, there)):
            data_dir = folder / f"data-{len(sides)}"
            data_dir.mkdir()
            process = RevisionEndpoint(python, data_dir)
            stack.callback(process.close)
            process.until_ready()
            sides[side] = Live(process)
        names = {kind: _put(kind, one, sides, sizes.cold_calls) for kind, one in contents(folder).items()}
        for live in sides.values():
            live.deploy(TORPOR_MEMORY_MIB=8192)
        found = [_row(kind, FROM_S3, revision, _in_turn(sides, names[kind])) for kind in names]
        for live in sides.values():
            _end_instance(live)
        return found + [_row(kind, FROM_DISK, revision, _in_turn(sides, names[kind])) for kind in names]


def contents(folder: Path) -> Mapping[str, Content]:
    """A booster as XGBoost writes it, one as JSON, a forest of scikit-learn, and a small ONNX network."""
    return {
        "XGBoost, UBJSON": _booster("ubj"),
        "XGBoost, JSON": _booster("json"),
        "scikit-learn forest": _forest(),
        "ONNX": _network(folder),
    }


def _put(kind: str, content: Content, sides: Mapping[str, Live], calls: int) -> list[str]:
    """Put the artifacts of one kind of model into the bucket of each side: their keys."""
    prefix = kind.replace(",", "").replace(" ", "-").lower()
    names = [f"{prefix}-{number}.tar.gz" for number in range(WARM_UP + calls)]
    for number, name in enumerate(names):
        packed = _packed(*content(number))
        for live in sides.values():
            (live.folder / name).write_bytes(packed)
    return names


def _in_turn(sides: Mapping[str, Live], names: Sequence[str]) -> dict[str, list[Called]]:
    """The first calls of both sides, of which the first few are not measured."""
    seen: dict[str, list[Called]] = {side: [] for side in sides}
    for number, name in enumerate(names):
        order = list(sides.items())
        for side, live in order if number % 2 else reversed(order):
            called = _first_call(live, name)
            if number >= WARM_UP:
                seen[side].append(called)
    return seen


def _first_call(live: Live, name: str) -> Called:
    pids = _at_rest(live)
    before_s = _all_cpu_s(pids)
    request, began_s = live.request(name), time.perf_counter()
    [(status, body)] = asyncio.run(client.answers(live.address, [request]))
    took_s, answered_s = time.perf_counter() - began_s, _all_cpu_s(live.pids())
    if status != 200:
        raise RuntimeError(f"{name} answered {status}: {body[:300]!r}")
    ended_s = _all_cpu_s(_at_rest(live))
    return Called(*(1000 * each_s for each_s in (took_s, answered_s - before_s, ended_s - before_s)))


def _at_rest(live: Live) -> list[int]:
    """The processes of a side, once they rest."""
    deadline_s, quiet, last_s = time.monotonic() + REST_WITHIN_S, 0, 0.0
    while quiet < QUIET_LOOKS and time.monotonic() < deadline_s:
        time.sleep(LOOK_S)
        now_s = _all_cpu_s(live.pids())
        quiet = quiet + 1 if now_s - last_s < QUIET_S else 0
        last_s = now_s
    return live.pids()


def _all_cpu_s(pids: Sequence[int]) -> float:
    total_s = 0.0
    for pid in pids:
        with suppress(OSError):  # it has ended meanwhile
            total_s += cpu_s([pid])
    return total_s


def _end_instance(live: Live) -> None:
    """Kill it: the one that follows finds its disk, and nothing in memory."""
    [before] = live.instances()
    os.kill(before, signal.SIGKILL)
    deadline_s = time.monotonic() + REPLACED_WITHIN_S
    while live.instances() in ([], [before]):
        if time.monotonic() > deadline_s:
            raise RuntimeError(f"after {REPLACED_WITHIN_S:g} s no instance has followed the one that was killed")
        time.sleep(LOOK_S)


def _row(kind: str, source: str, revision: str, seen: Mapping[str, Sequence[Called]]) -> Figures:
    here, there = seen[HERE], seen[revision]
    figures: Figures = {"model": kind, "from": source, "calls": len(here)}
    for name in ("took_ms", "answer_cpu_ms", "cpu_ms"):
        mine, theirs = [getattr(one, name) for one in here], [getattr(one, name) for one in there]
        figures |= {name: median(mine), f"{name}_there": median(theirs), f"{name}_ratio": median(mine) / median(theirs)}
    return figures


# -- artifacts --------------------------------------------------------------------------------------------------------
def _booster(kind: str) -> Content:
    random = np.random.default_rng(7)
    rows = random.normal(size=(2000, COLUMNS))
    matrix = xgboost.DMatrix(rows, rows @ random.normal(size=COLUMNS), nthread=1)
    booster = xgboost.train({"max_depth": 6, "nthread": 1}, matrix, num_boost_round=100)

    def content(number: int) -> tuple[str, bytes]:
        booster.set_attr(number=str(number))
        return f"model.{kind}", bytes(booster.save_raw(kind))

    return content


def _forest() -> Content:
    from sklearn.ensemble import RandomForestRegressor

    random = np.random.default_rng(7)
    rows = random.normal(size=(500, COLUMNS))
    forest = RandomForestRegressor(20, max_depth=6, random_state=7).fit(rows, rows @ random.normal(size=COLUMNS))

    def content(number: int) -> tuple[str, bytes]:
        forest.number = number
        return "model.pkl", pickle.dumps(forest)

    return content


def _network(folder: Path) -> Content:
    import onnx

    onnx_model.make(folder / "network")
    with tarfile.open(folder / "network" / "network.tar.gz") as archive:
        [member] = archive.getmembers()
        file = archive.extractfile(member)
        assert file is not None
        model = onnx.load_from_string(file.read())

    def content(number: int) -> tuple[str, bytes]:
        model.producer_version = str(number)
        return "model.onnx", model.SerializeToString()

    return content


def _packed(name: str, content: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
