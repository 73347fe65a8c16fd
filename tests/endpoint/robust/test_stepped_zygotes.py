"""A zygote has what an endpoint's models needed so far; what needs more is served all the same, and is remembered."""

import io
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import xgboost
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.endpoint.helpers import endpoint_pages
from tests.endpoint.helpers.constant_models import number_of
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, predicted, put, script
from tests.helpers.processes import children, gone
from tests.helpers.waiting import soon

SERVERLESS = {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 100}}
TOLD = """
import sklearn, xgboost
def model_fn(model_dir): return None
def transform_fn(model, body, content_type, accept):
    return str(int(issubclass(xgboost.XGBClassifier, sklearn.base.BaseEstimator))), "text/csv"
"""


def wrapped() -> tuple[bytes, float]:
    """A pickled pipeline that ends in XGBoost's estimator, and its answer to ROW."""
    rows = np.random.default_rng(3).normal(size=(60, 4))
    model = make_pipeline(StandardScaler(), xgboost.XGBRegressor(n_estimators=3, max_depth=2)).fit(rows, rows[:, 0])
    file = io.BytesIO()
    joblib.dump(model, file)
    row = [[float(cell) for cell in ROW.split(b",")]]
    return packed({"model.joblib": file.getvalue()}), float(model.predict(np.array(row))[0])


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, mark: str) -> Iterator[LiveEndpoint]:
    """One whose zygotes may be killed."""
    with LiveEndpoint(tmp_path_factory.mktemp("steps"), frameworks=True) as live:
        yield live


def has(pid: int, package: str) -> bool:
    """Whether the process has a library of this package in its memory."""
    return f"/{package}/" in Path(f"/proc/{pid}/maps").read_text()


def zygotes(live: LiveEndpoint) -> list[int]:
    return [pid for worker in live.worker_pids() for pid in children(worker)]


def sleep_without_zygotes(live: LiveEndpoint, name: str) -> None:
    assert endpoint_pages.asleep(live, name)
    assert soon(lambda: not endpoint_pages.forked(live))
    for pid in zygotes(live):
        os.kill(pid, signal.SIGKILL)
        assert gone(pid)


def answer(live: LiveEndpoint, name: str, model: str) -> Any:
    return pytest.approx(number_of(live.invoke(name, ROW, TargetModel=model)), rel=1e-6)


@pytest.mark.thorough
def test_an_endpoint_starts_with_what_its_models_needed_and_serves_what_needs_more(own: LiveEndpoint) -> None:
    pipeline, expected = wrapped()
    boosters = {"a.tar.gz": packed({"model.json": booster()}), "b.tar.gz": packed({"model.json": booster(2.0)})}
    put(own.folder("steps"), {f"models/{name}": body for name, body in boosters.items()})
    own.deploy("steps", Variant(many("steps/models", {"TORPOR_IDLE_SECONDS": "4"}), members=SERVERLESS))
    assert answer(own, "steps", "a.tar.gz") == predicted()

    sleep_without_zygotes(own, "steps")
    assert answer(own, "steps", "b.tar.gz") == predicted(2.0)
    assert has(endpoint_pages.forked(own)[0], "xgboost")
    assert not any(has(pid, "sklearn") for pid in zygotes(own))

    put(own.folder("steps"), {"models/p.tar.gz": pipeline, "models/s.tar.gz": script(TOLD)})
    assert answer(own, "steps", "p.tar.gz") == expected  # in the instance that began without scikit-learn
    assert answer(own, "steps", "s.tar.gz") == 1.0

    sleep_without_zygotes(own, "steps")
    assert answer(own, "steps", "b.tar.gz") == predicted(2.0)
    assert has(endpoint_pages.forked(own)[0], "sklearn")
