"""The parts of the measurement. Each takes a `Bench` and yields figures, which are written as they come."""

import gc
import io
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.on_device import models
from benchmarks.on_device.instance import Instance
from benchmarks.on_device.models import COLUMNS, MIB
from torpor_container.core.devices.asked_device import asked_device
from torpor_container.core.devices.paying_rows import ProbedBatch, paying_rows
from torpor_container.devices.device import Device
from torpor_container.devices.found_device import found_device
from torpor_container.devices.simulated_device import SimulatedDevice
from torpor_container.formats import Conventions
from torpor_container.formats.format import Mapped
from torpor_container.formats.on_device.onnx_on_device import OnnxOnDevice
from torpor_container.formats.on_device.xgboost_on_device import booster_on_device
from torpor_container.formats.onnx import SessionCall
from torpor_container.formats.xgboost import flat_conversion, flat_serving, xgboost_format
from torpor_container.trees import walking

NPY = "application/x-npy"
ROOM_FOR_TEN = "device_with_room_for_ten"
"""Ten models as the way before it measured them, a thirtieth more for arenas, and what the libraries keep."""
Figures = Iterator[tuple[str, Any]]
"""A name and its value."""


@dataclass(frozen=True)
class Bench:
    """Where models and logs are, what is measured on, and how long one turn of throughput lasts."""

    folder: Path
    out: Path
    asked: str
    simulated: bool
    turn_s: float
    short: bool = False
    """Leave out what concerns the processor alone, and what other parts show."""

    @property
    def networks_mib(self) -> tuple[int, ...]:
        return (1, 2) if self.simulated else (4, 64, 512)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many models are called in turn."""
        return (1, 2, 4) if self.simulated else (1, 10, 50)

    @property
    def rows(self) -> tuple[int, ...]:
        return (1, 16, 256) if self.simulated else (1, 16, 64, 256, 1024, 4096, 16384, 65536)

    def device(self) -> Device:
        if self.simulated:
            return SimulatedDevice()
        found = found_device(asked_device(self.asked))
        assert found is not None
        return found

    def instance(self, name: str, **settings: str) -> Instance:
        return Instance(self.folder / "instances" / name, self.simulated, self.out / "instances.log", **settings)


def npy(rows: int, columns: int = COLUMNS) -> bytes:
    file = io.BytesIO()
    np.save(file, np.random.default_rng(3).standard_normal((rows, columns), np.float32))
    return file.getvalue()


def timed(work: Callable[..., object], *arguments: Any) -> float:
    """The seconds of one call."""
    began_s = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - began_s


def best(times: int, work: Callable[..., object], *arguments: Any) -> float:
    return min(timed(work, *arguments) for _ in range(times))


# -- the machine -------------------------------------------------------------------------------------------------------
FORKED = """
import os, sys
from torpor_container.core.devices.asked_device import asked_device
from torpor_container.devices.found_device import found_device
import numpy, onnxruntime, xgboost
from torpor_container import formats
device = found_device(asked_device(sys.argv[1]))
maps = open("/proc/self/maps").read()
threads = len(os.listdir("/proc/self/task"))
print("parent_bytes", device.own_bytes(), "libcuda", "libcuda.so" in maps, "threads", threads, flush=True)
child = os.fork()
if not child:
    options = onnxruntime.SessionOptions()
    session = device.session(sys.argv[2], options, 2**30)
    name = session.get_inputs()[0].name
    said = session.run(None, {name: numpy.zeros((2, 256), numpy.float32)})
    print("child", session.get_providers()[0], len(said[0]), "bytes", device.own_bytes(), flush=True)
    os._exit(0)
