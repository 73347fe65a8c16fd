"""`torpor.bundle`: packs a trained model into `model.tar.gz`, with the same bytes every time. It does not check the
model."""

import gzip
import io
import os
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from torpor.errors import MissingExtra

CODE = "code"
SCRIPT = f"{CODE}/inference.py"
MODEL_SUFFIXES = (".onnx", ".json", ".ubj", ".model", ".joblib", ".pkl", ".pickle", ".skops", ".lgb", ".lgbm")
MODEL_NAMES = ("xgboost-model",)
FILES = ", ".join((*MODEL_NAMES, *(f"*{suffix}" for suffix in MODEL_SUFFIXES), "a *.txt of LightGBM"))
TEXT_SUFFIX, LIGHTGBM_HEAD = ".txt", b"tree\nversion=v"
"""A text file is a model if it begins as LightGBM's."""
GZIP_LEVEL = 6
"""The default of the gzip command. Python's default, 9, takes up to seven times as long for trees, and saves 2 %."""


@dataclass(frozen=True)
class ModelKind:
    """One kind of model object: its name, a test for it, its file name in the artifact, and its writer."""

    name: str
    takes: Callable[[Any], bool]
    file: Callable[[Any], str]
    write: Callable[[Any], bytes]


def bundle(
    model: Any,
    path: "str | PathLike[str]",
    *,
    script: "str | PathLike[str] | None" = None,
    code: "str | PathLike[str] | None" = None,
) -> Path:
    """Write the artifact of a model to `path`, with its parent folders, and return the path.

    `model` is an XGBoost model, a scikit-learn estimator, an ONNX model (object, bytes), the path of a model file, or
    None for a script that needs none. `script` becomes `code/inference.py`; the files of the folder `code` go beside
    it. With a script, `model` may be the path of any file, which the script reads under its own name.
    An XGBoost model predicts as its booster does: a classifier returns probabilities, not labels.
    Raises TypeError, which lists the accepted models; FileNotFoundError for code without a model and an inference.py.
    """
    if model is None and script is None and code is None:
        raise TypeError("neither a model nor a script is given: there is nothing to bundle")
    members = dict(_code(code)) if code is not None else {}
    if script is not None:
        members[SCRIPT] = Path(script).read_bytes()
    if model is None and SCRIPT not in members:
        raise FileNotFoundError(f"{code} has no inference.py, and no model is given: nothing could answer requests")
    if model is not None:
        kind = _kind_of(model, scripted=SCRIPT in members)
        members[kind.file(model)] = kind.write(model)
    return _write(Path(path), _archive(members))


def bundle_folder(folder: "str | PathLike[str]", path: "str | PathLike[str]") -> Path:
    """Write a folder with `code/inference.py` and any other files as an artifact to `path`, and return the path.

    Hidden files and `__pycache__` are left out. Raises FileNotFoundError if there is no such script.
    """
    members = dict(_files(folder))
    if SCRIPT not in members:
        raise FileNotFoundError(f"{folder} has no {SCRIPT}: nothing could answer requests")
    return _write(Path(path), _archive(members))


def _kind_of(model: Any, scripted: bool) -> ModelKind:
    """The kind of a model. With `scripted`, a script reads the model, so it may be any file. Raises TypeError."""
    for kind in (*KINDS, ANY_FILE) if scripted else KINDS:
        if kind.takes(model):
            return kind
    if isinstance(model, str | PathLike):
        raise TypeError(
            f"{Path(model)} does not have the suffix of a model file: these are {FILES}. "
            "For any other file give script=, the inference.py that reads it"
        )
    taken = "; ".join(kind.name for kind in KINDS)
    raise TypeError(f"{type(model).__module__}.{type(model).__qualname__} is not one of: {taken}")


