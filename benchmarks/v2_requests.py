"""Requests of the Open Inference Protocol to an endpoint: in JSON, and with tensors in binary, as Triton sends them."""

import json
import struct
from collections.abc import Mapping

from benchmarks import client, scene
from benchmarks.live import NAME, Live
from benchmarks.measure import Target
from benchmarks.peers.open_inference import BODY, INPUT, JSON, ROW, said, stem

FLOAT = struct.Struct("<f")
TENSOR = struct.pack(f"<{scene.COLUMNS}f", *ROW)
HEAD = json.dumps(
    {
        "inputs": [
            {
                **{name: INPUT[name] for name in ("name", "shape", "datatype")},
                "parameters": {"binary_data_size": len(TENSOR)},
            }
        ],
        "parameters": {"binary_data_output": True},
    }
).encode()
BINARY = {"content-type": "application/octet-stream", "inference-header-content-length": str(len(HEAD))}


def in_json(running: Live, name: str, expected: Mapping[str, float]) -> Target:
    """The endpoint's port as a target, with requests in JSON."""
    requests = [client.request(_path(model), JSON, BODY) for model in expected]
    return Target(name, running.address, requests, list(expected.values()), running.pids, said)


def in_binary(running: Live, name: str, expected: Mapping[str, float]) -> Target:
    """The endpoint's port as a target, with tensors in binary both ways."""
    requests = [client.request(_path(model), BINARY, HEAD + TENSOR) for model in expected]
    return Target(name, running.address, requests, list(expected.values()), running.pids, _last)


def _path(model: str) -> str:
    return f"/v2/endpoints/{NAME}/models/{stem(model)}/infer"


def _last(body: bytes) -> float:
    """The one number of the tensor at the end."""
    (number,) = FLOAT.unpack(body[-FLOAT.size :])
    return float(number)
