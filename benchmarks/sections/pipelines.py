"""What an inference pipeline costs beside its parts: two boosters alone, and the same two in a row, in turn.

The second booster reads the one number that the first one answers.
"""

from pathlib import Path

import numpy as np
import xgboost

from benchmarks import client, scene
from benchmarks.live import CSV, Live, Serve
from benchmarks.measure import Figures, Target, agree, figures, spread, warm
from benchmarks.own_answers import make_models
from benchmarks.sizes import Sizes

FIRST, SECOND, PIPELINE = "the first alone", "the second alone", "both in a row"
NUMBER = b"0.5"


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    artifacts = folder / "artifacts"
    ((first, said),) = make_models(artifacts, 1).items()
    second = _second(artifacts)
    with live() as running:
        running.link(artifacts)
        targets = [
            _target(running, FIRST, scene.ROW, said, first),
            _target(running, SECOND, NUMBER, _answer(second, float(NUMBER)), "second.json"),
            _target(running, PIPELINE, scene.ROW, _answer(second, said), first, "second.json"),
        ]
        agree(targets)
        return [row for connections in sizes.connections for row in _measured(targets, connections, sizes)]


def _second(folder: Path) -> xgboost.Booster:
    """A booster of one column, as large as the first one."""
    column = np.random.default_rng(8).normal(size=(2000, 1))
    matrix = xgboost.DMatrix(column, np.sin(column[:, 0]), nthread=1)
    booster = xgboost.train({"max_depth": 6, "nthread": 1}, matrix, num_boost_round=100)
    booster.save_model(folder / "second.json")
    return booster


def _answer(booster: xgboost.Booster, number: float) -> float:
    row = np.array([[number]], np.float32)
    return float(booster.inplace_predict(row, validate_features=False)[0])


def _target(running: Live, name: str, body: bytes, answer: float, *keys: str) -> Target:
    endpoint = name.replace(" ", "-")
    running.deploy_containers(endpoint, keys)
    path = f"/endpoints/{endpoint}/invocations"
    request = client.request(path, CSV, body)
    return Target(name, running.address, [request], [answer], running.pids)


def _measured(targets: list[Target], connections: int, sizes: Sizes) -> list[Figures]:
    turns = warm(targets, (), connections, sizes.turn_s, sizes.rounds)
    parts_us = [one.cpu_us + two.cpu_us for one, two in zip(turns[FIRST], turns[SECOND], strict=True)]
    more_us = [both.cpu_us - parts for both, parts in zip(turns[PIPELINE], parts_us, strict=True)]
    beside = {FIRST: {}, SECOND: {}, PIPELINE: spread("more_than_parts_us", more_us)}
    return [{"what": name, "connections": connections, **figures(seen), **beside[name]} for name, seen in turns.items()]
