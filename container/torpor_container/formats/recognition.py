"""Finds the files of an artifact that are the model: by the image, then by name, then by content.

They look at the top of the folder, as SageMaker's containers do, and never at hidden files or folders. A file that is
no model is ignored, wherever it lies and whatever its name.
"""

import os
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from shlex import quote

from torpor_container.formats import contents
from torpor_container.formats.contents import Content
from torpor_container.formats.format import Format
from torpor_container.frozen_class import frozen
from torpor_container.image.aws_images import SCIKIT_LEARN_IMAGE, XGBOOST_IMAGE

CANONICAL = "xgboost-model"
PROGRAM = ".py"
FOLD = re.compile(rf"{CANONICAL}-\d+")
"""The names of models of SageMaker's k-fold training. Other numbered names are not one model: `model-v1` beside
`model-v2` are two versions, and an average of both would be wrong."""

WITH_PREDICT = frozenset({"sklearn", "lightgbm", "catboost"})
"""Libraries whose classes may be imported to see whether they predict: a load of their objects imports them anyway."""
NO_MODELS = frozenset({"", "builtins", "__builtin__", "numpy", "pandas", "scipy", "collections", "joblib", "datetime"})


@frozen
class ModelFile:
    """A model and its file; its files, if several boosters answer as one."""

    format: Format
    paths: tuple[Path, ...]


def recognise(directory: Path, formats: Sequence[Format], image: str) -> list[ModelFile]:
    """All files that may be the model; only one if it is clear."""
    paths = visible(directory)
    named = by_name(directory, formats)
    known = {one.name: one for one in formats}
    xgboost, sklearn = known.get("xgboost"), known.get("scikit-learn")
    if image == XGBOOST_IMAGE and xgboost and (found := _boosters(xgboost, paths, named)):
        return [found]
    if image == SCIKIT_LEARN_IMAGE and sklearn and len(paths) == 1 and not named:
        return [ModelFile(sklearn, tuple(paths))]
    canonical = [one for one in named if one.paths[0].name == CANONICAL]
    if canonical:
        return canonical
    if len(named) == 1 and not _others_may_be(paths, named):
        return named
    models = _proven(named, paths, known) or named
    if not models and xgboost:
        return [ModelFile(xgboost, (path,)) for path in paths if contents.begins_as_xgboost(path)]
    return _together(models)


def visible(directory: Path) -> list[Path]:
    """The files at the top that are neither hidden nor programs, in order of names and of numbers in them: `fold-2`,
    `fold-10`."""
    with os.scandir(directory) as entries:
        names = [
            entry.name
            for entry in entries
            if not entry.name.startswith(".") and not entry.name.endswith(PROGRAM) and entry.is_file()
        ]
    return [directory / name for name in sorted(names, key=_natural)]


def by_name(directory: Path, formats: Sequence[Format]) -> list[ModelFile]:
    return [ModelFile(known, (path,)) for known in formats for path in known.files(directory)]


def _natural(name: str) -> list[tuple[bool, int, str]]:
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", name)]


# -- XGBoost's image ---------------------------------------------------------------------------------------------------
def _boosters(xgboost: Format, paths: list[Path], named: list[ModelFile]) -> ModelFile | None:
    """The model as in SageMaker's XGBoost container, which loads every file at the top and predicts with all."""
    others = {path for one in named if one.format.name != xgboost.name for path in one.paths}
    if len(paths) == 1 and not others:
        return ModelFile(xgboost, tuple(paths))
    boosters = tuple(path for path in paths if _is_booster(path))
    return ModelFile(xgboost, boosters) if boosters else None


def _is_booster(path: Path) -> bool:
    """Whether a file may be a booster. One with SageMaker's own name counts: its load is the proof."""
    if path.name == CANONICAL or path.name.startswith(f"{CANONICAL}-"):
        return contents.may_be_model(path)
    content = contents.content_of(path)
    if content is Content.PICKLE:
        return (contents.pickled_class(path) or "").partition(".")[0] == "xgboost"
    return content in (Content.XGBOOST, Content.OLD_XGBOOST)


# -- by content --------------------------------------------------------------------------------------------------------
def _others_may_be(paths: list[Path], named: list[ModelFile]) -> bool:
    """Whether another file could be a model, although its name does not show it."""
    by_name = {path for one in named for path in one.paths}
    return any(contents.may_be_model(path) for path in paths if path not in by_name)


def _proven(named: list[ModelFile], paths: list[Path], known: dict[str, Format]) -> list[ModelFile]:
    """The files that hold a model: those with the name of one, if there are any, else all others."""
    by_name = {path: one for one in named for path in one.paths}
    proven = [(path in by_name, one) for path in paths if (one := _by_content(path, by_name.get(path), known))]
    agreed = [one for by_name, one in proven if by_name]
    return agreed or [one for _, one in proven]


