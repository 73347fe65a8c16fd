"""Sizes that a reader can hold in mind, and broad excepts, which stand at edges alone and say why."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.helpers.source_trees import ROOT, inside, modules, nodes, parsed

CLASS_MAX, MODULE_MAX, FUNCTION_MAX = 250, 400, 60
LARGER: dict[str, str] = {}
"""What is larger, and what it is. The list becomes shorter: it may name nothing that fits."""

BROAD_MAX = 45
BROAD = {"Exception", "BaseException"}
COMMENT = re.compile(r"#\s*(?:noqa: \w+\s*)?(?:-\s*)?(.*)")


def lines_of(module: str, path: Path) -> Iterator[tuple[str, int, int]]:
    """The module, and each class and function in it: the dotted name, its lines, and the most that it may have."""
    yield module, len(path.read_text().splitlines()), MODULE_MAX

    def within(node: ast.AST, name: str) -> Iterator[tuple[str, int, int]]:
        for child in inside(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                assert child.end_lineno is not None
                most = CLASS_MAX if isinstance(child, ast.ClassDef) else FUNCTION_MAX
                yield f"{name}.{child.name}", child.end_lineno - child.lineno + 1, most
                yield from within(child, f"{name}.{child.name}")
            else:
                yield from within(child, name)

    yield from within(parsed(path), module)


def test_no_class_module_or_function_is_larger_than_a_reader_can_hold() -> None:
    sizes = [one for module, path in modules().items() for one in lines_of(module, path)]
    large = {name: lines for name, lines, most in sizes if lines > most}
    assert {name: lines for name, lines in large.items() if name not in LARGER} == {}
    assert sorted(LARGER) == sorted(large), "what fits leaves the list"


def is_broad(node: ast.expr | None) -> bool:
    """Whether an `except` of these kinds takes every exception."""
    if isinstance(node, ast.Tuple):
        return any(map(is_broad, node.elts))
    return node is None or (isinstance(node, ast.Name) and node.id in BROAD)


def suppresses(call: ast.Call) -> bool:
    return ast.unparse(call.func).endswith("suppress")


@cache
def broad_excepts() -> dict[str, str]:
    """Each `except` and `suppress` that takes every exception: its place, and the reason beside it."""
    found = {}
    for path in modules().values():
        lines = path.read_text().splitlines()
        for node in nodes(path):
            if (isinstance(node, ast.ExceptHandler) and is_broad(node.type)) or (
                isinstance(node, ast.Call) and any(map(is_broad, node.args)) and suppresses(node)
            ):
                said = COMMENT.search(lines[node.lineno - 1])
                found[f"{path.relative_to(ROOT)}:{node.lineno}"] = said[1] if said else ""
    return found


def test_few_excepts_take_every_exception() -> None:
    assert len(broad_excepts()) <= BROAD_MAX, "\n".join(broad_excepts())


def test_each_of_them_says_why() -> None:
    assert [place for place, reason in broad_excepts().items() if len(reason.split()) < 3] == []


@pytest.mark.parametrize(
    ("code", "broad"),
    [
        ("try: pass\nexcept: pass", True),
        ("try: pass\nexcept Exception: pass", True),
        ("try: pass\nexcept (ValueError, BaseException): pass", True),
        ("try: pass\nexcept (ValueError, OSError): pass", False),
        ("try: pass\nexcept ExceptionGroup: pass", False),
    ],
)
def test_what_takes_every_exception_is_known(code: str, broad: bool) -> None:
    handler = next(node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ExceptHandler))
    assert is_broad(handler.type) is broad
