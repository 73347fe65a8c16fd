"""Finds the kinds of records that the product reads from JSON, by the calls that read them."""

import ast
import importlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
PACKAGES = sorted(
    path.parent for folder in ("container", "endpoint", "sdk") for path in (ROOT / folder).glob("*/__init__.py")
)
READING = "torpor_container.typed_json"
READERS = {"read", "read_row"}
TABLES = {"RecordTable": 2, "JobRecords": 2}
"""The classes that keep records, and the place of the kind among their arguments."""
FORWARDED = {"kind", "job", "self._kind"}
"""What stands for a kind where the caller names it."""


def sources() -> Iterator[Path]:
    return (path for package in PACKAGES for path in sorted(package.rglob("*.py")))


def record_kinds() -> dict[str, Any]:
    """Each kind by its name."""
    found: dict[str, Any] = {}
    for path in sources():
        text = path.read_text()
        if "typed_json" in text or any(f"{table}(" in text for table in TABLES):
            tree = ast.parse(text)
            readers = {f"typed_json.{name}" for name in READERS} | (_imported(tree, READING) & READERS)
            arguments = set(_arguments(tree, "", readers)) - FORWARDED
            if arguments:
                names = {**vars(importlib.import_module(_module(path))), **_imported_within(tree)}
                found |= {argument: eval(argument, names) for argument in sorted(arguments)}
    return found


def _imported(tree: ast.Module, module: str) -> set[str]:
    """The names that a module imports from another."""
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == module)
    return {one.name for node in imports for one in node.names}


def _imported_within(tree: ast.Module) -> dict[str, Any]:
    """What functions of a module import."""
    inner = (node for part in ast.walk(tree) if isinstance(part, ast.FunctionDef) for node in part.body)
    return {
        one.name: getattr(importlib.import_module(str(node.module)), one.name)
        for node in inner
        if isinstance(node, ast.ImportFrom)
        for one in node.names
    }


def _arguments(node: ast.AST, cls: str, readers: Collection[str]) -> Iterator[str]:
    """What stands where a kind of record does. `cls` is the class around."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.Call):
            called = ast.unparse(part.func)
            place = 0 if called in readers else TABLES.get(called)
            if place is not None and len(part.args) > place:
                written = ast.unparse(part.args[place])
                yield cls if written == "cls" else written
        yield from _arguments(part, part.name if isinstance(part, ast.ClassDef) else cls, readers)


def _module(path: Path) -> str:
    package = next(one for one in PACKAGES if path.is_relative_to(one))
    return ".".join(path.relative_to(package.parent).with_suffix("").parts)
