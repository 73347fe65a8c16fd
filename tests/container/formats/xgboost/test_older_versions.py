"""Models of old versions of XGBoost: an older XGBoost converts each once, in a process of its own.

`old_models/` holds what XGBoost 0.90 and 1.2.0 themselves wrote, trained on 200 rows of three columns; the predictions
below are theirs.
"""

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.thorough_values import thorough
from torpor_container.errors import LoadFailed, LoadOutOfMemory
from torpor_container.formats import Conventions, ServableModel, detect
from torpor_container.formats.xgboost import older_versions
from torpor_container.invocation import Invocation

SAVED = Path(__file__).parent / "old_models"
ROWS = b"0.5,-1.0,0.25\n2.0,1.0,0.0"
BOOSTER = [0.5834860801696777, 0.6865758895874023]
CLASSIFIER = [
    [0.29362133145332336, 0.3329048752784729, 0.3734738230705261],
    [0.2451845407485962, 0.31330862641334534, 0.44150683283805847],
]
installed = pytest.mark.skipif(
    not (older_versions.FOLDER / "xgboost").is_dir(), reason="the older XGBoost is not installed: `make setup` does it"
)


def placed(folder: Path, name: str, saved: str) -> Path:
    """An unpacked artifact, as it lies on disk."""
    directory = folder / "version" / "model"
    directory.mkdir(parents=True)
    shutil.copy(SAVED / saved, directory / name)
    return directory


def load(directory: Path, conventions: Conventions = Conventions()) -> ServableModel:  # noqa: B008  frozen
    known, path = detect(directory)
    return known.load(path, conventions)


@installed
@pytest.mark.parametrize(
    ("name", "saved", "expected"),
    [
        ("xgboost-model", "booster-0.90.pkl", BOOSTER),
        *thorough(("xgboost-model", "booster-0.90.model", BOOSTER), ("booster.pkl", "booster-1.2.0.pkl", BOOSTER)),
        ("model.joblib", "classifier-1.2.0.pkl", CLASSIFIER),
    ],
)
def test_an_old_model_gives_the_answers_of_its_own_version(
    tmp_path: Path, name: str, saved: str, expected: Any
) -> None:
    model = load(placed(tmp_path, name, saved))
    assert json.loads(model.invoke(Invocation(ROWS, "text/csv")).body) == pytest.approx(np.array(expected), abs=1e-7)
    assert f"{name} was read by XGBoost {older_versions.OLDER}" in model.note  # type: ignore[attr-defined]
    assert str(older_versions.FOLDER) not in Path("/proc/self/maps").read_text(), "it was loaded into this process"


@installed
def test_an_old_model_is_converted_once_and_kept_beside_its_version_of_the_artifact(tmp_path: Path) -> None:
    nobody = Conventions(older_xgboost=str(tmp_path / "none"))
    directory = placed(tmp_path, "xgboost-model", "booster-0.90.model")
    first = load(directory).invoke(Invocation(ROWS, "text/csv"))
    assert (directory.parent / older_versions.KEPT / "xgboost-model" / older_versions.MODEL).is_file()
    assert load(directory, nobody).invoke(Invocation(ROWS, "text/csv")) == first
    (directory / "xgboost-model").write_bytes((SAVED / "booster-0.90.model").read_bytes() + b"another")
    with pytest.raises(LoadFailed, match="once it is installed"):
        load(directory, nobody)


@installed
def test_a_converted_model_that_predicts_differently_is_not_served(tmp_path: Path) -> None:
    directory = placed(tmp_path, "xgboost-model", "booster-0.90.model")
    load(directory)
    kept = directory.parent / older_versions.KEPT / "xgboost-model"
    with np.load(kept / older_versions.PROBE) as probe:
        np.savez(kept / older_versions.PROBE, rows=probe["rows"], predictions=probe["predictions"] + 0.01)
    with pytest.raises(LoadFailed, match=r"differ in their predictions"):
        older_versions._opened(kept, directory / "xgboost-model", "")


@pytest.mark.parametrize(
    ("saved", "reason"),
    [
        ("booster-0.90.model", r"old binary format, which XGBoost 3\.1 and later no longer read"),
        ("booster-1.2.0.pkl", r"was pickled with XGBoost 1\.5 or before"),
        ("classifier-1.2.0.pkl", r"Can't get attribute 'XGBoostLabelEncoder' on <module 'xgboost\.compat'"),
    ],
)
def test_the_error_without_an_older_xgboost_names_the_reason_and_the_command_to_install_it(
    tmp_path: Path, saved: str, reason: str
) -> None:
    directory = placed(tmp_path, saved, saved)
    with pytest.raises(LoadFailed, match=reason) as raised:
        load(directory, Conventions(older_xgboost=str(tmp_path / "none")))
    assert f"pip install --no-deps --target {tmp_path / 'none'} " in str(raised.value)
    assert "Stack trace" not in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


# -- limits ------------------------------------------------------------------------------------------------------------
class Doing:
    """Pickled, it runs this as it is read."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (self.code,)


@installed
@pytest.mark.parametrize(
    ("code", "raised", "said"),
    [
        ("import time; time.sleep(60)", LoadFailed, "did not read it within 1 s"),
        ("bytearray(2**31)", LoadOutOfMemory, "out of memory"),
        *thorough(
            ("import os; os._exit(3)", LoadFailed, "exit code 3"),
            ("1", LoadFailed, "holds an object of type NoneType, and no booster"),
        ),
    ],
)
def test_the_read_of_an_old_model_has_limits_and_harms_no_other_process(
    tmp_path: Path, code: str, raised: type[Exception], said: str
) -> None:
    path = placed(tmp_path, "m.pkl", "booster-0.90.pkl") / "m.pkl"
    path.write_bytes(pickle.dumps(Doing(code)))
    with pytest.raises(raised, match=said):
        older_versions.read(
            path, Conventions(memory_bytes=2**30), "It is old.", timeout_s=1.0 if "sleep" in code else 60.0
        )