print("child ended", os.waitpid(child, 0)[1])
"""


def machine(bench: Bench) -> Figures:
    """What the machine is, and that a parent with all frameworks makes no context, and forks a child that does."""

    def versions(package: str) -> str | None:
        try:
            return version(package)
        except PackageNotFoundError:
            return None

    named = ("onnxruntime-gpu", "onnxruntime", "xgboost", "xgboost-cpu", "nvidia-ml-py", "cupy-cuda13x", "numpy")
    yield "packages", {name: versions(name) for name in named}
    yield "python", sys.version.split()[0]
    yield "processors", os.cpu_count()
    device = bench.device()
    yield "device", {"name": device.name, "model": device.model, "total_bytes": device.total_bytes}
    if not bench.simulated:
        smi = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version,memory.used", "--format=csv"],
            capture_output=True,
            text=True,
            check=False,
        )
        yield "nvidia_smi", smi.stdout.splitlines()
        network = models.network(bench.folder / "fork" / "model.onnx", 4 * MIB)
        forked = subprocess.run(
            [sys.executable, "-c", FORKED, bench.asked, str(network)],
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        yield "forked", forked.stdout.splitlines() + forked.stderr.splitlines()[-5:]


# -- XGBoost -----------------------------------------------------------------------------------------------------------
def boosters(bench: Bench) -> Figures:
    """From how many rows the device predicts quicker than one thread, and whether answers are alike."""
    device = bench.device()
    yield "bytes_before", device.own_bytes()
    for trees, depth in ((100, 6), (500, 8)):
        path = models.booster(bench.folder / "boosters" / f"{trees}.ubj", trees, depth)
        for key, value in booster(bench, device, path):
            yield f"{trees}x{depth}.{key}", value


def booster(bench: Bench, device: Device, path: Path) -> Figures:
    ways, columns = ways_on_the_processor(path)
    form = booster_on_device(path, Conventions(), device)
    assert not isinstance(form, str), form
    form.over(ways.get("flat", ways["library"]))
    before_bytes = device.own_bytes()
    entered_s = timed(form.enter, 2**34)
    yield "file_bytes", path.stat().st_size
    yield "entered_with_probe_s", entered_s
    yield "bytes_on_device", device.own_bytes() - before_bytes
    yield "why", form.note
    form.leave()
    yield "entered_again_s", timed(form.enter, 2**34)
    table: list[dict[str, Any]] = []
    alike: dict[int, float] = {}
    for count in bench.rows:
        rows = np.random.default_rng(count).standard_normal((count, columns), np.float32)
        alike[count] = float(np.abs(form.predict_there(rows) - ways["library"](rows)).max())
        took = {f"{way}_s": best(3, predict, rows) for way, predict in ways.items()}
        table.append({"rows": count, "device_s": best(3, form.predict_there, rows), **took})
    yield "batches", table
    yield "largest_difference", alike
    rows = np.random.default_rng(1).standard_normal((512, columns), np.float32)
    alone = np.concatenate([form.predict_there(rows[at : at + 1]) for at in range(64)])
    yield "row_alone_as_among_others", bool((form.predict_there(rows)[:64] == alone).all())
    for way in ways:
        probed = [ProbedBatch(one["rows"], one[f"{way}_s"], one["device_s"]) for one in table]
        yield f"pays_from_rows_against_{way}", paying_rows(probed)
    form.leave()
    gc.collect()
    yield "bytes_after_leaving", device.own_bytes()


def ways_on_the_processor(path: Path) -> tuple[dict[str, Callable[[Any], Any]], int]:
    """What predicts on one thread of the processor, and the columns of a row."""
    member = xgboost_format.member(path, Conventions()).asked()
    member.booster.set_param({"device": "cpu", "nthread": 1})
    ways: dict[str, Callable[[Any], Any]] = {"library": member.predictor()}
    if walking.extension() is not None:
        content = flat_conversion.converted(member)
        ways["flat"] = flat_serving.serve(content, Mapped(str(path), len(content)), Conventions()).predict
    return ways, member.columns


# -- ONNX --------------------------------------------------------------------------------------------------------------
def networks(bench: Bench) -> Figures:
    """Entering from memory and from disk, memory on the device and what is given back, and batches."""
    device = bench.device()
    yield "bytes_before", device.own_bytes()
    small = OnnxOnDevice(models.network(bench.folder / "networks" / "first" / "model.onnx", MIB), device)
    yield "first_entry_with_context_s", timed(small.enter, 2**30)
    yield "bytes_with_context_and_1mib", device.own_bytes()
    small.leave()
    gc.collect()
    yield "context_bytes", device.own_bytes()
    for mib in bench.networks_mib:
        path = models.network(bench.folder / "networks" / str(mib) / "model.onnx", mib * MIB)
        for key, value in network(bench, device, path):
            yield f"{mib}mib.{key}", value


def network(bench: Bench, device: Device, path: Path) -> Figures:
    import onnxruntime  # here, so that boosters are measured where it is not installed

    drop_pages(path)
    began_s = time.perf_counter()
    form = OnnxOnDevice(path, device)
    yield "file_bytes", path.stat().st_size
    yield "read_from_disk_s", time.perf_counter() - began_s
    before_bytes = device.own_bytes()
    yield "enter_from_memory_s", timed(form.enter, 2**33)
    yield "why", form.note
    yield "bytes_on_device", device.own_bytes() - before_bytes
    predict = form.over(str)
    rows = np.random.default_rng(1).standard_normal((4096, COLUMNS), np.float32)
    one, some, many = (SessionCall({"rows": rows[:count]}, ["said"]) for count in (1, 64, 4096))
    yield "first_run_s", timed(predict, one)
    yield "run_s", {1: best(20, predict, one), 64: best(20, predict, some)}
    yield "bytes_after_runs", device.own_bytes() - before_bytes
    form.hot = True
    yield "first_bound_run_s", timed(predict, one)  # compared with a usual one
    yield "bound_run_s", {1: best(20, predict, one), 64: best(20, predict, some)}
    yield "is_bound", form.bound
    yield "bytes_while_bound", device.own_bytes() - before_bytes
    form.hot = False
    yield "peak_run_s", timed(predict, many)  # the arena shrinks after it
    yield "bytes_after_a_peak", device.own_bytes() - before_bytes
    usual = [timed(predict, many) for _ in range(30)]  # now such requests are usual, and the arena keeps their room
    yield "run_4096_s", min(usual)
    yield "bytes_after_many_such", device.own_bytes() - before_bytes
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    processor = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    yield (
        "processor_run_s",
        {1: best(3, processor.run, ["said"], one.feed), 64: best(1, processor.run, ["said"], some.feed)},
    )
    yield "largest_difference", float(np.abs(processor.run(["said"], some.feed)[0] - predict(some)).max())
    del processor
    yield "left_s", timed(form.leave)
    gc.collect()
    yield "bytes_after_leaving", device.own_bytes() - before_bytes
    entered = []
    for _ in range(5):
        entered.append(timed(form.enter, 2**33))
        form.leave()
        gc.collect()
    yield "entered_again_s", entered
    yield "bytes_after_five_rounds", device.own_bytes() - before_bytes


def drop_pages(path: Path) -> None:
    """So that the file is read from disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


