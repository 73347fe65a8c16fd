"""What is said of artifacts before they are uploaded: which would not load, and why. No code of theirs runs."""

import io
import json
import tarfile
from pathlib import Path

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
    ],
)
def test_what_would_not_load_is_refused_with_the_reason(tmp_path: Path, make: object, said: str) -> None:
    found = inspect(make(tmp_path / "model.tar.gz"))  # type: ignore[operator]  # a function from a path to a path
    assert found.refused is not None
    assert said in found.refused


def test_each_line_is_answered_by_one(tmp_path: Path) -> None:
    lines = list(answers(iter([f"{tmp_path / 'gone'}\n", f"{tmp_path / 'away'}\n"])))
    assert ["No such file" in json.loads(line)["refused"] for line in lines] == [True, True]
