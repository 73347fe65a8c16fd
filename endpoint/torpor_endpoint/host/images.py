"""Finds the program that serves a container `Image`, in a table of name patterns. It pulls and runs nothing.

The built-in container serves `torpor` and AWS's XGBoost and scikit-learn images. Any other image needs a row in a TOML
file. A row either names a known image, by whose conventions the built-in container serves this one too, or says how to
start the image's own server as a process of this machine:

    [[image]]
    match = "*.dkr.ecr.*.amazonaws.com/my-xgb:*"    # a shell pattern; the first row that matches wins
    as = "built-in"                                 # like `torpor`; or a known image, such as sagemaker-xgboost:1.7-1

    [[image]]
    match = "*/my-server:*"
    command = ["my-server", "--port", "{port}"]     # the program and its arguments
    ready = ["/ping"]                               # must all answer 2xx; default: /ping, and /models if multi-model
    environment = { MY_HOME = "{base_dir}" }        # added to the container's Environment
    files = { "my.properties" = "port={port}" }     # written to {temp} before the start
    opt_ml = true                                   # the server finds its models at /opt/ml, as on SageMaker
    protocol = "open-inference"                     # how it loads models of {models_dir}: or "llama-server",
                                                    # "llama-swap"; else by SageMaker's contract

`{port}`, `{temp}`, `{base_dir}` and `{model_dir}` stand for the instance's port, temporary folder, base folder
(`/opt/ml` in a container) and the folder of a single model. A program with a `/` in its name is relative to the file's
folder; any other is found on PATH.
"""

import json
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from torpor_container.frozen_class import frozen
from torpor_container.image.server_command import ServerCommand
from torpor_container.wire import ContainerCommand

# AWS names these images <account>.dkr.ecr.<region>.amazonaws.com/<repository>:<tag>. The account differs by region, so
# the patterns ignore it.
BUILT_IN = (
    "torpor",
    "torpor[:@]*",
    "*/xgboost[:@]*",  # the versions up to 0.72
    "*/sagemaker-xgboost[:@]*",
    "*/sagemaker-scikit-learn[:@]*",
)

FAMILIES = {"/xgboost": "xgboost", "/sagemaker-xgboost": "xgboost", "/sagemaker-scikit-learn": "scikit-learn"}
"""The value of TORPOR_IMAGE by the end of a built-in image's repository."""

MEMBERS = ("match", "as", "command", "ready", "environment", "files", "opt_ml", "protocol")

BUILT_IN_NAME = "built-in"
TORPOR = "torpor"
UNKNOWN = ("refuse", BUILT_IN_NAME)
"""What happens to an image that no row matches: its endpoint is Failed, or the built-in container serves it."""


class BadImages(Exception):
    """The file of images cannot be used. The message names the row and its member."""


@frozen
class Image:
    """One row. Without a `command` the built-in container serves the image, by the conventions of `stands_for`, or by
    the image's own if that is empty."""

    match: str
    command: ContainerCommand | None = None
    stands_for: str = ""


def family(image: str) -> str:
    """`xgboost` or `scikit-learn` for AWS's own images of these; empty for any other."""
    named = image.partition("@")[0]
    repository, _, tag = named.rpartition(":")
    if not repository or "/" in tag:  # there is no tag: the colon is before a port
        repository = named
    return next((name for end, name in FAMILIES.items() if f"/{repository}".endswith(end)), "")


class Images:
    """The rows: the user's, then the built-in ones, then one for all other images if `unknown` is `built-in`."""

    def __init__(self, rows: Iterable[Image] = (), unknown: str = UNKNOWN[0]) -> None:
        others = (Image("*", stands_for=TORPOR),) if unknown == BUILT_IN_NAME else ()
        self._rows = (*rows, *map(Image, BUILT_IN), *others)

    @classmethod
    def read(cls, path: Path | None, unknown: str = UNKNOWN[0]) -> "Images":
        """Read the rows of a TOML file; None for the built-in rows alone. Raises BadImages."""
        if path is None:
            return cls(unknown=unknown)
        import tomllib  # few endpoints have such a file

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
        """The image whose conventions the built-in container follows for this one."""
        found = self.find(image)
        return (found.stands_for if found is not None else "") or image


def _row(where: str, row: Any, folder: Path) -> Image:
    if not isinstance(row, dict) or not isinstance(row.get("match"), str):
        raise BadImages(f"{where}: match must be a string, the pattern of image names")
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
    if "/" in program:  # relative, like in a shell, but to the file's folder
        program = str(folder / program)
    command["command"] = [program, *arguments]
    return Image(row["match"], command)


def _mapped(where: str, row: dict[str, Any]) -> Image:
    """A row that names an image that the built-in container serves already."""
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
