"""Small artifacts for live tests: trained once, written as the files that a user would upload."""

import io
import tarfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import xgboost

COLUMNS = 4
ROW = b"1,2,3,4"


@cache
def booster(factor: float = 1.0) -> bytes:
    """An XGBoost model, as `model.json`, of 5 trees on 50 rows. Another factor gives other answers."""
    rows = np.random.default_rng(7).normal(size=(50, COLUMNS)).astype(np.float32)
    target = factor * (rows @ np.arange(1.0, COLUMNS + 1))
    trained = xgboost.train({"max_depth": 2, "nthread": 1}, xgboost.DMatrix(rows, target, nthread=1), 5)
    return bytes(trained.save_raw("json"))


def predicted(factor: float = 1.0) -> float:
    """That model's answer to ROW."""
    model = xgboost.Booster(model_file=bytearray(booster(factor)))
    row = np.array([[float(cell) for cell in ROW.split(b",")]], dtype=np.float32)
    return float(model.predict(xgboost.DMatrix(row, nthread=1))[0])


def packed(members: Mapping[str, bytes | str], mode: str = "w:gz") -> bytes:
    """A tar of these files, by name."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as tar:  # type: ignore[call-overload]  # the mode is a variable
        for name, content in members.items():
            body = content.encode() if isinstance(content, str) else content
            entry = tarfile.TarInfo(name)
            entry.size = len(body)
            tar.addfile(entry, io.BytesIO(body))
    return packed.getvalue()


def script(source: str) -> bytes:
    """The artifact of a user script that needs no model file."""
    return packed({"code/inference.py": source})


def put(folder: Path, objects: Mapping[str, bytes]) -> None:
    """Writes objects, by key, into a bucket's folder."""
    for key, body in objects.items():
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