# -- whole containers --------------------------------------------------------------------------------------------------
def contract(bench: Bench) -> Figures:
    """LoadModel, 507, and memory given back by UnloadModel, as the driver reports it for the container's process."""
    network = models.network(bench.folder / "contract" / "model.onnx", (1 if bench.simulated else 64) * MIB)
    with bench.instance(
        "contract", TORPOR_DEVICE=bench.asked, TORPOR_DEVICE_MEMORY_MIB="1800", TORPOR_MEMORY_MIB="16000"
    ) as one:
        yield "before_first_model", one.state().get("device")
        loads: list[Any] = []
        for number in range(24 if bench.simulated else 12):
            began_s = time.perf_counter()
            status, said = one.load(f"m{number}", network.parent)
            loads.append(
                {
                    "status": status,
                    "took_s": time.perf_counter() - began_s,
                    "own_bytes": one.state()["device"]["own_bytes"],
                    "said": said[:300] if status != 200 else "",
                }
            )
            if status != 200:
                break
        yield "loads", loads
        answers = [
            one.request("POST", f"/models/m{number}/invoke", npy(8), {"Content-Type": NPY})[0]
            for number in range(len(loads) - 1)
        ]
        yield "answers_after_the_refusal", {str(status): answers.count(status) for status in set(answers)}
        full = one.state()["device"]["own_bytes"]
        for number in range(len(loads) - 1):
            one.request("DELETE", f"/models/m{number}")
        yield "bytes_full_and_after_unloading_all", [full, one.state()["device"]["own_bytes"]]
        yield "load_after_unloading", one.load("again", network.parent)[0]
        yield "state", one.state()["device"]


