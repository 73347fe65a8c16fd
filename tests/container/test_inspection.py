"""What is said of artifacts before they are uploaded: which would not load, and why. No code of theirs runs."""

import io
import json
import pickle
import tarfile
from pathlib import Path

import joblib
import numpy as np
import pytest
import xgboost
from sklearn.linear_model import LinearRegression

import torpor
from torpor_container.inspection import answers, inspect


def packed(path: Path, **members: bytes) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


def scripted(path: Path, source: str) -> Path:
    return packed(path, **{"code/inference.py": source.encode()})


def test_models_that_load_are_named_by_their_format(tmp_path: Path) -> None:
    rows, values = np.random.default_rng(0).random((20, 3)), np.arange(20.0)
    booster = xgboost.train({}, xgboost.DMatrix(rows, values), num_boost_round=2)
    torpor.bundle(booster, tmp_path / "a.tar.gz")
    torpor.bundle(LinearRegression().fit(rows, values), tmp_path / "b.tar.gz")
    scripted(tmp_path / "c.tar.gz", "raise SystemExit('this ran')\n")
    found = [inspect(tmp_path / name) for name in ("a.tar.gz", "b.tar.gz", "c.tar.gz")]
    assert [(one.format, one.refused) for one in found] == [("xgboost", None), ("scikit-learn", None), ("script", None)]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: packed(path, **{"model.onnx": b"\x08garbage" * 30}), "model.onnx"),
        (lambda path: packed(path, **{"notes.txt": b"hello"}), "no model file of a known format"),
        (lambda path: path.write_bytes(b"nope") and path, "neither a gzip file nor a tar archive"),
        (lambda path: scripted(path, "def model_fn(d: return 1\n"), "code/inference.py, line 1: "),
        (lambda path: packed(path, **{"../out": b"1"}), "out"),
        (lambda path: packed(path, **{"m.pkl": b"x\n"}), "m.pkl is named as a pickle or a skops file, and is neither"),
        (
            lambda path: packed(path, **{"m.joblib": b""}),
            "m.joblib is named as a pickle or a skops file, and is neither",
        ),
        (lambda path: packed(path, **{"m.pkl": pickle.dumps({"a": 1})}), "m.pkl holds a list, a dict or the like"),
        (lambda path: packed(path, **{"m.skops": b"PK"}), "m.skops is named as a pickle or a skops file"),
    ],
)
def test_what_would_not_load_is_refused_with_the_reason(tmp_path: Path, make: object, said: str) -> None:
    found = inspect(make(tmp_path / "model.tar.gz"))  # type: ignore[operator]  # a function from a path to a path
    assert found.refused is not None
    assert said in found.refused


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("compress", [0, 3, ("gzip", 3), ("bz2", 3)], ids=str)
def test_an_estimator_passes_however_it_was_written(tmp_path: Path, protocol: int, compress: object) -> None:
    fitted = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    (tmp_path / "plain.pkl").write_bytes(pickle.dumps(fitted, protocol))
    joblib.dump(fitted, tmp_path / "packed.joblib", compress, protocol)
    assert [inspect(tmp_path / name).refused for name in ("plain.pkl", "packed.joblib")] == [None, None]


def test_each_line_is_answered_by_one(tmp_path: Path) -> None:
    lines = list(answers(iter([f"{tmp_path / 'gone'}\n", f"{tmp_path / 'away'}\n"])))
    assert ["No such file" in json.loads(line)["refused"] for line in lines] == [True, True]
