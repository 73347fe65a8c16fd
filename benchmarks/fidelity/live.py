"""The live side: sends a trace to an endpoint with many models and little memory, and records what it reports."""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xgboost

import torpor
from benchmarks import scene
from benchmarks.sleeping import children
from torpor.calling.connection import EndpointConnection
from torpor.replay.paced_sending import replay
from torpor.replay.replay_result import Replayed
from torpor.replay.target import Target
from torpor.workloads import Recorded

NAME = "fidelity"
SIZES = (40, 60, 90, 140, 200, 300, 450, 640)
"""The numbers of trees of the models, which take from a few hundred kilobytes to four megabytes in memory."""
MIB = 1024 * 1024


def make_models(folder: Path, names: list[str], sizes: Sequence[int] = SIZES) -> None:
    """Write XGBoost models with these names and numbers of trees."""
    random = np.random.default_rng(7)
    rows = random.normal(size=(4000, scene.COLUMNS))
    label = rows @ random.normal(size=scene.COLUMNS) + random.normal(scale=0.5, size=len(rows))
    matrix = xgboost.DMatrix(rows, label, nthread=1)
    folder.mkdir()
    made = []
    for trees in sizes:
        booster = xgboost.train({"max_depth": 6, "nthread": 1}, matrix, num_boost_round=trees)
        made.append(torpor.bundle(booster, folder / f".{trees}.tar.gz"))
    for number, name in enumerate(names):
        os.link(made[number % len(made)], folder / name)


@dataclass(frozen=True)
class Lived:
    """The result of one live trace. `resident` has the models in memory at some moments when it was full."""

    replayed: Replayed
    loads: int
    unloads: int
    wakes: int
    instance_s: float
    resident: list[tuple[str, ...]]


class Endpoint:
    def __init__(self, local: "torpor.Local", ledger: Path) -> None:
        self._local = local
        self.ledger = ledger
        self._connection = EndpointConnection(local.url)

    def lived(self, trace: Recorded) -> Lived:
        """Play a trace, wait until the endpoint sleeps again, and return what changed."""
        before, rooms = self._counts(), _Rooms(self._local)
        replayed = replay(trace, Target(self._connection, NAME), lambda model, size: ("text/csv", scene.ROW))
        resident = rooms.close()
        self.until_asleep()
        after = self._counts()
        loads, unloads, wakes, instance_s = (now - then for now, then in zip(after, before, strict=True))
        return Lived(replayed, int(loads), int(unloads), int(wakes), instance_s, resident)

    def copy_ledger(self, to: Path) -> None:
        """As it is now."""
        to.unlink(missing_ok=True)
        with closing(sqlite3.connect(self.ledger)) as ledger, closing(sqlite3.connect(to)) as copy:
            ledger.backup(copy)

    def apart(self) -> None:
        """Give the instances a processor that the endpoint and the caller do not use, where there are two.

        They are forked by the zygotes, and inherit it. Without that all share all processors.
        """
        own, *rest = sorted(os.sched_getaffinity(0))
        if rest:
            (worker,) = children(self._local.pid)
            for zygote in children(worker):
                _bind(zygote, own)
            for pid in (self._local.pid, worker, os.getpid()):
                _bind(pid, *rest)

    def until_asleep(self) -> None:
        deadline_s = time.monotonic() + 60
        while self._local.instances():
            if time.monotonic() > deadline_s:
                raise TimeoutError("the endpoint does not fall asleep")
            time.sleep(0.2)
        time.sleep(2.5)  # the ledger is written once a second

    def _counts(self) -> tuple[float, float, float, float]:
        lines = self._connection.page("metrics").decode().splitlines()
        with closing(sqlite3.connect(self.ledger)) as ledger:
            lives = ledger.execute("SELECT count(*), sum(stopped_s - started_s) FROM lives").fetchone()
        return _sum(lines, "model_loading_seconds"), _sum(lines, "model_unloading_seconds"), lives[0], lives[1] or 0.0


@contextmanager
def endpoint(models: Path, data_dir: Path, memory_mib: float, sleep_after_s: float) -> Iterator[Endpoint]:
    with torpor.local(
        models, name=NAME, memory_mib=memory_mib, sleep_after_s=sleep_after_s, data_dir=data_dir
    ) as local:
        yield Endpoint(local, data_dir / "ledger.sqlite")


class _Rooms:
    """Reads the models in memory twice a second, in a thread of its own."""

    def __init__(self, local: "torpor.Local") -> None:
        self._local = local
        self._seen: list[tuple[str, ...]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def close(self) -> list[tuple[str, ...]]:
        """The readings of the fuller half."""
        self._over.set()
        self._thread.join()
        return sorted(self._seen, key=len)[len(self._seen) // 2 :]

    def _look(self) -> None:
        while not self._over.wait(0.5):
            for instance in self._local.instances():
                self._seen.append(tuple(model.name for model in instance.models))


def _bind(pid: int, *processors: int) -> None:
    """Pin all threads of a process."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), processors)


def _sum(lines: list[str], name: str) -> float:
    """The sum of a histogram's counts over all labels."""
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"torpor_{name}_count"))
