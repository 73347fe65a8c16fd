"""The model among an artifact's files, by the image, by name, and by content that is proven."""

import gzip
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import LabelEncoder, StandardScaler

from tests.container.helpers.format_models import Trained
from torpor_container.errors import AmbiguousArtifact, LoadFailed, UnknownFormat
from torpor_container.formats import Conventions, contents, detect
from torpor_container.formats.contents import Content
from torpor_container.formats.format import ServableModel
from torpor_container.formats.recognition import misplaced
from torpor_container.invocation import Invocation

XGBOOST, SCIKIT_LEARN = Conventions(image="xgboost"), Conventions(image="scikit-learn")
OWN = Conventions()


@pytest.fixture(scope="session")
def saved(trained: Trained) -> dict[str, bytes]:
    """The contents of a file, by a name for them."""
    booster = trained.booster
    plain = bytes(booster.save_raw("json"))
    return {
        "ubj": bytes(booster.save_raw("ubj")),
        "json": plain,
        "indented json": json.dumps(dict(reversed(json.loads(plain).items())), indent=2).encode(),
        "booster": pickle.dumps(booster),
        "compressed booster": gzip.compress(pickle.dumps(booster)),
        "regressor": pickle.dumps(trained.regressor),
        "pipeline": pickle.dumps(trained.pipeline),
        "with garbage": plain + b"\n# exported by job 7",
        "other json": b'{"learner": {"name": "lr"}, "gradient_booster": {}, "objective": 1, "version": [1, 2, 3]}',
        "base learner": b'{"base_learner": "lr"}',
        "names": b'["beginner", "learner", "expert"]',
        "text": b"learner: xgboost\n{}",
        "encoder": pickle.dumps(LabelEncoder().fit(["a", "b"])),
        "columns": pickle.dumps(["a", "b", "c"]),
        "settings": pickle.dumps({"threshold": 0.5}),
        "nothing": b"",
        "picture": b"\x89PNG\r\n\x1a\n\0\0",
        "archive": b"PK\3\4" + bytes(40),
        "dump": "\n".join(booster.get_dump()).encode(),
        "dump with heads": b"booster[0]:\n" + booster.get_dump()[0].encode(),
        "json dump": json.dumps([json.loads(tree) for tree in booster.get_dump(dump_format="json")], indent=2).encode(),
        "lightgbm dump": b'{"name": "tree", "version": "v4", "num_class": 1}',
        "lightgbm of windows": b"tree\r\nversion=v4\r\nnum_class=1\r\n",
        "gzipped": gzip.compress(plain),
    }


@pytest.fixture
def place(tmp_path: Path, saved: dict[str, bytes]) -> Callable[..., Path]:
    def written(**files: str) -> Path:
        for name, holding in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(saved[holding])
        return tmp_path

    return written


def load(directory: Path, conventions: Conventions = OWN) -> ServableModel:
    known, path = detect(directory, conventions=conventions)
    return known.load(path, conventions)


def answer(model: ServableModel) -> list[float]:
    told: list[float] = json.loads(model.invoke(Invocation(b"0.4,0.2,0.7,0.1", "text/csv", "application/json")).body)
    return told


BOOSTERS = ["ubj", "json", "indented json", "booster", "compressed booster", "regressor", "with garbage"]


@pytest.mark.parametrize("holding", BOOSTERS)
@pytest.mark.parametrize("name", ["DEMO-local-xgboost-model", "model.bin", "0"])
@pytest.mark.parametrize("conventions", [OWN, XGBOOST], ids=["own image", "xgboost"])
def test_a_booster_is_found_whatever_its_name(
    place: Callable[..., Path], name: str, holding: str, conventions: Conventions
) -> None:
    model = load(
        place(**{name: holding, "README.md": "text", ".hidden": "ubj", "__MACOSX/._model": "ubj"}), conventions
    )
    assert model.format == "xgboost"
    assert len(answer(model)) == 1


@pytest.mark.parametrize(
    "beside", ["other json", "base learner", "names", "text", "nothing", "picture", "archive", "encoder", "columns"]
)
@pytest.mark.parametrize(
    ("name", "holding", "kind"),
    [
        ("model.joblib", "pipeline", "scikit-learn"),
        ("model.dat", "ubj", "xgboost"),
        ("xgboost-model", "ubj", "xgboost"),
    ],
)
def test_a_file_beside_the_model_is_ignored(
    place: Callable[..., Path], name: str, holding: str, kind: str, beside: str
) -> None:
    suffix = {"encoder": ".pkl", "columns": ".pkl", "picture": ".png", "archive": ".zip"}.get(beside, ".json")
    assert load(place(**{name: holding, f"metadata{suffix}": beside})).format == kind


