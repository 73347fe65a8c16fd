"""The user script: where it lies in an artifact. It runs in a process of its own, never in the instance's."""

import os
from pathlib import Path
from typing import NoReturn

from torpor_container.errors import LoadFailed
from torpor_container.formats.format import Conventions, Format

PROGRAM = "inference.py"
FOLDERS = ("code", ".")

PACKAGE = "__init__.py"
SHOWN_MAX = 5
"""Files that an error names."""
SEARCHED_MAX = 2000
"""Files that an error looks through for others that may be meant."""


def find(directory: Path, program: str = "") -> Path | None:
    """The script: `code/inference.py`, else `inference.py`, or what SAGEMAKER_PROGRAM names in those places."""
    paths = (os.path.join(directory, folder, name) for name in _files_of(program) for folder in FOLDERS)
    return next((Path(path) for path in paths if os.path.isfile(path)), None)


def root_of(script: Path, program: str = "") -> Path:
    """The folder that the program's path begins in, where its modules and its requirements lie."""
    parts = next((len(Path(name).parts) for name in _files_of(program) if script.match(name)), 1)
    return script.parents[parts - 1]


def wanted(directory: Path, program: str) -> Path | None:
    """The script to run; None where SAGEMAKER_PROGRAM is not set and there is none.

    Raises LoadFailed where SAGEMAKER_PROGRAM names one that is not there: AWS's containers import the module that it
    names, and fail without it. A model file that lies beside never answers in its place.
    """
    found = find(directory, program)
    if found is None and program:
        raise LoadFailed(_missing(directory, program))
    return found


def _files_of(program: str) -> tuple[str, ...]:
    """The files that a program may be: a script, with or without `.py`; a module `a.b`; a package."""
    if not program:
        return (PROGRAM,)
    if program.endswith(".py"):
        return (program,)
    module = program.replace(".", "/")
    return (f"{program}.py", f"{module}.py", f"{module}/{PACKAGE}")


def _missing(directory: Path, program: str) -> str:
    at_hand = [os.path.join(directory, folder, program) for folder in FOLDERS]
    if any(map(os.path.isfile, at_hand)):
        return f"SAGEMAKER_PROGRAM names {program}, which is no Python file: name a script whose name ends in .py"
    if any(map(os.path.isdir, at_hand)):
        return f"SAGEMAKER_PROGRAM names {program}, which is a folder without {PACKAGE}: name a script in it"
    scripts = _scripts(directory)
    there = f"has {', '.join(scripts[:SHOWN_MAX])}" if scripts else "has no Python file"
    more = f" and {len(scripts) - SHOWN_MAX} more" if len(scripts) > SHOWN_MAX else ""
    return (
        f"SAGEMAKER_PROGRAM names {program}, and there is no {_files_of(program)[0]} in code/ or at the top of the "
        f"artifact, which {there}{more}: {_advice(program, scripts)}"
    )


def _advice(program: str, scripts: list[str]) -> str:
    """What to do about it."""
    if not scripts:
        return "put the script there, or unset SAGEMAKER_PROGRAM to serve the model file by itself"
    name = os.path.basename(_files_of(program)[0])
    same = next((path for path in scripts if os.path.basename(path) == name), scripts[0])
    return f"set SAGEMAKER_PROGRAM to {same.removeprefix('code/')}, or put the script where it is named"


def _scripts(directory: Path) -> list[str]:
    """Python files of the artifact that may be meant, as paths within it."""
    found: list[str] = []
    seen = 0
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
        seen += len(names)
        paths = (os.path.join(folder, name) for name in sorted(names) if name.endswith(".py") and name != PACKAGE)
        found += [os.path.relpath(path, directory) for path in paths]
        if seen > SEARCHED_MAX:
            break
    return found


def _files(directory: Path) -> list[Path]:
    found = find(directory)
    return [found] if found else []


def _load(path: Path, conventions: Conventions) -> NoReturn:
    raise LoadFailed(f"{path.name} is a user script, which needs a process of its own")


FORMAT = Format("script", _files, _load, bytes_per_artifact_byte=1.5, fixed_bytes=16 * 1024 * 1024)
