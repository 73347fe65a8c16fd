"""Models that each answer with a number of their own, so that a right answer can be told from another model's."""

import io
import json
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import xgboost

import torpor
from benchmarks import scene

SCRIPT = """
def model_fn(model_dir): return {number}
def predict_fn(data, model): return [[model]]
"""


def make_models(folder: Path, count: int) -> dict[str, float]:
    """The model of every measurement, with leaves of its own under each of `count` names: what each says to the row."""
    folder.mkdir(parents=True)
    (common,) = scene.make_models(folder, 1)
    with tarfile.open(folder / common) as archive:
        member = archive.extractfile("xgboost-model")
        assert member is not None
        trained = xgboost.Booster(model_file=bytearray(member.read()))
    (folder / common).unlink()
    grown = json.loads(trained.save_raw("json"))
    answers: dict[str, float] = {}
    for number in range(count):
        booster = _scaled(grown, 1 + number / 8)
        name = f"own-{number}.tar.gz"
        torpor.bundle(booster, folder / name)
        answers[name] = _said(booster)
    return answers


def _scaled(grown: dict[str, Any], factor: float) -> xgboost.Booster:
    """The same trees with every leaf multiplied."""
    trees = grown["learner"]["gradient_booster"]["model"]["trees"]
    scaled = [{**tree, "split_conditions": list(_leaves(tree, factor))} for tree in trees]
    ...