@pytest.mark.parametrize("conventions", [OWN, XGBOOST, SCIKIT_LEARN])
def test_a_pickled_estimator_of_any_name_is_found(place: Callable[..., Path], conventions: Conventions) -> None:
    for name in ("my_model", "sk.bin"):
        assert load(place(**{name: "pipeline"}), conventions).format == "scikit-learn"
        (place() / name).unlink()


def test_compressed_joblib_files_of_any_name_are_found(tmp_path: Path, trained: Trained) -> None:
    for compress in ("zlib", "gzip", "bz2", "xz", "lzma"):
        joblib.dump(trained.pipeline, tmp_path / "m", compress=(compress, 3))
        assert load(tmp_path).format == "scikit-learn", compress


def test_an_onnx_model_of_any_name_is_found_and_a_truncated_one_is_not(
    artifact: Callable[..., Path], tmp_path: Path
) -> None:
    content = (artifact("model.onnx") / "model.onnx").read_bytes()
    path = tmp_path / "network"
    path.write_bytes(content)
    assert load(tmp_path).format == "onnx"
    for cut in (content[:-3], content[: len(content) // 2], content + b"\xff", b"\x08\x07"):
        path.write_bytes(cut)
        assert contents.content_of(path) is None


@pytest.mark.parametrize("holding", ["base learner", "names", "settings", "text", "nothing", "picture"])
def test_an_artifact_without_a_model_is_an_error_that_lists_its_files(place: Callable[..., Path], holding: str) -> None:
    with pytest.raises(UnknownFormat, match=r"among: a\.json, b\.txt"):
        detect(place(**{"a.json": holding, "b.txt": "text"}))


@pytest.mark.parametrize(
    ("files", "hint"),
    [
        ({"houses/1/xgboost-model": "ubj"}, r"houses/1/xgboost-model lies in a folder, .* -C houses/1 \."),
        ({"my houses/m.json": "json"}, r"my houses/m\.json lies in a folder, .* -C 'my houses' \."),
        ({"b/m.pkl": "regressor", "a/notes": "text"}, r"b/m\.pkl lies in a folder"),
        ({"houses/code/inference.py": "text"}, r"houses/code/inference\.py lies in a folder, .* -C houses \."),
        ({"houses/inference.py": "text"}, r"houses/inference\.py lies in a folder, .* -C houses \."),
        ({"my/model.pt": "archive", "my/code/inference.py": "text"}, r"my/code/inference\.py lies .* -C my \."),
        ({"model.pt": "archive", "src/inference.py": "text"}, r"src/inference\.py lies in a folder, .* -C src \."),
        ({"m.zip": "archive", "b/m.json": "json"}, r"m\.zip is a zip archive: pack the files that it holds"),
        ({"a/notes": "text", "__MACOSX/m.json": "json", ".a/m.json": "json"}, r"among: \.a, __MACOSX, a$"),
    ],
)
def test_a_model_in_the_wrong_place_is_named_with_what_to_do(
    place: Callable[..., Path], files: dict[str, str], hint: str
) -> None:
    with pytest.raises(UnknownFormat, match=hint):
        detect(place(**files))


@pytest.mark.parametrize("name", ["dump", "dump with heads", "json dump", "lightgbm dump", "lightgbm of windows"])
def test_what_no_framework_reads_is_named_with_what_to_do(place: Callable[..., Path], name: str) -> None:
    with pytest.raises(UnknownFormat, match=r"model\.json is a .*: write (the model by save_model|it anew)"):
        detect(place(**{"model.json": name}))


@pytest.mark.parametrize("image", [OWN, XGBOOST, SCIKIT_LEARN], ids=["torpor", "xgboost", "scikit-learn"])
def test_a_compressed_model_that_is_no_pickle_is_named_with_what_to_do(
    place: Callable[..., Path], image: Conventions
) -> None:
    with pytest.raises(LoadFailed, match=r"is a gzip file that holds no pickle: pack what it holds itself"):
        load(place(**{"xgboost-model": "gzipped"}), image)


@pytest.mark.parametrize("pattern", contents.FOREIGN)
def test_a_model_of_another_framework_is_named_with_what_to_do(place: Callable[..., Path], pattern: str) -> None:
    name = pattern.replace("*", "Model")
    for within in (name, f"1/{name}", name.upper()):
        directory = place(**{within: "archive", "readme.md": "text"})
        with pytest.raises(
            UnknownFormat, match=f"{within} is {contents.FOREIGN[pattern]}, which .* export .* ONNX, or"
        ):
            detect(directory)
        (directory / within).unlink()


def test_a_script_in_its_own_folder_is_in_no_wrong_place(place: Callable[..., Path]) -> None:
    assert misplaced(place(**{"code/inference.py": "text", "code/train.py": "text"})) == ""


@pytest.mark.parametrize(
    ("files", "hint"),
    [
        (
            {"serve.py": "text"},
            r"serve\.py is a Python program: .* call it code/inference\.py, or .* SAGEMAKER_PROGRAM",
        ),
        ({"code/serve.py": "text"}, r"code/serve\.py is a Python program"),
        ({"MAR-INF/MANIFEST.json": "names", "handler.py": "text"}, r"It is a model archive of Multi Model Server"),
    ],
)
@pytest.mark.parametrize("image", [Conventions(), XGBOOST, SCIKIT_LEARN], ids=["torpor", "xgboost", "scikit-learn"])
def test_a_program_is_no_model_and_named_with_what_to_do(
    place: Callable[..., Path], image: Conventions, files: dict[str, str], hint: str
) -> None:
    with pytest.raises(UnknownFormat, match=hint):
        detect(place(**files), conventions=image)


def test_the_only_real_model_among_several_named_files_is_taken(place: Callable[..., Path]) -> None:
    place(**{"a.json": "json", "b.ubj": "text", "c.model": "nothing", "encoder.pkl": "encoder", "names.pkl": "columns"})
    assert detect(place())[1].name == "a.json"


def test_two_models_that_are_no_folds_are_an_error_that_names_both(place: Callable[..., Path]) -> None:
    with pytest.raises(AmbiguousArtifact, match="model-0, regressor"):
        detect(place(**{"model-0": "ubj", "regressor": "pipeline"}))


def test_the_error_of_a_damaged_model_names_its_file_and_framework(tmp_path: Path, saved: dict[str, bytes]) -> None:
    (tmp_path / "model").write_bytes(saved["json"][:300])
    with pytest.raises(LoadFailed, match="model is not a model that XGBoost can read"):
        load(tmp_path)


def test_the_image_takes_the_only_file_there_is(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"12345 what is this")
    assert detect(tmp_path, conventions=XGBOOST)[0].name == "xgboost"
    assert detect(tmp_path, conventions=SCIKIT_LEARN)[0].name == "scikit-learn"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (LinearRegression(), "sklearn.linear_model._base.LinearRegression"),
        (StandardScaler(), "sklearn.preprocessing._data.StandardScaler"),
        ({"a": 1}, ""),
        ([1, 2], ""),
        ("text", ""),
    ],
)
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_the_class_of_a_pickle_is_read_without_running_it(tmp_path: Path, value: Any, name: str, protocol: int) -> None:
    path = tmp_path / "p"
    path.write_bytes(pickle.dumps(value, protocol))
    assert contents.pickled_class(path) == name
    assert contents.content_of(path) is Content.PICKLE


