"""The archives of `torpor.bundle`, before an endpoint serves them."""

import tarfile
from pathlib import Path

import pytest

import torpor
from tests.sdk.helpers.small_models import train_booster, train_linear


def names(artifact: Path) -> list[str]:
    with tarfile.open(artifact) as archive:
        return archive.getnames()


@pytest.mark.parametrize("train", [train_booster, train_linear])
def test_the_same_model_makes_the_same_bytes(train, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    model = train()
    first, second = torpor.bundle(model, tmp_path / "a.tar.gz"), torpor.bundle(model, tmp_path / "deeper" / "b.tar.gz")
    assert first.read_bytes() == second.read_bytes()


def test_a_script_and_its_code_go_beside_the_model(tmp_path: Path) -> None:
    code = tmp_path / "code"
    (code / "__pycache__").mkdir(parents=True)
    (code / "__pycache__" / "x.pyc").write_bytes(b"")
    (code / "features.py").write_text("SCALE = 2\n")
    (tmp_path / "serve.py").write_text("def model_fn(folder): ...\n")
    artifact = torpor.bundle(train_linear(), tmp_path / "m.tar.gz", script=tmp_path / "serve.py", code=code)
    assert names(artifact) == ["code/features.py", "code/inference.py", "model.joblib"]


def test_a_model_file_keeps_its_name(tmp_path: Path) -> None:
    train_booster().save_model(tmp_path / "booster.ubj")
    assert names(torpor.bundle(tmp_path / "booster.ubj", tmp_path / "m.tar.gz")) == ["booster.ubj"]


def test_a_text_file_is_a_model_if_it_begins_as_lightgbms(tmp_path: Path) -> None:
    (tmp_path / "model.txt").write_text("tree\nversion=v4\nnum_class=1\n")
    assert names(torpor.bundle(tmp_path / "model.txt", tmp_path / "m.tar.gz")) == ["model.txt"]
    (tmp_path / "README.txt").write_text("how the model was trained\n")
    with pytest.raises(TypeError, match=r"README\.txt does not have the suffix of a model file"):
        torpor.bundle(tmp_path / "README.txt", tmp_path / "m.tar.gz")


@pytest.mark.parametrize("model", [object(), 5, b"no model"])
def test_an_object_that_is_no_model_is_refused_with_the_list_of_models(model: object, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"xgboost\.Booster.*scikit-learn.*ONNX.*\.joblib"):
        torpor.bundle(model, tmp_path / "m.tar.gz")
    assert list(tmp_path.iterdir()) == []


def test_nothing_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="neither a model nor a script"):
        torpor.bundle(None, tmp_path / "m.tar.gz")


def test_an_artifact_that_can_not_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        torpor.bundle(train_linear(), tmp_path / "folder")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_an_artifact_is_replaced_whole(tmp_path: Path) -> None:
    path = torpor.bundle(train_linear(), tmp_path / "m.tar.gz")
    assert torpor.bundle(train_booster(rounds=2), path) == path
    assert names(path) == ["xgboost-model"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.tar.gz"]


def test_a_path_that_is_no_models_names_itself_and_the_suffixes(tmp_path: Path) -> None:
    with pytest.raises(
        TypeError, match=r"^doc\.py does not have the suffix of a model file: .*xgboost-model, \*\.onnx"
    ):
        torpor.bundle("doc.py", tmp_path / "m.tar.gz")


def test_any_file_goes_with_the_script_that_reads_it(tmp_path: Path) -> None:
    (tmp_path / "vectors.kv").write_bytes(b"\x00vectors")
    (tmp_path / "serve.py").write_text("def model_fn(folder): ...\n")
    artifact = torpor.bundle(tmp_path / "vectors.kv", tmp_path / "m.tar.gz", script=tmp_path / "serve.py")
    assert names(artifact) == ["code/inference.py", "vectors.kv"]


def test_any_file_goes_with_a_folder_of_code_that_has_the_script(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "inference.py").write_text("def model_fn(folder): ...\n")
    (tmp_path / "weights").write_bytes(b"w")
    assert "weights" in names(torpor.bundle(tmp_path / "weights", tmp_path / "m.tar.gz", code=tmp_path / "code"))


def test_an_object_that_is_no_model_is_refused_also_beside_a_script(tmp_path: Path) -> None:
    (tmp_path / "serve.py").write_text("def model_fn(folder): ...\n")
    with pytest.raises(TypeError, match="is not one of"):
        torpor.bundle(object(), tmp_path / "m.tar.gz", script=tmp_path / "serve.py")


def test_code_that_answers_nothing_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "more.py").write_text("")
    with pytest.raises(FileNotFoundError, match=r"code has no inference\.py, and no model is given"):
        torpor.bundle(None, tmp_path / "m.tar.gz", code=tmp_path / "code")
