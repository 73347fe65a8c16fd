"""The scene of every measurement: small XGBoost models (100 trees, depth 6, 6 columns) behind a live endpoint."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import xgboost

import torpor

COLUMNS = 6
ROW = b"0.1,-0.4,1.3,0.7,-1.1,0.2"


def make_models(folder: Path, count: int) -> list[str]:
    """Train one model, and pack it under `count` names: what loading costs does not depend on the weights."""
    random = np.random.default_rng(7)
    rows = random.normal(size=(2000, COLUMNS))
    label = rows @ random.normal(size=COLUMNS) + random.normal(scale=0.1, size=len(rows))
    matrix = xgboost.DMatrix(rows, label, nthread=1)
    booster = xgboost.train({"max_depth": 6, "nthread": 1}, matrix, num_boost_round=100)
    first = torpor.bundle(booster, folder / "model-0.tar.gz")
    names = [f"model-{number}.tar.gz" for number in range(count)]
    for name in names[1:]:
        os.link(first, folder / name)
    return names


@contextmanager
def endpoint(models: Path, **options: object) -> Iterator["torpor.Local"]:
    with torpor.local(models, **options) as running:  # type: ignore[arg-type]
        yield running


def cpu_s(pids: list[int]) -> float:
    """Processor seconds that these processes have used, those of their children that have ended included."""
    return sum(map(_cpu_s, pids))


def _cpu_s(pid: int) -> float:
    """The process's own clock ticks in nanoseconds (its number is the kernel's, see clock_getcpuclockid(3)); what its
    ended children used is known in ticks of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ended_s = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(~pid << 3 | 2) + ended_s


def tree(pid: int) -> list[int]:
    """A process and all below it."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(below for child in children for below in tree(int(child)))]
