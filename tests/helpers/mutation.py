"""Mutants of a module: its source with one small fault in each, made from its syntax tree.

Types, `__all__`, decorators, docstrings, and texts for people (a string with a space) are left as they are.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Break: ast.Continue,
    ast.Continue: ast.Break,
}
FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
TESTED = (ast.If, ast.While, ast.IfExp)
DECIDED = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant)
"""Conditions that have mutants of their own."""
SHOWN_MAX = 100
"""The most characters of code that stand for a mutant in its name."""


class Place(NamedTuple):
    """A node, where it hangs, and the expressions and statements around it, from the outermost."""

    holder: ast.AST
    field: str
    at: int | None
    node: ast.AST
    around: tuple[ast.AST, ...]
    definition: str

    def put(self, node: ast.AST) -> None:
        if self.at is None:
            setattr(self.holder, self.field, node)
        else:
            getattr(self.holder, self.field)[self.at] = node


@dataclass(frozen=True)
class Mutant:
    """One fault. Its name stays when lines move: the definition, and the code around the fault before and after."""

    name: str
    lines: range
    """The lines of the statement, or of the condition of a compound one, in the unchanged source."""
    source: str


def mutants(source: str) -> Iterator[Mutant]:
    """Each mutant of a module."""
    tree = ast.parse(source)
    for name, lines in _faults(tree):
        yield Mutant(name, lines, ast.unparse(tree))


def mutant_names(source: str) -> list[str]:
    """The names of the mutants of a module, without what takes long: their sources."""
    return [name for name, _ in _faults(ast.parse(source))]


def _faults(tree: ast.Module) -> Iterator[tuple[str, range]]:
    """Puts one fault after another into the tree: its name, and the lines that it is in."""
    seen: Counter[str] = Counter()
    for place in list(_places(tree, (), "")):
        for other in _others(place):
            shown = next((node for node in place.around if len(ast.unparse(node)) <= SHOWN_MAX), place.node)
            before = ast.unparse(shown)
            place.put(ast.fix_missing_locations(ast.copy_location(other, place.node)))
            after = ast.unparse(other if shown is place.node else shown)
            name = " ".join(f"{place.definition}: {before} → {after}".replace("`", "'").split())
            seen[name] += 1
            whole = next((node for node in (*place.around, place.node) if hasattr(node, "lineno")), other)
            lines = range(getattr(whole, "lineno", 1), getattr(whole, "end_lineno", 1) + 1)
            yield name if seen[name] == 1 else f"{name} ({seen[name]})", lines
            place.put(place.node)


def _places(node: ast.AST, around: tuple[ast.AST, ...], definition: str) -> Iterator[Place]:
    if isinstance(node, DEFINITIONS):
        definition = f"{definition}.{node.name}".lstrip(".")
    for field, value in ast.iter_fields(node):
        if not _is_untouched(node, field):
            for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
                if isinstance(child, ast.AST) and not _is_left(child):
                    inside = (
                        (*around, child) if not isinstance(child, ast.stmt) else () if _is_compound(child) else (child,)
                    )
                    yield Place(node, field, index, child, around, definition)
                    yield from _places(child, inside, definition)


def _is_compound(node: ast.stmt) -> bool:
    return hasattr(node, "body") or isinstance(node, ast.Match)


def _is_untouched(node: ast.AST, field: str) -> bool:
    """Whether all that is in this field stays as it is."""
    if isinstance(node, DEFINITIONS) and field in ("bases", "keywords", "decorator_list", "returns"):
        return True
    only_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    return only_types or field in ("annotation", "format_spec") or (isinstance(node, ast.UnaryOp) and field == "op")


def _is_left(node: ast.AST) -> bool:
    """Whether a node and all below it stay as they are: docstrings, imports, what is handed on, and types."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
        return True
    if isinstance(node, (ast.Subscript, ast.Call)) and ast.unparse(node).startswith(("Literal[", "TypeVar(")):
        return True
    return isinstance(node, (ast.Import, ast.ImportFrom, ast.expr_context, ast.arg, ast.Global, ast.Assert))


def _others(place: Place) -> Iterator[ast.AST]:
    """What may stand in a node's place."""
    node = place.node
    if type(node) in OPERATORS:
        yield OPERATORS[type(node)]()
    elif isinstance(node, ast.Constant):
        yield from _other_constants(node.value, isinstance(place.holder, (ast.JoinedStr, ast.FormattedValue)))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield node.operand
    elif isinstance(node, ast.Name) and node.id in FUNCTIONS and isinstance(place.holder, ast.Call):
        yield ast.Name(FUNCTIONS[node.id], node.ctx)
    elif isinstance(node, ast.stmt):
        yield from _other_statements(node)
    if _is_condition(place) and isinstance(node, ast.expr) and not isinstance(node, DECIDED):
        yield ast.UnaryOp(ast.Not(), node)


def _is_condition(place: Place) -> bool:
    """What decides a branch, or which items a comprehension takes."""
    return (isinstance(place.holder, TESTED) and place.field == "test") or place.field == "ifs"


def _other_constants(value: Any, in_a_text: bool) -> Iterator[ast.AST]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, (int, float)):
        yield ast.Constant(value + 1)
    elif isinstance(value, str) and " " not in value and not in_a_text:
        yield ast.Constant(f"{value}X")


def _other_statements(node: ast.stmt) -> Iterator[ast.AST]:
    """Without the effect of a statement; without what a function returns."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    kept = any(isinstance(target, (ast.Attribute, ast.Subscript)) for target in targets)
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if kept or called or isinstance(node, (ast.AugAssign, ast.Delete, ast.Raise)):
        yield ast.Pass()
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, DECIDED):
        yield ast.Return(None)
