"""The Open Inference Protocol in JSON, as more than one peer speaks it: a row, and the number of its answer."""

import json
from pathlib import Path

from benchmarks import client, scene

JSON = {"content-type": "application/json"}
ROW = [float(cell) for cell in scene.ROW.split(b",")]
INPUT = {"name": "rows", "shape": [1, scene.COLUMNS], "datatype": "FP32", "data": ROW}
BODY = json.dumps({"inputs": [INPUT]}).encode()


def request(model: str) -> bytes:
    """One prediction for `scene.ROW`."""
    return client.request(f"/v2/models/{stem(model)}/infer", JSON, BODY)


def load(model: str) -> bytes:
    """Of the protocol's extension for repositories."""
    return client.request(f"/v2/repository/models/{stem(model)}/load", JSON, b"")


def said(body: bytes) -> float:
    return float(json.loads(body)["outputs"][0]["data"][0])


def stem(model: str) -> str:
    """A model's name there."""
    return Path(model).name.removesuffix(".tar.gz")