def _of(package: str, method: str) -> Callable[[Any], bool]:
    """A test whether an object's class is, or extends, one of a package, and has a method. It imports nothing."""
    return lambda model: (
        hasattr(model, method) and any(base.__module__.partition(".")[0] == package for base in type(model).__mro__)
    )


def _write_booster(model: Any) -> bytes:
    return bytes((model.get_booster() if hasattr(model, "get_booster") else model).save_raw("ubj"))


def _write_estimator(model: Any) -> bytes:
    try:
        import joblib
    except ImportError:
        raise MissingExtra("bundling a scikit-learn estimator", "joblib", "container") from None
    stream = io.BytesIO()
    joblib.dump(model, stream)
    return stream.getvalue()


def is_model_file(model: Any) -> bool:
    """Whether it is the path of a model file, by its name, and a text file by its beginning."""
    if not isinstance(model, str | PathLike):
        return False
    path = Path(model)
    if path.suffix.lower() == TEXT_SUFFIX and path.is_file():
        with path.open("rb") as file:
            return file.read(len(LIGHTGBM_HEAD)) == LIGHTGBM_HEAD
    return path.suffix.lower() in MODEL_SUFFIXES or path.name in MODEL_NAMES


def _named_like_file(model: Any) -> str:
    return Path(model).name


def _read_file(model: Any) -> bytes:
    return Path(model).read_bytes()


ANY_FILE = ModelKind(
    "the path of any file", lambda model: isinstance(model, str | PathLike), _named_like_file, _read_file
)
"""The kind that `bundle` also accepts if a script reads the model."""

KINDS: tuple[ModelKind, ...] = (
    ModelKind(
        "an xgboost.Booster or XGBModel",
        lambda model: _of("xgboost", "save_raw")(model) or _of("xgboost", "get_booster")(model),
        lambda model: "xgboost-model",
        _write_booster,
    ),
    ModelKind(
        "a lightgbm.Booster",
        _of("lightgbm", "model_to_string"),
        lambda model: "model.txt",
        lambda model: bytes(model.model_to_string().encode()),
    ),
    ModelKind("a scikit-learn estimator", _of("sklearn", "get_params"), lambda model: "model.joblib", _write_estimator),
    ModelKind(
        "an onnx.ModelProto",
        _of("onnx", "SerializeToString"),
        lambda model: "model.onnx",
        lambda model: bytes(model.SerializeToString(deterministic=True)),
    ),
    ModelKind(
        "the bytes of an ONNX model",
        lambda model: isinstance(model, bytes) and model[:1] == b"\x08",  # its first field, the version of the format
        lambda model: "model.onnx",
        bytes,
    ),
    ModelKind(f"the path of a model file ({FILES})", is_model_file, _named_like_file, _read_file),
)
"""The kinds that `bundle` accepts; the first match wins."""


def _code(folder: "str | PathLike[str]") -> Iterator[tuple[str, bytes]]:
    return ((f"{CODE}/{name}", content) for name, content in _files(folder))


def _files(folder: "str | PathLike[str]") -> Iterator[tuple[str, bytes]]:
    root = Path(folder)
    if not root.is_dir():
        raise NotADirectoryError(f"{root} is not a folder")
    for path in root.rglob("*"):
        name = path.relative_to(root)
        if path.is_file() and "__pycache__" not in name.parts and not any(part.startswith(".") for part in name.parts):
            yield name.as_posix(), path.read_bytes()


def _archive(members: dict[str, bytes]) -> bytes:
    """A tar.gz whose bytes depend only on names and contents."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", GZIP_LEVEL, packed, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in sorted(members):
            entry = tarfile.TarInfo(name)  # time 0, owner 0, mode 0644
            entry.size = len(members[name])
            archive.addfile(entry, io.BytesIO(members[name]))
    return packed.getvalue()


def _write(path: Path, artifact: bytes) -> Path:
    """Write the file atomically: an endpoint may serve from its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(artifact)
        return unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)  # left by a failure: a full disk, or a folder at `path`
