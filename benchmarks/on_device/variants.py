"""What each session of ONNX Runtime takes on a device, with other options of its provider and its process."""

import json
import os
import subprocess
import sys

from benchmarks.on_device import models
from benchmarks.on_device.models import MIB
from benchmarks.on_device.parts import Bench, Figures

VARIANTS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "as_served": ({}, {}),
    "tf32": ({"use_tf32": "1"}, {}),
    "unified_stream": ({"use_ep_level_unified_stream": "1"}, {}),
    "small_workspace": ({}, {"CUBLAS_WORKSPACE_CONFIG": ":4096:2:16:8"}),
    "unified_stream_small_workspace": (
        {"use_ep_level_unified_stream": "1"},
        {"CUBLAS_WORKSPACE_CONFIG": ":4096:2:16:8"},
    ),
}
"""Options of ONNX Runtime's provider, and variables of the process."""
VARIANT = """
import json, sys, threading, time
import numpy, onnxruntime
from torpor_container.core.devices.asked_device import asked_device
from torpor_container.devices.found_device import found_device
device = found_device(asked_device(sys.argv[1]))
if hasattr(onnxruntime, "preload_dlls"):
    onnxruntime.preload_dlls()
provider = {"device_id": "0", "arena_extend_strategy": "kSameAsRequested", "use_tf32": "0", **json.loads(sys.argv[3])}
feed = {"rows": numpy.random.default_rng(1).standard_normal((64, 256), numpy.float32)}
held, bytes_after = [], []
for number in range(4):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")
    session = onnxruntime.InferenceSession(sys.argv[2], options, providers=[("CUDAExecutionProvider", provider)])
    made = device.own_bytes()
    session.run(None, feed)
    bytes_after.append([made, device.own_bytes()])
    held.append(session)
took = []
for _ in range(200):
    began = time.perf_counter()
    said = held[0].run(None, feed)
    took.append(time.perf_counter() - began)
before = device.own_bytes()
other = threading.Thread(target=held[0].run, args=(None, feed))
other.start()
other.join()
of_a_thread = device.own_bytes() - before
processor = onnxruntime.InferenceSession(sys.argv[2], providers=["CPUExecutionProvider"]).run(None, feed)
figures = {"providers": held[0].get_providers(), "bytes_made_and_run": bytes_after, "run_64_s": sorted(took)[100]}
figures |= {"another_thread_bytes": of_a_thread, "difference": float(abs(said[0] - processor[0]).max())}
print(json.dumps(figures))
"""


def variants(bench: Bench) -> Figures:
    """What each session takes with other options, each in a process of its own."""
    network = models.network(bench.folder / "variants" / "model.onnx", 4 * MIB)
    for name, (options, environment) in VARIANTS.items() if not bench.simulated else ():
        ran = subprocess.run(
            [sys.executable, "-c", VARIANT, bench.asked, str(network), json.dumps(options)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        yield name, json.loads(ran.stdout.splitlines()[-1]) if not ran.returncode else ran.stderr[-600:]
