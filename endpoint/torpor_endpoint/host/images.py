"""Which program serves a container `Image`: a table of name patterns, and nothing that pulls or runs.

The built-in container stands in for `torpor` and for AWS's XGBoost and scikit-learn images. Any other image needs a row
in a TOML file. One says that the built-in container stands in for it too, with the conventions of an image that is
known; another says how to start its server as processes of this machine:

    [[image]]
    match = "*.dkr.ecr.*.amazonaws.com/my-xgb:*"    # a shell pattern; the first row that matches wins
    as = "built-in"                                 # as `torpor` is served, or an image such as sagemaker-xgboost:1.7-1

    [[image]]
    match = "*/my-server:*"
    command = ["my-server", "--port", "{port}"]     # the program and its arguments
    ready = ["/ping"]                               # must all answer 2xx; else /ping, and /models for many models
    environment = { MY_HOME = "{base_dir}" }        # added to the container's Environment
    files = { "my.properties" = "port={port}" }     # written to {temp} before the start
    opt_ml = true                                   # the server finds its models at /opt/ml, as on SageMaker

`{port}`, `{temp}`, `{base_dir}` and `{model_dir}` stand for the instance's port, temporary folder, base folder
(`/opt/ml` in a container) and the folder of a single model. A program with a `/` in its name is looked for from the
file's folder, any other on PATH.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from torpor_container.image.command import ServerCommand
from torpor_container.wire import ContainerCommand

# AWS names these images <account>.dkr.ecr.<region>.amazonaws.com/<repository>:<tag>; the account differs by region, so
# it is not looked at.
BUILT_IN = (
    "torpor",
    "torpor[:@]*",
    "*/xgboost[:@]*",  # the versions up to 0.72
    "*/sagemaker-xgboost[:@]*",
    "*/sagemaker-scikit-learn[:@]*",
)

FAMILIES = {"/xgboost": "xgboost", "/sagemaker-xgboost": "xgboost", "/sagemaker-scikit-learn": "scikit-learn"}
"""By the end of a built-in pattern's repository: which of AWS's images it is (TORPOR_IMAGE)."""

MEMBERS = ("match", "as", "command", "ready", "environment", "files", "opt_ml")

BUILT_IN_NAME = "built-in"
TORPOR = "torpor"
UNKNOWN = ("refuse", BUILT_IN_NAME)
"""What becomes of an image that no row matches: its endpoint is Failed, or the built-in container serves it."""


class BadImages(Exception):
    """The file of images cannot be used. The message names the row and its member."""


@dataclass(frozen=True)
class Image:
    """One row. `command` is None for the built-in container, which serves it as it serves the image `stands_for`; empty
    for the very image that matches."""

    match: str
    command: ContainerCommand | None = None
    stands_for: str = ""


def family(image: str) -> str:
    """`xgboost` or `scikit-learn` for AWS's own images of these, and empty for any other."""
    named = image.partition("@")[0]
    repository, _, tag = named.rpartition(":")
    if not repository or "/" in tag:  # there is no tag, and the colon is a port's
        repository = named
    return next((name for end, name in FAMILIES.items() if f"/{repository}".endswith(end)), "")


class Images:
    """The rows, the user's before the built-in ones; at last one for all others, if `unknown` is `built-in`."""

    def __init__(self, rows: Iterable[Image] = (), unknown: str = UNKNOWN[0]) -> None:
        others = (Image("*", stands_for=TORPOR),) if unknown == BUILT_IN_NAME else ()
        self._rows = (*rows, *map(Image, BUILT_IN), *others)

    @classmethod
    def read(cls, path: Path | None, unknown: str = UNKNOWN[0]) -> "Images":
        """From a TOML file; None for the built-in rows alone. Raises BadImages."""
        if path is None:
            return cls(unknown=unknown)
        import tomllib  # few have such a file

        try:
            document = tomllib.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise BadImages(f"{path}: {error}") from error
        rows = document.get("image")
        if not isinstance(rows, list) or set(document) != {"image"}:
            raise BadImages(f"{path}: it must hold [[image]] tables and nothing else")
        folder = path.absolute().parent
        read = [_row(f"{path}: image {number}", row, folder) for number, row in enumerate(rows, start=1)]
        return cls(read, unknown)

    def find(self, image: str) -> Image | None:
        """The first row that matches, or None when nothing here can serve it."""
        return next((row for row in self._rows if fnmatchcase(image, row.match)), None)

    def conventions_of(self, image: str) -> str:
        """The image whose conventions the built-in container keeps when it serves this one."""
        found = self.find(image)
        return (found.stands_for if found is not None else "") or image


def _row(where: str, row: Any, folder: Path) -> Image:
    if not isinstance(row, dict) or not isinstance(row.get("match"), str):
        raise BadImages(f"{where}: match must be a text, the pattern of its images")
    if unknown := [member for member in row if member not in MEMBERS]:
        raise BadImages(f"{where}: {unknown[0]} is not known: choose of {', '.join(MEMBERS)}")
    if "as" in row:
        return _mapped(where, row)
    command: Any = {member: value for member, value in row.items() if member != "match"}
    try:
        read = ServerCommand.read(json.dumps(command))
    except ValueError as error:
        raise BadImages(f"{where}: {error}") from error
    assert read is not None
    program, *arguments = read.arguments
    if "/" in program:  # as a shell has it, from where the file is
        program = str(folder / program)
    command["command"] = [program, *arguments]
    return Image(row["match"], command)


def _mapped(where: str, row: dict[str, Any]) -> Image:
    """A row that names an image which the built-in container serves already."""
    if others := [member for member in row if member not in ("match", "as")]:
        raise BadImages(f"{where}: as and {others[0]} exclude each other: the built-in container needs no {others[0]}")
    known = row["as"]
    if known == BUILT_IN_NAME:
        return Image(row["match"], stands_for=TORPOR)
    if not isinstance(known, str) or not any(fnmatchcase(f"/{known}", f"*{pattern}") for pattern in BUILT_IN):
        raise BadImages(
            f'{where}: as must be "{BUILT_IN_NAME}", or an image that the built-in container knows, such as '
            '"sagemaker-xgboost:1.7-1" or "sagemaker-scikit-learn:1.2-1"'
        )
    return Image(row["match"], stands_for=known)
