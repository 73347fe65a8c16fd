"""Finds the kinds of records that the product reads from JSON, by the calls that read them."""

import ast
import importlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, get_args, get_origin

from tests.helpers.record_values import annotations_of
from tests.helpers.source_trees import modules, parsed

READING = "torpor_container.typed_json"
READERS = {"read", "read_row"}
TABLES = {"RecordTable": 2, "JobRecords": 2}
"""The classes that keep records, and the place of the kind among their arguments."""
MAPPING = re.compile(r"(?i)^(json|(dict|mapping)\[str, any\])$")
"""The annotation of what JSON had."""
FORWARDED = {"kind", "job", "self._kind"}
"""What stands for a kind where the caller names it."""


@cache
def record_kinds() -> dict[str, Any]:
    """Each kind by its name."""
    found: dict[str, Any] = {}
    for module, path in modules().items():
        text = path.read_text()
        if "typed_json" in text or any(f"{table}(" in text for table in TABLES):
            tree = parsed(path)
            readers = {f"typed_json.{name}" for name in READERS} | (_imported(tree, READING) & READERS)
            arguments = set(_arguments(tree, "", readers)) - FORWARDED
            if arguments:
                names = {**vars(importlib.import_module(module)), **_imported_within(tree)}
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


def record_classes() -> dict[str, set[str]]:
    """The fields of each class that a kind of record is made of, by the name of the class."""
    found: dict[str, set[str]] = {}
    pending: list[Any] = list(record_kinds().values())
    while pending:
        kind = pending.pop()
        pending += get_args(kind)
        made = get_origin(kind) or kind
        is_record = is_dataclass(made) or hasattr(made, "__required_keys__") or hasattr(made, "_fields")
        if is_record and made.__name__ not in found:
            annotations = annotations_of(kind)
            found[made.__name__] = set(annotations)
            pending += annotations.values()
    return found


def built_by_hand(tree: Iterable[ast.AST], classes: Mapping[str, Collection[str]]) -> list[str]:
    """The calls in a module that make a record from a mapping: by `**`, or by the names of its fields."""
    return [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in tree
        if isinstance(node, ast.Call) and (fields := classes.get(_called(node))) is not None
        if any(one.arg is None for one in node.keywords)
        or any(_key(argument) in fields for argument in (*node.args, *(one.value for one in node.keywords)))
    ]


def read_methods(tree: Iterable[ast.AST]) -> list[str]:
    """The class methods of a module that read a record from a mapping: `Class.read`."""
    return [
        f"{owner.name}.{method.name}"
        for owner in tree
        if isinstance(owner, ast.ClassDef)
        for method in owner.body
        if isinstance(method, ast.FunctionDef) and "classmethod" in map(ast.unparse, method.decorator_list)
        if any(one.annotation and MAPPING.search(ast.unparse(one.annotation)) for one in method.args.args)
    ]


def _called(node: ast.Call) -> str:
    """The last name of what is called."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _key(node: ast.expr) -> str | None:
    """The name that an expression looks up in a mapping, whatever is made of it: `int(record["age"])`."""
    for part in ast.walk(node):
        looked_up = part.slice if isinstance(part, ast.Subscript) else None
        if isinstance(part, ast.Call) and part.args and _called(part) == "get":
            looked_up = part.args[0]
        if isinstance(looked_up, ast.Constant) and isinstance(looked_up.value, str):
            return looked_up.value
    return None
