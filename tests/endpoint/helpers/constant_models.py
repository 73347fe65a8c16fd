"""Models that each answer one number, so that a test sees which model answered."""

import gzip
import io
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import joblib
import numpy as np
from botocore.exceptions import ClientError
from sklearn.dummy import DummyRegressor

from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.endpoint.helpers.model_artifacts import packed, script

MIB = 1024 * 1024

SLEEPER = """
import time
def model_fn(model_dir): return None
def predict_fn(data, model): time.sleep(float(data[0][0])); return data
"""


LEAF = """{"learner": {"attributes": {}, "feature_names": [], "feature_types": [], "gradient_booster": {"model": {
  "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": "1"}, "iteration_indptr": [0, 1], "tree_info": [0],
  "trees": [{"base_weights": [0E0], "categories": [], "categories_nodes": [], "categories_segments": [],
    "categories_sizes": [], "default_left": [0], "id": 0, "left_children": [-1], "loss_changes": [0E0],
    "parents": [2147483647], "right_children": [-1], "split_conditions": [NUMBER], "split_indices": [0],
    "split_type": [0], "sum_hessian": [1E0],
    "tree_param": {"num_deleted": "0", "num_feature": "1", "num_nodes": "1", "size_leaf_vector": "1"}}]},
  "name": "gbtree"}, "learner_model_param": {"base_score": "[0E0]", "boost_from_average": "0", "num_class": "0",
  "num_feature": "1", "num_target": "1"},
  "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}}}, "version": [3, 2, 0]}"""
"""XGBoost's own file of one tree, which is a leaf."""


def constant(number: float) -> bytes:
    """A booster of one leaf that answers `number` to every row. Its instance imports no framework: scikit-learn's own
    imports take three seconds of a processor, in each zygote anew."""
    return packed({"model.json": LEAF.replace("NUMBER", f"{number:E}").encode()}, "w")


def heavy_constant(number: float, ballast_bytes: int) -> bytes:
    """A scikit-learn model that answers `number` to every row, and holds that much memory."""
    model = DummyRegressor(strategy="constant", constant=number).fit([[0.0]], [number])
    model.ballast_ = np.random.default_rng(int(number)).bytes(ballast_bytes)
    file = io.BytesIO()
    joblib.dump(model, file)
    return packed({"model.joblib": file.getvalue()}, "w")


def constant_gz(number: float) -> bytes:
    """As `constant`, in an archive whose checksum shows any other byte."""
    return gzip.compress(constant(number), mtime=0)


def sleeper() -> bytes:
    """A script that takes as long as its input says, in seconds, and answers with it."""
    return script(SLEEPER)


def number_of(answer: Any) -> float:
    return float(answer["Body"].decode().strip().strip("[]"))


@dataclass
class Traffic:
    """The answers and errors of callers who never stop, by code."""

    right: int = 0
    wrong: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    slowest_s: float = 0.0

    def call(self, live: LiveEndpoint, endpoint: str, model: str, expected: float) -> None:
        began_s = time.monotonic()
        try:
            answer = number_of(live.invoke(endpoint, b"1", TargetModel=model))
        except ClientError as error:
            self.errors.append(error.response["Error"]["Code"])
        else:
            self.right += answer == expected
            self.wrong += [f"{model} answered {answer}"] * (answer != expected)
        self.slowest_s = max(self.slowest_s, time.monotonic() - began_s)


@contextmanager
def traffic(live: LiveEndpoint, endpoint: str, models: dict[str, float], callers: int = 4) -> Iterator[Traffic]:
    """Lets this many callers call one model after the other, for as long as the block lasts."""
    seen, over = Traffic(), Event()

    def caller(first: int) -> None:
        turn = first
        while not over.is_set():
            model = sorted(models)[turn % len(models)]
            seen.call(live, endpoint, model, models[model])
            turn += 7  # a prime: each caller comes to all models, each in its own order

    with ThreadPoolExecutor(callers) as threads:
        calls = [threads.submit(caller, number) for number in range(callers)]
        try:
            yield seen
        finally:
            over.set()
            for call in calls:
                call.result(90.0)
