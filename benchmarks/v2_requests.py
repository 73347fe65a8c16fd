"""Requests of the Open Inference Protocol to an endpoint: in JSON, and with tensors in binary, as Triton sends them."""

import json
import struct
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchmarks import client, scene
from benchmarks.live import NAME, TARGET, Live
from benchmarks.measure import Target
from benchmarks.peers.open_inference import BODY, INPUT, JSON, ROW, said, stem
from torpor_container.core.protocols.protocol_types import HEADER_SIZE, MODEL_NAME, TENSORS

FLOAT = struct.Struct("<f")
TENSOR = struct.pack(f"<{scene.COLUMNS}f", *ROW)
MEMBERS = {
    "inputs": [
        {
            **{name: INPUT[name] for name in ("name", "shape", "datatype")},
            "parameters": {"binary_data_size": len(TENSOR)},
        }
    ],
    "parameters": {"binary_data_output": True},
}
IDS = 4_096
"""So many ids come in turn: more than anybody remembers."""


def in_json(running: Live, name: str, expected: Mapping[str, float]) -> Target:
    """The endpoint's port as a target, with requests in JSON."""
    requests = [client.request(_path(model), JSON, BODY) for model in expected]
    return Target(name, running.address, requests, list(expected.values()), running.pids, said)


def in_binary(running: Live, name: str, expected: Mapping[str, float], ids: int = 0) -> Target:
    """The endpoint's port as a target, with tensors in binary both ways; with so many ids, if they have any."""
    members = [MEMBERS] if not ids else [{"id": str(number), **MEMBERS} for number in range(ids)]
    requests = [_request(_path(model), one) for one in members for model in expected]
    return Target(name, running.address, requests, list(expected.values()) * len(members), running.pids, _last)


def at_the_instance(running: Live, name: str, expected: Mapping[str, float]) -> Target:
    """The only instance as a target, with the same tensors as the endpoint hands them to it."""
    alone = running.direct(name, expected)
    head = json.dumps(MEMBERS).encode()
    kind = {"content-type": f"{TENSORS};{HEADER_SIZE}={len(head)};{MODEL_NAME}=m", "accept": TENSORS}
    requests = [client.request("/invocations", {**kind, TARGET: model}, head + TENSOR) for model in expected]
    return replace(alone, requests=requests, said=_last)


def _request(path: str, members: Mapping[str, Any]) -> bytes:
    head = json.dumps(members).encode()
    headers = {"content-type": "application/octet-stream", "inference-header-content-length": str(len(head))}
    return client.request(path, headers, head + TENSOR)


def _path(model: str) -> str:
    return f"/v2/endpoints/{NAME}/models/{stem(model)}/infer"


def _last(body: bytes) -> float:
    """The one number of the tensor at the end."""
    (number,) = FLOAT.unpack(body[-FLOAT.size :])
    return float(number)
