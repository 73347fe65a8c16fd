"""Which file of an artifact is the model: the written rule, case by case."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.container.helpers.script_processes import write_script
from torpor_container import formats
from torpor_container.errors import AmbiguousArtifact, LoadFailed, UnknownFormat
from torpor_container.formats import Conventions, available, detect


@pytest.mark.parametrize(
    ("others", "program", "found"),
    [
        (["model.json", "code/inference.py", "inference.py"], "", "code/inference.py"),
        (["xgboost-model", "inference.py"], "inference.py", "inference.py"),
        (["xgboost-model", "serve.py"], "serve.py", "serve.py"),
        (["model.json", "code/src/serve.py"], "src/serve.py", "code/src/serve.py"),
        (["model.json", "code/src/serve.py"], "src.serve", "code/src/serve.py"),
        (["model.json", "code/serve/__init__.py"], "serve", "code/serve/__init__.py"),
        (["model.json", "code/serve.py"], "serve.py", "code/serve.py"),
        (["model.json", "code/serve.py"], "serve", "code/serve.py"),
        (["model.json", "code/serve.py"], "", "model.json"),
        (["xgboost-model", "scaler.pkl", "model.joblib"], "", "xgboost-model"),
        (["model.joblib", "README.md", "metrics.json", "._model.joblib"], "", "model.joblib"),
        (["Model.ONNX"], "", "Model.ONNX"),
    ],
)
def test_the_model_is_the_script_then_the_canonical_name_then_the_only_file(
    tmp_path: Path, others: list[str], program: str, found: str
) -> None:
    for name in others:
        is_xgboost = name in ("model.json", "xgboost-model")
        write_script(tmp_path, '{"learner":{}}' if is_xgboost else "{}", name)
    assert detect(tmp_path, program)[1] == tmp_path / found


@pytest.mark.parametrize(
    ("others", "program", "says"),
    [
        (
            ["code/inference.py"],
            "other.py",
            r"no other\.py in code/ .* has code/inference\.py: set .* to inference\.py",
        ),
        (["inference.py"], "other.py", r"has inference\.py: set SAGEMAKER_PROGRAM to inference\.py"),
        (["code/serve.py"], "sreve", r"SAGEMAKER_PROGRAM names sreve, and there is no sreve\.py .* has code/serve\.py"),
        (
            ["code/a.py", "code/src/serve.py"],
            "serve.py",
            r"has code/a\.py, code/src/serve\.py: set .* to src/serve\.py",
        ),
        ([], "inference.py", "has no Python file: put the script there, or unset SAGEMAKER_PROGRAM"),
        (["code/serve.sh"], "serve.sh", r"serve\.sh, which is no Python file"),
        (["code/serve/run.py"], "serve", r"serve, which is a folder without __init__\.py"),
        ([f"code/{letter}.py" for letter in "abcdefg"], "serve", r"code/e\.py and 2 more:"),
    ],
)
def test_program_that_is_not_in_the_artifact_is_an_error_and_no_model_answers_in_its_place(
    tmp_path: Path, others: list[str], program: str, says: str
) -> None:
    """The inference toolkit imports the module that SAGEMAKER_PROGRAM names, and no other."""
    for name in ("model.joblib", *others):
        write_script(tmp_path, "", name)
    with pytest.raises(LoadFailed, match=says):
        detect(tmp_path, program)


def test_several_models_are_an_error_that_names_them_all(tmp_path: Path) -> None:
    for name in ("a.joblib", "b.onnx", "notes.txt"):
        (tmp_path / name).touch()
    with pytest.raises(AmbiguousArtifact, match=r"a\.joblib, b\.onnx"):
        detect(tmp_path)


@pytest.mark.parametrize("names", [[], ["weights.bin", "config.json"]])
def test_the_error_of_an_unknown_format_lists_the_files_and_the_known_formats(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).write_text("{}")
    with pytest.raises(UnknownFormat) as raised:
        detect(tmp_path)
    assert all(known.name in str(raised.value) for known in formats.FORMATS)
    assert all(name in str(raised.value) for name in names)


TREES = """
from torpor_container.formats.format import Format, named
FORMAT = Format("trees", named("*.trees"), load=None, bytes_per_artifact_byte=1, fixed_bytes=0)
"""


def test_a_format_of_another_package_comes_by_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_script(tmp_path, TREES, "site/trees_of_another.py")
    write_script(tmp_path, "Name: trees\nVersion: 1.0\n", "site/trees-1.0.dist-info/METADATA")
    write_script(
        tmp_path, "[torpor.formats]\ntrees = trees_of_another:FORMAT\n", "site/trees-1.0.dist-info/entry_points.txt"
    )
    monkeypatch.syspath_prepend(tmp_path / "site")
    known, path = detect(write_script(tmp_path, "", "model.trees").parent, formats=available())
    assert (known.name, path) == ("trees", tmp_path / "model.trees")


def test_a_script_is_never_loaded_into_the_instance(tmp_path: Path) -> None:
    known, path = detect(write_script(tmp_path, "").parent)
    with pytest.raises(LoadFailed, match="process of its own"):
        known.load(path, Conventions())


def test_looking_at_an_artifact_imports_no_framework(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").touch()
    code = (
        "import sys; from pathlib import Path; from torpor_container.formats import detect; detect(Path(sys.argv[1]));"
        "assert not {'xgboost', 'sklearn', 'joblib', 'onnxruntime', 'skops'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
