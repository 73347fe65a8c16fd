"""Finds the kinds of records that the product reads from JSON, by the calls that read them."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
PACKAGES = sorted(
    path.parent for folder in ("container", "endpoint", "sdk") for path in (ROOT / folder).glob("*/__init__.py")
)
TABLES = {"RecordTable": 2, "JobRecords": 2}
"""The classes that keep records, and the place of the kind among their arguments."""


def sources() -> Iterator[Path]:
    return (path for package in PACKAGES for path in sorted(package.rglob("*.py")))


def record_kinds() -> dict[str, Any]:
    """Each kind by its name."""
    found: dict[str, Any] = {}
    for path in sources():
        text = path.read_text()
        if "json_records" in text or any(f"{table}(" in text for table in TABLES):
            for argument in _arguments(ast.parse(text), "cls"):
                if argument not in ("kind", "job", "self._kind"):
                    found[argument] = eval(argument, vars(importlib.import_module(_module(path))))
    return found


def _arguments(node: ast.AST, cls: str) -> Iterator[str]:
    """What stands where a kind of record does. `cls` is the class around."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name):
            place = 0 if part.func.id == "read" else TABLES.get(part.func.id)
            if place is not None and len(part.args) > place:
                written = ast.unparse(part.args[place])
                yield cls if written == "cls" else written
        yield from _arguments(part, part.name if isinstance(part, ast.ClassDef) else cls)


def _module(path: Path) -> str:
    package = next(one for one in PACKAGES if path.is_relative_to(one))
    return ".".join(path.relative_to(package.parent).with_suffix("").parts)
