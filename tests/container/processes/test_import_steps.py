"""What a process imports at each step, seen in processes of its own: each begins with nothing."""

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from torpor_container.processes.import_steps import Step
from torpor_container.processes.step_record import NAME, StepRecord, recorded

ZYGOTE = """
import json, sys
from torpor_container.processes import zygote
from torpor_container.processes.import_steps import Step, reached
step = Step[sys.argv[1]]
zygote.preload(step, zygote.reach)
assert reached() is step, reached()
print(json.dumps(sorted(sys.modules)))
"""

MODULES_MAX = {Step.BARE: 701, Step.BOOSTERS: 912}
"""The most modules that a zygote imports, on Python 3.11. A start without a zygote waits for each. Sixteen of them read
and write tensors of the protocols, which every format takes; four name and update the copies of overwritten models,
five know models that need no trial by their bytes, two read a file once for proof and load, and nine are what an
instance serves by the contract, a module for each part."""

ABSENT = {
    Step.BARE: ("xgboost", "scipy", "sklearn", "pandas", "pyarrow", "joblib", "onnxruntime"),
    Step.BOOSTERS: ("sklearn", "scipy.stats", "scipy.optimize", "pandas", "pyarrow", "joblib", "onnxruntime"),
    Step.WHOLE: ("onnxruntime",),
}


def said(source: str, *arguments: object) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", source, *map(str, arguments)], capture_output=True, text=True, timeout=60.0, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "step",
    [pytest.param(step, marks=pytest.mark.thorough if step is Step.WHOLE else ()) for step in Step],
    ids=lambda step: step.name,
)
def test_a_zygote_imports_no_more_than_its_step_needs(step: Step) -> None:
    modules = said(ZYGOTE, step.name)
    assert not set(ABSENT[step]) & set(modules)
    assert len(modules) <= MODULES_MAX.get(step, len(modules))


FURTHER = """
import json, pickle, sys
from torpor_container.processes.import_steps import Step, reach, reached
folder = sys.argv[1]
reach(Step.BOOSTERS)
import numpy, xgboost
rows = numpy.load(folder + "/rows.npy")
booster = xgboost.Booster(model_file=folder + "/model.ubj")
before = booster.inplace_predict(rows).tolist()
assert "sklearn" not in sys.modules
reach(Step.WHOLE)
assert reached() is Step.WHOLE
with open(folder + "/pipeline.pkl", "rb") as file:
    pipeline = pickle.load(file)
estimator = pipeline.steps[-1][1]
from sklearn.base import BaseEstimator, clone, is_classifier
assert isinstance(estimator, BaseEstimator) and isinstance(estimator, xgboost.XGBClassifier)
assert is_classifier(estimator) and clone(estimator).fit(rows, rows[:, 0] > 0).n_classes_ == 2
after = booster.inplace_predict(rows).tolist()
print(json.dumps([before, after, pipeline.predict_proba(rows).tolist()]))
"""


@pytest.mark.thorough
def test_a_process_with_boosters_goes_on_to_all_libraries_and_answers_as_before(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    estimator = xgboost.XGBClassifier(n_estimators=3, max_depth=2)
    pipeline = make_pipeline(StandardScaler(), estimator).fit(rows, rows[:, 0] > 0)
    booster = xgboost.train({"max_depth": 2}, xgboost.DMatrix(rows, rows[:, 1]), 3)
    np.save(tmp_path / "rows.npy", rows)
    booster.save_model(tmp_path / "model.ubj")
    (tmp_path / "pipeline.pkl").write_bytes(pickle.dumps(pipeline))

    before, after, chances = said(FURTHER, tmp_path)

    assert before == after == booster.inplace_predict(rows).tolist()
    assert chances == pipeline.predict_proba(rows).tolist()


TOGETHER = """
import json, sys, threading
from torpor_container.processes.import_steps import Step, reach, reached
gate, failed = threading.Barrier(6), []
def go(step):
    gate.wait()
    try:
        reach(step)
        assert reached() >= step
    except BaseException as error:
        failed.append(repr(error))
threads = [threading.Thread(target=go, args=(step,)) for step in 2 * tuple(Step)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps([failed, reached().name]))
"""


@pytest.mark.thorough
def test_threads_that_need_different_steps_at_once_all_get_theirs() -> None:
    assert said(TOGETHER) == [[], Step.WHOLE.name]


def test_the_record_of_a_disk_is_the_highest_step_that_its_last_instance_needed(tmp_path: Path) -> None:
    assert recorded(tmp_path) is None
    for steps, expected in (
        ((), None),
        ((Step.BOOSTERS, Step.BARE), Step.BOOSTERS),
        ((Step.BARE, Step.WHOLE, Step.BOOSTERS), Step.WHOLE),
        ((), Step.WHOLE),
        ((Step.BARE,), Step.BARE),
    ):
        record = StepRecord(tmp_path)
        for step in steps:
            record.needed(step)
        assert recorded(tmp_path) is expected
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


@pytest.mark.parametrize("content", [b"", b"ALL", b"\xff\xfe", b"WHOLE\n"])
def test_a_record_that_cannot_be_read_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NAME).write_bytes(content)
    assert recorded(tmp_path) is None


def test_a_disk_that_takes_no_record_stops_nothing(tmp_path: Path) -> None:
    StepRecord(tmp_path / "missing").needed(Step.WHOLE)
