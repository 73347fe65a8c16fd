"""The formats that an instance can serve, and the rule that finds the model in an unpacked artifact.

A directory may hold several files. Which of them is the model:

1. a user script wins: `code/inference.py`, then `inference.py`. SAGEMAKER_PROGRAM names another, and an artifact
   without it is an error: the inference toolkit imports the one that is named, and no other;
2. else what the image makes of the files (`recognition`): to SageMaker's XGBoost image all boosters are models, to its
   scikit-learn image the one file there is;
3. else the file that SageMaker's own training writes, `xgboost-model`;
4. else the one file whose name is a known format's, and else the one file whose content is. Several boosters whose
   names differ in their number alone are one model (`ensembles`); others side by side are an error that names them.

Only files at the top of the directory count, as in SageMaker's containers, and hidden files do not. Files without a
model are ignored.
"""

import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from torpor_container.errors import AmbiguousArtifact, UnknownFormat
from torpor_container.formats import onnx, recognition, script
from torpor_container.formats.format import Conventions, Format, ServableModel
from torpor_container.formats.lightgbm import lightgbm_format
from torpor_container.formats.recognition import ModelFile
from torpor_container.formats.sklearn import sklearn_format
from torpor_container.formats.xgboost import ensembles, xgboost_format

__all__ = ["ENTRY_POINTS", "FORMATS", "SCRIPT", "Conventions", "Format", "ServableModel", "available", "detect"]

SCRIPT = script.FORMAT.name
ENTRY_POINTS = "torpor.formats"

FORMATS: tuple[Format, ...] = (
    script.FORMAT,
    xgboost_format.FORMAT,
    sklearn_format.FORMAT,
    onnx.FORMAT,
    lightgbm_format.FORMAT,
)


def available() -> tuple[Format, ...]:
    """The formats above, then those that installed packages add: an entry point names a `Format`."""
    return FORMATS + tuple(entry.load() for entry in _added(tuple(sys.path)))


@cache
def _added(search_path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """The formats that packages add. It reads the metadata of every package; the zygote does so for its children."""
    return tuple(entry_points(group=ENTRY_POINTS))


def look_up() -> None:
    """Find the formats that packages add, once. It loads none of them."""
    _added(tuple(sys.path))


def detect(
    directory: Path,
    program: str = "",
    formats: Sequence[Format] = FORMATS,
    conventions: Conventions = Conventions(),  # noqa: B008  frozen
) -> tuple[Format, Path]:
    """The format and the file of the model in this directory; the first file if several are one model.

    Raises UnknownFormat, AmbiguousArtifact or LoadFailed.
    """
    if script.FORMAT in formats and (found := script.wanted(directory, program)):
        return script.FORMAT, found
    models = [known for known in formats if known != script.FORMAT]
    chosen = _only(recognition.recognise(directory, models, conventions.image), directory, formats)
    if len(chosen.paths) > 1 and conventions.ensemble:
        return ensembles.joined(chosen.format, chosen.paths), chosen.paths[0]
    return chosen.format, chosen.paths[0]


def _within(directory: Path, path: Path) -> str:
    return path.relative_to(directory).as_posix()


def _only(candidates: list[ModelFile], directory: Path, formats: Sequence[Format]) -> ModelFile:
    if len(candidates) == 1:
        return candidates[0]
    paths = sorted({_within(directory, path) for one in candidates for path in one.paths})
    if not paths:
        known = [one.name for one in formats]
        raise UnknownFormat.of(
            sorted(path.name for path in directory.iterdir()), known, recognition.misplaced(directory)
        )
    if len(paths) > 1:
        raise AmbiguousArtifact.of(paths)
    return candidates[0]
