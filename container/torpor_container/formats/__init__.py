"""The formats that an instance can serve, and the rule that finds the model in an unpacked artifact.

A directory may hold several files. Which of them is the model:

1. a user script wins: `code/inference.py`, then `inference.py`. SAGEMAKER_PROGRAM names another, and an artifact
   without it is an error: the inference toolkit imports the one that is named, and no other;
2. else the file that SageMaker's own training writes, `xgboost-model`;
3. else the one file of a known format. Several are an error that names them; files of no known format are ignored.

Only the top of the directory is looked at, as SageMaker's containers do, and hidden files are not.
"""

import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from torpor_container.errors import AmbiguousArtifact, UnknownFormat
from torpor_container.formats import onnx, script, sklearn, xgboost
from torpor_container.formats.format import Conventions, Format, Model

__all__ = ["CANONICAL", "ENTRY_POINTS", "FORMATS", "SCRIPT", "Conventions", "Format", "Model", "available", "detect"]

SCRIPT = script.FORMAT.name
CANONICAL = ("xgboost-model",)
ENTRY_POINTS = "torpor.formats"

FORMATS: tuple[Format, ...] = (script.FORMAT, xgboost.FORMAT, sklearn.FORMAT, onnx.FORMAT)


def available() -> tuple[Format, ...]:
    """The formats above, then those that installed packages add: an entry point names a `Format`."""
    return FORMATS + tuple(entry.load() for entry in _added(tuple(sys.path)))


@cache
def _added(search_path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """To find them reads the metadata of every package there is: a warm parent does it for all its children."""
    return tuple(entry_points(group=ENTRY_POINTS))


def look_up() -> None:
    """Find out, once and for all, what packages add. It loads none of it."""
    _added(tuple(sys.path))


def detect(directory: Path, program: str = "", formats: Sequence[Format] = FORMATS) -> tuple[Format, Path]:
    """The format and the file of the model in this directory. Raises UnknownFormat, AmbiguousArtifact or LoadFailed."""
    if script.FORMAT in formats and (found := script.wanted(directory, program)):
        return script.FORMAT, found
    candidates = [(known, path) for known in formats if known != script.FORMAT for path in known.files(directory)]
    canonical = [(known, path) for known, path in candidates if path.name in CANONICAL]
    return _only(canonical or candidates, directory, formats)


def _within(directory: Path, path: Path) -> str:
    return path.relative_to(directory).as_posix()


def _only(candidates: list[tuple[Format, Path]], directory: Path, formats: Sequence[Format]) -> tuple[Format, Path]:
    if len(candidates) == 1:
        return candidates[0]
    paths = sorted({_within(directory, path) for _, path in candidates})
    if not paths:
        raise UnknownFormat.of(sorted(path.name for path in directory.iterdir()), [known.name for known in formats])
    if len(paths) > 1:
        raise AmbiguousArtifact.of(paths)
    return candidates[0]
