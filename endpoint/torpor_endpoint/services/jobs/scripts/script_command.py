"""The command of a job: its program, arguments and environment. Pure, except for the look at the PATH."""

import json
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

OPT_ML = "/opt/ml"
"""The folder of a job in AWS's containers."""
PYTHON = re.compile(r"(/\S*/)?python(3(\.\d+)?)?")
"""The Python of an image, by its name or its path there."""


@dataclass(frozen=True)
class ScriptCommand:
    """One command. It runs in `folder`. Its environment is added to what it inherits from the endpoint.

    The script sees `opt_ml` at /opt/ml, where the machine allows that: always, or if its code names that path.
    """

    arguments: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    opt_ml: Path
    always: bool = False

    def __str__(self) -> str:
        return shlex.join(self.arguments)

    def json(self) -> str:
        """The command in the form that `script_child` reads."""
        return json.dumps(
            {
                "arguments": self.arguments,
                "folder": str(self.folder),
                "environment": dict(self.environment),
                "opt_ml": str(self.opt_ml),
                "always": self.always,
            }
        )


def container_program(entrypoint: Sequence[str], arguments: Sequence[str]) -> list[str] | None:
    """The program of a container's entry point, on this machine: an image's Python is the endpoint's own. None where
    the machine has no such program."""
    name, *more = entrypoint
    if PYTHON.fullmatch(name):
        found: str | None = sys.executable
    elif name.startswith(f"{OPT_ML}/"):
        found = name
    else:
        found = shutil.which(name) or shutil.which(Path(name).name)
    return None if found is None else [found, *more, *arguments]


def search_path(inherited: str) -> str:
    """A PATH on which `python` and `pip` are those of the endpoint."""
    own = str(Path(sys.executable).parent)
    return f"{own}:{inherited}" if inherited else own
