"""The user script: where it lies in an artifact. It runs in a process of its own, never in the instance's."""

import os
from pathlib import Path
from typing import NoReturn

from torpor_container.errors import LoadFailed
from torpor_container.formats.format import Conventions, Format

PROGRAM = "inference.py"
FOLDERS = ("code", ".")


def find(directory: Path, program: str = PROGRAM) -> Path | None:
    """`code/inference.py`, else `inference.py`. The program's `.py` may be left out, as SAGEMAKER_PROGRAM allows."""
    name = program if program.endswith(".py") else f"{program}.py"
    paths = (os.path.join(directory, folder, name) for folder in FOLDERS)
    return next((Path(path) for path in paths if os.path.isfile(path)), None)


def _files(directory: Path) -> list[Path]:
    found = find(directory)
    return [found] if found else []


def _load(path: Path, conventions: Conventions) -> NoReturn:
    raise LoadFailed(f"{path.name} is a user script, which needs a process of its own")


FORMAT = Format("script", _files, _load, bytes_per_artifact_byte=1.5, fixed_bytes=16 * 1024 * 1024)
