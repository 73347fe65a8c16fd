"""Which artifacts local files and folders become."""

import tarfile
from pathlib import Path

import pytest

from torpor.errors import TorporError
from torpor.uploads.artifact_sources import find, packed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two bare models, an artifact, a folder with a script, and files that are no models."""
    for name in ("City.onnx", "texas/xgboost-model", "texas/Austin.tar.gz", "README.md", ".hidden/a.onnx"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"1")
    (tmp_path / "scripted/code/__pycache__").mkdir(parents=True)
    (tmp_path / "scripted/code/inference.py").write_text("def model_fn(folder): return 1\n")
    (tmp_path / "scripted/code/__pycache__/inference.pyc").write_bytes(b"1")
    (tmp_path / "scripted/weights.bin").write_bytes(b"1")
    return tmp_path


def keys(*paths: Path, name: str | None = None) -> list[str]:
    return [one.key for one in find(paths, name).artifacts]


def test_a_folder_is_searched_at_any_depth(folder: Path) -> None:
    found = find([folder])
    expected = ["City.tar.gz", "scripted.tar.gz", "texas/Austin.tar.gz", "texas/xgboost-model.tar.gz"]
    assert [one.key for one in found.artifacts] == expected
    assert found.skipped == (folder / "README.md",)


def test_a_file_and_a_folder_with_a_script_have_the_key_of_their_names(folder: Path) -> None:
    assert keys(folder / "City.onnx", folder / "scripted") == ["City.tar.gz", "scripted.tar.gz"]
    assert keys(folder / "City.onnx", name="Town.tar.gz") == ["Town.tar.gz"]


def test_a_folder_with_a_script_is_packed_with_all_its_files(folder: Path, tmp_path: Path) -> None:
    [scripted] = find([folder / "scripted"]).artifacts
    with tarfile.open(packed(scripted, tmp_path / "out")) as archive:
        assert archive.getnames() == ["code/inference.py", "weights.bin"]


def test_an_archive_is_taken_as_it_is_and_a_model_is_packed(folder: Path, tmp_path: Path) -> None:
    city, _, austin, _ = find([folder]).artifacts
    assert packed(austin, tmp_path / "out") == folder / "texas/Austin.tar.gz"
    with tarfile.open(packed(city, tmp_path / "out")) as archive:
        assert archive.getnames() == ["City.onnx"]


@pytest.mark.parametrize(
    ("names", "key", "said"),
    [
        (["gone.onnx"], None, "gone.onnx: there is no such file"),
        (["README.md"], None, "README.md is no model: model files are xgboost-model, "),
        (["scripted/code"], None, "code has no model"),
        (["City.onnx", "texas/Austin.tar.gz"], "a.tar.gz", "a.tar.gz is the key of one model, and there are 2"),
        (["City.onnx", "City.json"], None, "would both be City.tar.gz: rename one of them"),
    ],
)
def test_what_cannot_be_uploaded_is_refused_with_the_reason(
    folder: Path, names: list[str], key: str | None, said: str
) -> None:
    (folder / "City.json").write_text("{}")
    with pytest.raises(TorporError, match=said):
        find([folder / name for name in names], key)
