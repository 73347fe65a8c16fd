"""`python -m benchmarks.onnx_weights`: ONNX sessions with weights of their own beside sessions that map them.

For each network: private memory of a further session, processor time of its load, time of a call by rows, and how far
answers differ. Each form loads in a process of its own; calls alternate in one process. Prints a table.
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.measure import Figures
from benchmarks.memory import own_mib
from benchmarks.tables import table
from torpor_container.formats import onnx, onnx_weights
from torpor_container.formats.format import Conventions, Mapped

SESSIONS = 10
ROUNDS = 15
ROWS = (1, 32, 256)
KIB = 1024
NETWORKS = {"2 x 1,024 x 1,024": (1024, 2), "6 x 512 x 512": (512, 6), "4 x 256 x 256": (256, 4)}
FORMS = ("private", "shared")


def main() -> None:
    rows = list[Figures]()
    with tempfile.TemporaryDirectory() as folder:
        for name, (width, layers) in NETWORKS.items():
            file = Path(folder) / f"{width}-{layers}.onnx"
            _save(file, width, layers)
            with file.with_suffix(".onnx-1").open("wb") as target:
                onnx_weights.write(file, target)
            loads = {form: _in_own_process(file, form) for form in FORMS}
            rows.append(
                {"network": name, "file_kib": file.stat().st_size / KIB, **_beside(loads), **_calls(file, width)}
            )
    Console(width=220).print(table("ONNX weights of a session's own, and shared", rows))


def _save(file: Path, width: int, layers: int) -> None:
    import onnx as package
    from onnx import TensorProto, helper, numpy_helper

    dice = np.random.default_rng(3)
    scale = width**-0.5
    weights = [(scale * dice.normal(size=(width, width))).astype(np.float32) for _ in range(layers)]
    nodes = []
    for number in range(layers):
        nodes.append(helper.make_node("MatMul", [f"a{number}", f"w{number}"], [f"m{number}"]))
        nodes.append(helper.make_node("Tanh", [f"m{number}"], [f"a{number + 1}"]))
    shape = [None, width]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("a0", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(f"a{layers}", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(one, f"w{number}") for number, one in enumerate(weights)],
    )
    package.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), file)


def _loaded(file: Path, form: str) -> Any:
    if form == "private":
        return onnx.load(file, Conventions())
    mapped = file.with_suffix(".onnx-1")
    return onnx.open_mapped(file, Mapped(str(mapped), mapped.stat().st_size), Conventions())


# -- loads -------------------------------------------------------------------------------------------------------------
def _in_own_process(file: Path, form: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.onnx_weights", str(file), form]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


def measured(file: Path, form: str) -> dict[str, float]:
    """The private memory and the processor time of one more session that has been called."""
    kept = [_called(_loaded(file, form))]
    before_mib = own_mib([os.getpid()])
    took_s = []
    for _ in range(SESSIONS):
        began_s = time.process_time()
        model = _loaded(file, form)
        took_s.append(time.process_time() - began_s)
        kept.append(_called(model))
    grown_kib = KIB * (own_mib([os.getpid()]) - before_mib) / SESSIONS
    return {"private_kib": max(0.0, grown_kib), "load_cpu_ms": 1000 * median(took_s)}


def _called(model: Any, rows: int = 1) -> Any:
    (source,) = model.native.get_inputs()
    model.native.run(None, {source.name: np.zeros((rows, source.shape[1]), np.float32)})
    return model


def _beside(loads: Mapping[str, Mapping[str, float]]) -> Figures:
    order = (*itertools.product(("private_kib", "load_cpu_ms"), FORMS),)
    return {f"{form}_{what}": loads[form][what] for what, form in order}


# -- calls -------------------------------------------------------------------------------------------------------------
def _calls(file: Path, width: int) -> Figures:
    """Shared beside private: the medians of ratios over rounds that alternate, and the largest difference."""
    models = {form: _loaded(file, form).native for form in FORMS}
    found, furthest = Figures(), 0.0
    for rows in ROWS:
        feed = {"a0": np.random.default_rng(rows).normal(size=(rows, width)).astype(np.float32)}
        said = {form: model.run(None, feed)[0] for form, model in models.items()}
        largest = np.abs(said["private"]).max()
        furthest = max(furthest, float(np.abs(said["shared"] - said["private"]).max() / largest))
        calls = {form: partial(model.run, None, feed) for form, model in models.items()}
        took = [{form: _timed(call) for form, call in calls.items()} for _ in range(ROUNDS)]
        found[f"call_{rows}_rows_times"] = median(one["shared"] / one["private"] for one in took)
    return {**found, "furthest": f"{furthest:.1g}"}


def _timed(call: Callable[[], object]) -> float:
    """Processor time of some calls."""
    began_s = time.thread_time()
    for _ in range(10):
        call()
    return time.thread_time() - began_s


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measured(Path(sys.argv[1]), sys.argv[2])))
    else:
        main()