# -- what an instance looks at before a trial does ---------------------------------------------------------------------
def test_json_that_is_too_large_to_be_parsed_is_known_by_its_members(tmp_path: Path) -> None:
    path, members = (
        tmp_path / "model.json",
        b'{ "learner": {"learner_model_param": {}, "gradient_booster": {}, "objective": {',
    )
    path.write_bytes(members)
    assert contents.content_of(path) is None
    path.write_bytes(members.ljust(contents.PARSED_MAX_BYTES + 1, b"["))
    assert contents.content_of(path) is Content.XGBOOST


def test_an_onnx_model_has_no_more_fields_than_an_instance_reads(tmp_path: Path) -> None:
    path, version, graph = tmp_path / "model.onnx", b"\x08\x08", b"\x3a\x00"
    path.write_bytes(version * 1000 + graph)
    assert contents.content_of(path) is Content.ONNX
    path.write_bytes(version * contents.FIELDS_MAX + graph)
    assert contents.content_of(path) is None


@pytest.mark.parametrize(("comments", "end", "found"), [(1, b"", True), (80, b"", False), (1, b"PK\6\7", False)])
def test_an_archive_says_no_more_of_its_members_than_an_instance_reads(
    tmp_path: Path, comments: int, end: bytes, found: bool
) -> None:
    """Its last record has the size of what it says. Another before it has room for a larger one."""
    with zipfile.ZipFile(tmp_path / "model.skops", "w") as archive:
        archive.writestr("schema.json", bytes(contents.NAMES_MAX_BYTES))
        archive.comment = end
        for number in range(comments):
            member = zipfile.ZipInfo(str(number))
            member.comment = bytes(0xFFFF)
            archive.writestr(member, b"")
    assert (contents.content_of(tmp_path / "model.skops") is Content.SKOPS) is found
