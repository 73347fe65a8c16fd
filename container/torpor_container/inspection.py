"""Says of artifacts, before they are in S3, whether an instance could load them. It runs no code of models or scripts.

    python -m torpor_container.inspection < paths

It reads a path from each line, and answers each with one line of JSON: `path`, `format`, and `refused`, the reason or
null. An XGBoost, LightGBM or ONNX file is loaded; of a pickle only the class is read, of a script only the syntax.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from torpor_container.artifacts.archives.unpack import UnpackLimits, unpack
from torpor_container.artifacts.errors import ArtifactInvalid
from torpor_container.errors import ContainerError
from torpor_container.formats import SCRIPT, Conventions, available, detect
from torpor_container.formats.contents import Content, content_of, pickled_class
from torpor_container.typed_json import written

LOADED = ("xgboost", "onnx", "lightgbm")
"""Formats whose load runs no code of the file, unless it is a pickle."""
PICKLED = "scikit-learn"
"""The format of pickles, and of skops files."""


@dataclass(frozen=True)
class Inspected:
    """What was found in one artifact. `refused` says why no instance could load it."""

    path: str
    format: str = ""
    refused: str | None = None


def inspect(path: Path, conventions: Conventions = Conventions()) -> Inspected:  # noqa: B008  frozen
    """Inspect one artifact or bare model file. Raises nothing that is the artifact's fault."""
    with TemporaryDirectory(prefix="torpor-inspect-") as folder:
        into = Path(folder, "model")
        try:
            unpack(path, into, UnpackLimits(), path.name)
            known, file = detect(into, formats=available(), conventions=conventions)
            if known.name == SCRIPT:
                compile(file.read_bytes(), str(file.relative_to(into)), "exec", dont_inherit=True)
            elif known.name in LOADED and content_of(file) is not Content.PICKLE:
                known.load(file, conventions)
            elif known.name == PICKLED and (reason := _no_object(file)):
                return Inspected(str(path), known.name, reason)
        except ArtifactInvalid as error:
            return Inspected(str(path), refused=error.reason)
        except (ContainerError, OSError) as error:
            return Inspected(str(path), refused=str(error))
        except SyntaxError as error:
            return Inspected(str(path), SCRIPT, f"{error.filename}, line {error.lineno}: {error.msg}")
        except Exception as error:  # noqa: BLE001  a framework may raise anything for a file that is broken
            return Inspected(str(path), refused=f"{type(error).__name__}: {error}")
    return Inspected(str(path), known.name)


def _no_object(file: Path) -> str | None:
    """Why a file that is named as a pickle holds no object with `predict`, as far as its instructions say; None if it
    may hold one, or is a skops file."""
    if content_of(file) is Content.SKOPS:
        return None
    kind = pickled_class(file)
    if kind is None:
        return f"{file.name} is named as a pickle or a skops file, and is neither"
    return None if kind else f"{file.name} holds a list, a dict or the like, which has no predict method"


def answers(lines: Iterator[str]) -> Iterator[str]:
    """The answer to each line."""
    for line in lines:
        yield json.dumps(written(inspect(Path(line.rstrip("\n")))))


if __name__ == "__main__":
    for answer in answers(sys.stdin):
        print(answer, flush=True)
