"""The modules of the four packages and their syntax trees, each parsed once for all tests of one process."""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONTAINER, ACCOUNT, ENDPOINT, SDK = "torpor_container", "torpor_account", "torpor_endpoint", "torpor"
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
FOLDERS = {CONTAINER: "container", ACCOUNT: "endpoint", ENDPOINT: "endpoint", SDK: "sdk"}


def files(package: str) -> list[Path]:
    return sorted((ROOT / FOLDERS[package] / package).rglob("*.py"))


@cache
def modules() -> Mapping[str, Path]:
    """Every module of the four packages, by its name."""
    paths = {path.relative_to(ROOT / FOLDERS[package]): path for package in FOLDERS for path in files(package)}
    return {".".join(path.with_suffix("").parts).removesuffix(".__init__"): file for path, file in paths.items()}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a module's tree, in the order of `ast.walk`."""
    return tuple(ast.walk(parsed(path)))


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """The statements of a block, and the clauses of `try` and `match`. Expressions are ten times as many nodes."""
    for name in BLOCKS:
        yield from getattr(node, name, ())
