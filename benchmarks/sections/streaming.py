"""What a part of a streamed answer costs in all processes of the endpoint, and what they hold while a reader stalls.

The caller is boto3 in this process, whose own time does not count.
"""

import io
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import scene
from benchmarks.live import NAME, Live, Serve
from benchmarks.measure import Figures, spread
from benchmarks.memory import peak_growth
from benchmarks.sizes import Sizes
from torpor.calling.streamed_answer import parts_of
from torpor.calling.target_model import with_target_model

SCRIPT = b"""
def model_fn(model_dir):
    return None

def transform_fn(model, body, content_type, accept):
    count, size = map(int, body.split(","))
    return (b"x" * size for _ in range(count)), "text/plain"
"""
MODEL = "stream.tar.gz"
PART_BYTES = 100
LARGE_BYTES = 2**20
STALL_S = 3.0


class CutShort(Exception):
    """A stream did not have all its bytes: its figures mean nothing."""


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    artifacts = folder / "artifacts"
    artifacts.mkdir()
    (artifacts / MODEL).write_bytes(_artifact())
    with live() as running:
        running.link(artifacts)
        running.deploy()
        client = with_target_model(running.process.client("sagemaker-runtime"))
        _read(_stream(client, 10, PART_BYTES), 10 * PART_BYTES)
        return [_costs(running, client, sizes), _stalled(running, client, sizes)]


def _costs(running: Live, client: Any, sizes: Sizes) -> Figures:
    """Processor time for each part, over all processes of the endpoint."""
    used_us = []
    for _ in range(sizes.rounds):
        before_s = scene.cpu_s(running.pids())
        _read(_stream(client, sizes.parts, PART_BYTES), sizes.parts * PART_BYTES)
        used_us.append(1e6 * (scene.cpu_s(running.pids()) - before_s) / sizes.parts)
    return {"what": f"{sizes.parts:,} parts of {PART_BYTES} bytes", **spread("cpu_us_a_part", used_us)}


def _stalled(running: Live, client: Any, sizes: Sizes) -> Figures:
    """How far the memory of all processes grows over a stream whose reader stalls for a while, and then reads on."""
    grown_mib = []
    for _ in range(max(1, sizes.rounds // 3)):
        with peak_growth(running.pids) as grown:
            parts = _stream(client, sizes.large_parts, LARGE_BYTES)
            first = len(next(parts))
            time.sleep(STALL_S)
            _read(parts, sizes.large_parts * LARGE_BYTES - first)
        grown_mib.append(grown.mib)
    what = f"{sizes.large_parts:,} parts of {LARGE_BYTES // 2**20} MiB, and a stall of {STALL_S:g} s"
    return {"what": what, "grown_mib": median(grown_mib)}


def _stream(client: Any, count: int, size_bytes: int) -> Iterator[bytes]:
    return parts_of(
        client.invoke_endpoint_with_response_stream(
            EndpointName=NAME, TargetModel=MODEL, ContentType="text/csv", Body=f"{count},{size_bytes}"
        )
    )


def _read(parts: Iterator[bytes], expected_bytes: int) -> None:
    """Raises CutShort."""
    found_bytes = sum(map(len, parts))
    if found_bytes != expected_bytes:
        raise CutShort(f"{found_bytes} bytes came, and not {expected_bytes}")


def _artifact() -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        member = tarfile.TarInfo("code/inference.py")
        member.size = len(SCRIPT)
        tar.addfile(member, io.BytesIO(SCRIPT))
    return archive.getvalue()
