"""The notebooks: their files, their cells, and a run of one in a kernel of its own."""

import ast
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
CELL_WITHIN_S = 1800
"""A cell that takes longer hangs: a busy machine is ten times as slow as one at rest."""
KEPT_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL")


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]  # nbformat has no types


def cells(notebook: Any, kind: str) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == kind]


def imported(notebook: Any) -> Iterator[str]:
    """The first parts of all modules that its code imports."""
    for cell in cells(notebook, "code"):
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Import):
                yield from (name.name.split(".")[0] for name in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield (node.module or "").split(".")[0]


@dataclass(frozen=True)
class Ran:
    """A notebook with its outputs. Every process that it started has `mark` in its environment."""

    notebook: Any
    mark: str


def run(path: Path, folder: Path) -> Ran:
    """All cells, one after another, in a kernel that has nothing but this folder. Raises CellExecutionError.

    The folder's path is to be short: there are Unix sockets in it.
    """
    mark, notebook = uuid.uuid4().hex, read(path)
    variables = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    places = {name: str(folder) for name in ("TMPDIR", "IPYTHONDIR", "JUPYTER_CONFIG_DIR")}
    kernel = Config({"KernelManager": {"transport": "ipc", "connection_file": str(folder / "kernel.json")}})
    where = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, config=kernel, kernel_name="python3", timeout=CELL_WITHIN_S, resources=where)
    client.execute(env={**variables, **places, "NOTEBOOK_RUN": mark})
    return Ran(notebook, mark)
