"""LightGBM's text models in an artifact: found by content, served without LightGBM, refused with a reason."""

import json
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import lightgbm
import numpy as np
import pytest
import scipy.sparse

from tests.container.formats.test_learned_columns import CSV, FIVE, FRAME, HEADED, JSON, ONE, PRICES, check
from tests.container.helpers.lightgbm_models import QUIET, predicted, telling_rows, trained
from tests.container.helpers.served_models import load
from torpor_container.errors import BadInput, LoadFailed
from torpor_container.invocation import Invocation
from torpor_container.trees import lightgbm_text, walking


def booster(**parameters: object) -> lightgbm.Booster:
    return lightgbm.train({**QUIET, **parameters}, lightgbm.Dataset(FRAME[["sqft", "beds"]], PRICES), 5)


@pytest.mark.parametrize("name", ["model.txt", "model.lgb", "model.model", "lightgbm", "model.json"])
def test_a_text_model_is_found_by_its_content(tmp_path: Path, name: str) -> None:
    booster().save_model(tmp_path / name)
    (tmp_path / "requirements.txt").write_text("numpy\n")
    assert load(tmp_path).format == "lightgbm"


def test_it_is_served_without_lightgbm(tmp_path: Path) -> None:
    booster().save_model(tmp_path / "model.txt")
    program = f"""
import sys
sys.modules["lightgbm"] = None
from pathlib import Path
from torpor_container.formats import Conventions, detect
from torpor_container.invocation import Invocation
known, path = detect(Path({str(tmp_path)!r}))
print(known.load(path, Conventions()).invoke(Invocation(b"0.5,2", "text/csv", "application/json")).body.decode())
print("sklearn" in sys.modules, "xgboost" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    answer, imported = ran.stdout.splitlines()
    assert json.loads(answer) == predicted(booster(), [[0.5, 2.0]]).tolist()
    assert imported == "False False"


@pytest.mark.parametrize("name", ["regression", "multiclass", "binary", "random forest"])
def test_answers_are_those_of_lightgbm_to_the_bit(tmp_path: Path, name: str) -> None:
    (tmp_path / "model.txt").write_text(trained(name))
    rows = telling_rows(lightgbm_text.read(trained(name).encode()))
    body = BytesIO()
    np.save(body, rows)
    reply = load(tmp_path).invoke(Invocation(body.getvalue(), "application/x-npy", "application/x-npy"))
    np.testing.assert_array_equal(np.load(BytesIO(reply.body)), predicted(trained(name), rows))


def test_the_cells_that_a_sparse_row_leaves_out_are_zeros(tmp_path: Path) -> None:
    (tmp_path / "model.txt").write_text(trained("zero is missing"))
    rows = np.where(np.random.default_rng(5).random((200, 6)) < 0.3, 1.5, 0.0)
    expected = predicted(trained("zero is missing"), rows)
    body = BytesIO()
    scipy.sparse.save_npz(body, scipy.sparse.csr_matrix(rows))
    svm = "\n".join("0 " + " ".join(f"{at}:{cell}" for at, cell in enumerate(row) if cell) for row in rows.tolist())
    for sent, content_type in ((body.getvalue(), "application/x-npz"), (svm.encode(), "text/libsvm")):
        reply = load(tmp_path).invoke(Invocation(sent, content_type, "application/x-npy"))
        np.testing.assert_array_equal(np.load(BytesIO(reply.body)), expected)


def test_columns_go_by_the_names_it_was_trained_with(tmp_path: Path) -> None:
    trained = booster()
    trained.save_model(tmp_path / "model.txt")
    model, right = load(tmp_path), predicted(trained, [[0.5, 2.0]]).tolist()
    for body, content_type in ((b'[{"beds": 2, "sqft": 0.5}]', JSON), (b"beds,sqft\n2,0.5\n", HEADED), (b"0.5,2", CSV)):
        assert json.loads(model.invoke(Invocation(body, content_type, JSON)).body) == right
    with pytest.raises(BadInput, match="unknown: rooms; missing: beds"):
        model.invoke(Invocation(b'[{"rooms": 2, "sqft": 0.5}]', JSON, JSON))


def test_categories_of_pandas_are_taken_as_they_were_learned(tmp_path: Path) -> None:
    trained = lightgbm.train({**QUIET, "min_data_in_leaf": 3}, lightgbm.Dataset(FRAME, PRICES), 8)
    trained.save_model(tmp_path / "model.txt")
    check(load(tmp_path), predicted(trained, FIVE), float(predicted(trained, ONE)[0]))


def test_linear_trees_are_refused_by_name(tmp_path: Path) -> None:
    booster(linear_tree=True).save_model(tmp_path / "model.txt")
    with pytest.raises(LoadFailed, match=r"^model.txt is not a model .* tree 0 is linear: .*\(linear_tree\)"):
        load(tmp_path)


def test_without_the_extension_the_load_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    booster().save_model(tmp_path / "model.txt")
    monkeypatch.setattr(walking, "extension", lambda: None)
    with pytest.raises(LoadFailed, match="served by Torpor's C extension, which was not built"):
        load(tmp_path)