def _by_content(path: Path, by_name: ModelFile | None, known: dict[str, Format]) -> ModelFile | None:
    content = contents.content_of(path)
    if content is Content.PICKLE and not _predicts(contents.pickled_class(path)):
        return None
    if content is None:
        return by_name if by_name is not None and by_name.format.name not in PROVEN.values() else None
    found = known.get(PROVEN[content])
    return ModelFile(found, (path,)) if found else None


PROVEN = {
    Content.XGBOOST: "xgboost",
    Content.OLD_XGBOOST: "xgboost",
    Content.PICKLE: "scikit-learn",
    Content.ONNX: "onnx",
    Content.SKOPS: "scikit-learn",
    Content.LIGHTGBM: "lightgbm",
}
"""The format of each content. A pickle of a booster loads like any pickle, and is served as a booster."""


def _predicts(name: str | None) -> bool:
    """Whether objects of this class are models, as far as that is known without a load."""
    module, _, kind = (name or "").rpartition(".")
    package = module.partition(".")[0]
    if package in NO_MODELS:
        return False
    if package == "xgboost":
        return kind == "Booster" or kind.startswith("XGB")
    if package not in WITH_PREDICT:
        return True
    try:
        return callable(getattr(getattr(import_module(module), kind), "predict", None))
    except (ImportError, AttributeError):
        return True  # loading it will tell


# -- several boosters --------------------------------------------------------------------------------------------------
def _together(found: list[ModelFile]) -> list[ModelFile]:
    """Combine the boosters of one k-fold training to one model."""
    paths = tuple(path for one in found for path in one.paths)
    if len(paths) < 2 or not all(FOLD.fullmatch(path.name) and _is_booster(path) for path in paths):
        return found
    xgboost = next((one.format for one in found if one.format.name == "xgboost"), None)
    return [ModelFile(xgboost or found[0].format, paths)]


# -- none --------------------------------------------------------------------------------------------------------------
LOOKED_INTO_MAX = 50
"""How many files are looked into: most that people pack by mistake lie in the one folder that they packed."""
SCRIPT_FILE, SCRIPT_FOLDER = "inference.py", "code"
SCRIPT = Path(SCRIPT_FOLDER, SCRIPT_FILE)
"""Where scripts are looked for."""
MANIFEST = Path("MAR-INF", "MANIFEST.json")
"""What the model archives of Multi Model Server and TorchServe have."""


def misplaced(directory: Path) -> str:
    """A sentence on the first script in the wrong place; if there is none, on the first model of another framework, or
    model or archive in the wrong place; if there is none, on a script of another name. Else empty."""
    if (directory / MANIFEST).is_file():
        return (
            "It is a model archive of Multi Model Server or TorchServe: run that server "
            "(docs/how-to/bring-a-container.md), or pack a code/inference.py with model_fn and predict_fn"
        )
    files = [(path, path.relative_to(directory)) for path in islice(_files(directory), LOOKED_INTO_MAX)]
    return _in_wrong_place(files) or _of_other_name([within for _, within in files])


def _of_other_name(files: list[Path]) -> str:
    """A sentence on the first program where scripts are looked for, if no script is there."""
    programs = [one for one in files if one.suffix == PROGRAM and one.parent in (Path(), Path(SCRIPT_FOLDER))]
    if not programs or any(one.name == SCRIPT_FILE for one in programs):
        return ""
    return (
        f"{programs[0]} is a Python program: if it is the script that serves, call it {SCRIPT}, or name it by "
        "SAGEMAKER_PROGRAM in the container's Environment"
    )


def _in_wrong_place(files: list[tuple[Path, Path]]) -> str:
    for _, within in files:
        if within.name == SCRIPT_FILE and len(within.parts) > 1 and within != SCRIPT:
            return _lies_in_folder(within, within.parents[within.parent.name == SCRIPT_FOLDER])
    for path, within in files:
        if kind := contents.foreign(path):
            return (
                f"{within} is {kind}, which Torpor does not read itself: export the model to ONNX, or pack a "
                "code/inference.py whose model_fn reads it"
            )
        if len(within.parts) == 1:
            with path.open("rb") as file:
                head = file.read(contents.HEAD_BYTES)
            if dump := contents.unreadable(head):
                return f"{within} is {dump}"
            if packed := contents.packed_as(head):
                return f"{within} is {packed}: pack the files that it holds into the artifact themselves"
        elif within != SCRIPT and contents.content_of(path) is not None:
            return _lies_in_folder(within, within.parent)
    return ""


def _lies_in_folder(within: Path, folder: Path) -> str:
    return (
        f"{within} lies in a folder, where none is looked for: pack what the folder holds, as "
        f"`tar -czf model.tar.gz -C {quote(str(folder))} .` does"
    )


def _files(directory: Path) -> Iterator[Path]:
    """The files that are not hidden, from the top down, each folder in the order of names."""
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
        yield from (Path(folder, name) for name in sorted(names) if not name.startswith("."))