def throughput(bench: Bench) -> Figures:
    """1, 10 and 50 models, in one container: on the device, on the processor, and on a device with room for ten."""
    store = bench.folder / "store"
    store.mkdir(parents=True, exist_ok=True)
    for number in range(bench.counts[-1]):
        network = models.network(
            bench.folder / "many" / str(number) / "model.onnx", (1 if bench.simulated else 16) * MIB, seed=number
        )
        models.artifact(store / f"m{number}.tar.gz", network)
    ways: dict[str, dict[str, str]] = {"device": {"TORPOR_DEVICE": bench.asked}, ROOM_FOR_TEN: {}}
    if not bench.short:
        ways["processor"] = {"TORPOR_DEVICE": "cpu"}
    for way, settings in ways.items():
        with bench.instance(
            way, TORPOR_MODEL_SOURCE=str(store), TORPOR_MEMORY_MIB="24000", TORPOR_VCPU="8", **settings
        ) as one:
            for count in bench.counts if not bench.short else bench.counts[way == ROOM_FOR_TEN :]:
                targets = [f"m{number}.tar.gz" for number in range(count)]
                headers = [{"Content-Type": NPY, "X-Amzn-SageMaker-Target-Model": target} for target in targets]
                cold = [timed(one.request, "POST", "/invocations", npy(1), header) for header in headers]
                yield f"{way}.{count}.first_calls_s", [min(cold), sorted(cold)[len(cold) // 2], max(cold)]
                for rows in (1, 64):
                    yield f"{way}.{count}.rows_{rows}", one.crowd(targets, npy(rows), NPY, bench.turn_s, 16)
                state = one.state()
                yield (
                    f"{way}.{count}.device",
                    state.get("device") and {**state["device"], "models": len(state["device"]["models"])},
                )
                left = [record["action"] for record in state["decisions"]]
                yield f"{way}.{count}.decisions", {action: left.count(action) for action in sorted(set(left))}
                sizes = sizes_measured(state["decisions"])
                if sizes:
                    yield f"{way}.{count}.sizes", [sizes[0], min(sizes), sorted(sizes)[len(sizes) // 2], max(sizes)]
                if way == "device" and count == bench.counts[1]:
                    room_bytes = state["device"]["kept_bytes"] + bench.counts[1] * sorted(sizes)[len(sizes) // 2]
                    ways[ROOM_FOR_TEN] = {
                        "TORPOR_DEVICE": bench.asked,
                        "TORPOR_DEVICE_MEMORY_MIB": str(ceil(room_bytes * 1.03 / MIB)),
                    }


def sizes_measured(decisions: list[dict[str, Any]]) -> list[int]:
    """In bytes, by model that entered the device, in that order."""
    told = [re.match(r"measured ([\d,]+) bytes", one["reason"]) for one in decisions if one["action"] == "entered"]
    return [int(one[1].replace(",", "")) for one in told if one is not None]


def batches(bench: Bench) -> Figures:
    """A booster in a container: single rows and batches, on the device and on the processor."""
    store = bench.folder / "booster-store"
    store.mkdir(parents=True, exist_ok=True)
    models.artifact(store / "b.tar.gz", models.booster(bench.folder / "boosters" / "500.ubj", 500, 8))
    for way, asked in (("device", bench.asked), ("processor", "cpu")):
        with bench.instance(
            f"batches-{way}",
            TORPOR_MODEL_SOURCE=str(store),
            TORPOR_DEVICE=asked,
            TORPOR_MEMORY_MIB="24000",
            TORPOR_VCPU="8",
        ) as one:
            for rows, callers in ((1, 8), (256, 8), (4096, 4), (20000, 4)):
                yield f"{way}.rows_{rows}", one.crowd(["b.tar.gz"], npy(rows, 50), NPY, bench.turn_s, callers)
            state = one.state()
            yield f"{way}.why", [record["reason"] for record in state["decisions"]][-3:]
            yield f"{way}.device", state.get("device")


PARTS: dict[str, Callable[[Bench], Figures]] = {
    "machine": machine,
    "boosters": boosters,
    "networks": networks,
    "contract": contract,
    "batches": batches,
    "throughput": throughput,
}
