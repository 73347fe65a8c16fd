"""Finds the path `/opt/ml/model` in a script's source, and shows the model at that path to the script's process.

Most scripts take the model's folder as an argument, and need none of this: the search for `/opt/ml` in the source takes
some ten microseconds.
"""

import ast
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from torpor_container.errors import LoadFailed
from torpor_container.processes.namespaces import NoNamespace, bind_mounts

MODEL = "/opt/ml/model"
CODE = "/opt/ml/code"
"""The script's folder in AWS's older images."""
OUTPUT = "/opt/ml/output"

ROOT = "/opt/ml"
SOURCES_MAX = 100
SOURCE_MAX_BYTES = 1024 * 1024


class Mention(NamedTuple):
    """A path in a source."""

    file: str
    line: int
    path: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}, has the path {self.path}"


def show(script: Path, model: Path, bind: Callable[[Mapping[str, Path]], None] = bind_mounts) -> None:
    """Give this process, which has one thread, a view of the paths that the script or a module beside it mentions.

    Raises LoadFailed, which names the line, where the machine allows no such view.
    """
    found = mentions(script)
    if not found or _is_there(model):
        return
    try:
        bind({MODEL: model, CODE: script.parent})
    except NoNamespace as error:
        raise failed(found, error) from error


def wanted(found: Sequence[Mention], script: Path, model: Path) -> dict[str, str | None]:
    """The paths that a script in a box needs beside its model's folder, each with the folder to show there; None for an
    empty one, which it may write."""
    if not found:
        return {}
    folders = {} if _is_there(model) else {MODEL: str(model), CODE: str(script.parent)}
    return {**folders, OUTPUT: None}


def failed(found: Sequence[Mention], error: NoNamespace) -> LoadFailed:
    """The error of a script that can have no view. It names the line that needs one."""
    if not found:
        return LoadFailed(f"the script can have no view of files of its own: {error}")
    return LoadFailed(
        f"{found[0]}, which is not there: {error}. Take the folder from model_fn's argument or from SM_MODEL_DIR"
    )


def mentions(script: Path) -> list[Mention]:
    """Where the script and the modules beside it need a path below /opt/ml, one mention of each file.

    A text that is only what is taken where a variable or an option is not set is none.
    """
    found = []
    for path in _sources(script):
        try:
            source = path.read_bytes()
        except OSError:
            continue
        if ROOT.encode() in source and len(source) <= SOURCE_MAX_BYTES and (first := _first(source, path.name)):
            found.append(first)
    return found


def _sources(script: Path) -> Iterator[Path]:
    """The script and the modules beside it, the script first."""
    yield script
    with os.scandir(script.parent) as entries:
        others = [entry.path for entry in entries if entry.name.endswith(".py") and entry.path != str(script)]
    yield from map(Path, sorted(others)[:SOURCES_MAX])


def _first(source: bytes, name: str) -> Mention | None:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None  # its import tells
    passed_over = {id(node) for parent in ast.walk(tree) for node in _only_said(parent)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in passed_over and _is_below(node.value):
            return Mention(name, node.lineno, str(node.value))
    return None


def _only_said(node: ast.AST) -> Iterator[ast.AST]:
    """Strings that open no path here: docstrings, defaults of variables and options, and those in code that runs only
    as a program, since a script often trains its model too."""
    if isinstance(node, ast.Expr):
        yield node.value
    if isinstance(node, ast.Call):
        yield from (keyword.value for keyword in node.keywords if keyword.arg == "default")
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "getenv"):
            yield from node.args[1:]
    if isinstance(node, ast.If) and "__name__" in {
        name.id for name in ast.walk(node.test) if isinstance(name, ast.Name)
    }:
        yield from (inner for statement in node.body for inner in ast.walk(statement))


def _is_below(value: object) -> bool:
    return isinstance(value, str) and (value == ROOT or value.startswith(f"{ROOT}/"))


def _is_there(model: Path) -> bool:
    """Whether the model is at that path already, as in a container of its own."""
    try:
        return os.path.samefile(MODEL, model)
    except OSError:
        return False
