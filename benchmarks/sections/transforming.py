"""How many rows a second a transform job scores, beside a bare loop over the same booster in one process, in turn.

The job cuts one object into payloads of 6 MiB (`MultiRecord`) and joins the answers to the rows (`JoinSource`).
"""

import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import scene
from benchmarks.live import BUCKET, Live, Serve
from benchmarks.measure import Figures, spread
from benchmarks.memory import own_mib
from benchmarks.own_answers import make_models
from benchmarks.sizes import Sizes

LOOP = "bare loop"
LOOK_S = 0.1
CLOSE = 1e-5
"""Single precision, as text and back."""


class OtherRows(Exception):
    """A result differs from that of the bare loop: its figures mean nothing."""


class Scored:
    """One way to score the rows, over its turns."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.took_s: list[float] = []
        self.cpu_s: list[float] = []
        self.peak_mib: list[float] = []

    def row(self, rows: int, loop: "Scored") -> Figures:
        beside = [ours / one for ours, one in zip(self.cpu_s, loop.cpu_s, strict=True)]
        wall = [ours / one for ours, one in zip(self.took_s, loop.took_s, strict=True)]
        return {
            "what": self.what,
            "rows": rows,
            **spread("rows_per_s", [rows / took_s for took_s in self.took_s]),
            **spread("cpu_us_a_row", [1e6 * used_s / rows for used_s in self.cpu_s]),
            "of_the_loop": 1 / median(wall),
            "of_the_loop_per_core": 1 / median(beside),
            "peak_mib": max(self.peak_mib),
        }


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    artifacts = folder / "artifacts"
    ((artifact, _),) = make_models(artifacts, 1).items()
    with tarfile.open(artifacts / artifact) as tar:
        tar.extractall(folder / "model", filter="data")
    (model,) = (folder / "model").iterdir()
    source, expected = folder / "rows.csv", folder / "expected.csv"
    _write(source, sizes.scored)
    loop, jobs = Scored(LOOP), [Scored(f"job, MaxConcurrentTransforms {count}") for count in sizes.transforms]
    with live() as running:
        running.link(artifacts)
        bucket = running.process.bucket_folder("scored")
        (bucket / "in").mkdir(parents=True, exist_ok=True)
        (bucket / "in" / "rows.csv").write_bytes(source.read_bytes())
        sagemaker = running.process.client("sagemaker")
        url = f"s3://{BUCKET}/{running.folder.name}/{artifact}"
        sagemaker.create_model(ModelName="scored", PrimaryContainer={"Image": "torpor", "ModelDataUrl": url})
        for turn in range(max(1, sizes.rounds // 3)):
            _loop(loop, model, source, expected)
            for job, at_once in zip(jobs, sizes.transforms, strict=True):
                _job(job, running, sagemaker, f"scored-{turn}-{at_once}", at_once)
                _agree(bucket / "out" / "rows.csv.out", expected)
        sagemaker.delete_model(ModelName="scored")
    return [one.row(sizes.scored, loop) for one in (loop, *jobs)]


def _write(source: Path, count: int) -> None:
    table = np.random.default_rng(9).normal(size=(count, scene.COLUMNS))
    np.savetxt(source, table, "%.4f", delimiter=",")


def _loop(scored: Scored, model: Path, source: Path, expected: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.scoring", str(model), str(source), str(expected)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        peak = _peak(lambda: process.poll() is not None, lambda: [process.pid])
        assert process.stdout is not None
        took_s, used_s = map(float, process.stdout.read().split())
    scored.took_s.append(took_s)
    scored.cpu_s.append(used_s)
    scored.peak_mib.append(peak)


def _job(scored: Scored, running: Live, sagemaker: Any, name: str, at_once: int) -> None:
    """From the creation to the end, with the start of the instance."""
    before_s, began_s = scene.cpu_s(running.pids()), time.perf_counter()
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://scored/in/"}}
    sagemaker.create_transform_job(
        TransformJobName=name,
        ModelName="scored",
        BatchStrategy="MultiRecord",
        MaxConcurrentTransforms=at_once,
        TransformInput={"DataSource": source, "ContentType": "text/csv", "SplitType": "Line"},
        TransformOutput={"S3OutputPath": "s3://scored/out", "AssembleWith": "Line", "Accept": "text/csv"},
        TransformResources={"InstanceType": "ml.m5.large", "InstanceCount": 1},
        DataProcessing={"JoinSource": "Input"},
    )
    ended: dict[str, Any] = {}

    def has_ended() -> bool:
        ended.update(sagemaker.describe_transform_job(TransformJobName=name))
        return "TransformEndTime" in ended

    scored.peak_mib.append(_peak(has_ended, running.pids))
    if ended["TransformJobStatus"] != "Completed":
        raise OtherRows(ended["FailureReason"])
    scored.took_s.append(time.perf_counter() - began_s)
    scored.cpu_s.append(scene.cpu_s(running.pids()) - before_s)


def _peak(has_ended: Callable[[], bool], pids: Callable[[], list[int]]) -> float:
    """The most memory that the processes have by themselves, in MiB, looked at until the end."""
    peak_mib = 0.0
    while not has_ended():
        try:
            peak_mib = max(peak_mib, own_mib(pids()))
        except (FileNotFoundError, ProcessLookupError):  # one has ended meanwhile
            continue
        finally:
            time.sleep(LOOK_S)
    return peak_mib


def _agree(result: Path, expected: Path) -> None:
    """Raises OtherRows."""
    found, right = (np.loadtxt(path, delimiter=",", ndmin=2) for path in (result, expected))
    if found.shape != right.shape or not np.allclose(found, right, rtol=CLOSE, atol=CLOSE):
        raise OtherRows(f"the job wrote {found.shape} rows and columns, and the loop {right.shape}, or other numbers")
