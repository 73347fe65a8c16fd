"""Models that each answer with a number of their own, so that a right answer can be told from another model's."""

import io
import json
import tarfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import xgboost

import torpor
from benchmarks.scene import COLUMNS, ROW

SCRIPT = """
def model_fn(model_dir): return {number}
def predict_fn(data, model): return [[model]]
"""


def make_models(folder: Path, count: int) -> dict[str, float]:
    """Small XGBoost models (100 trees, depth 6, 6 columns), each trained by itself: what each says to `scene.ROW`."""
    random = np.random.default_rng(7)
    rows = random.normal(size=(2000, COLUMNS))
    answers: dict[str, float] = {}
    for number in range(count):
        label = rows @ random.normal(size=COLUMNS) + number
        matrix = xgboost.DMatrix(rows, label, nthread=1)
        booster = xgboost.train({"max_depth": 6, "nthread": 1}, matrix, num_boost_round=100)
        name = f"own-{number}.tar.gz"
        torpor.bundle(booster, folder / name)
        answers[name] = said(booster)
    return answers


def said(booster: xgboost.Booster) -> float:
    """What it says to `scene.ROW`."""
    row = np.array(ROW.split(b","), np.float32).reshape(1, -1)
    return float(booster.inplace_predict(row, validate_features=False)[0])


def is_right(body: bytes, expected: float) -> bool:
    """Single precision, as text and back."""
    return abs(number_in(body) - expected) <= 1e-5 * max(1.0, abs(expected))


def number_in(body: bytes) -> float:
    """The one number of an answer, as CSV or as JSON."""
    return float(body.strip().strip(b"[]"))


def saying(number: int, *, script: bool = False) -> bytes:
    """The artifact of a model that answers this number to every row: a booster, or a user script."""
    members = (
        {"code/inference.py": SCRIPT.format(number=number).encode()} if script else {"model.json": _booster(number)}
    )
    return _packed(members)


def _booster(number: int) -> bytes:
    """Trees that say nothing, on top of the number."""
    grown = json.loads(_silent())
    grown["learner"]["learner_model_param"]["base_score"] = f"[{number}]"
    return json.dumps(grown).encode()


@cache
def _silent() -> bytes:
    matrix = xgboost.DMatrix(np.zeros((2, COLUMNS)), np.zeros(2), nthread=1)
    return bytes(xgboost.train({"max_depth": 2, "nthread": 1, "base_score": 0.0}, matrix, 2).save_raw("json"))


def _packed(members: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
