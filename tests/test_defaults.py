"""The default of a setting stands only in the table of settings."""

import ast
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from tests.helpers.source_trees import ROOT, modules, nodes
from torpor_container.image.aws_images import MAX_CONTENT_BYTES
from torpor_container.running.runners import TOGETHER_MAX
from torpor_container.settings import BY_FIELD, DEFAULTS, MIB, SETTINGS
from torpor_endpoint.core.scaling import GROW_S

TABLE = modules()["torpor_container.settings"]
STATED = [getattr(DEFAULTS, row.field) for row in SETTINGS]
"""The defaults of all settings."""
ELSEWHERE = {
    # AWS's own library, under its own name.
    "container/torpor_container/formats/script/toolkits/sagemaker_containers/_env.py: SAGEMAKER_BASE_DIR = /opt/ml",
    # An instance is one process under Gunicorn, however many workers its scripts have.
    "container/torpor_container/http/gunicorn_server.py: workers = 1",
    # SageMaker's own numbers, whatever ours are.
    "sdk/torpor/conformance/limits.py: load_s = 360.0",
    "sdk/torpor/conformance/started_container.py: DEFAULT_PORT = 8080",
}


def repeated(tree: Iterable[ast.AST]) -> list[str]:
    """Each place that states a default of the table again: a field, parameter or constant with the name of a setting,
    or its variable, together with a literal.

    Only numbers and words count: two places cannot disagree on what empty means.
    """
    pairs = (pair for node in tree for pair in _pairs(node))
    found = ((name, _literal(value)) for name, value in pairs)
    return [f"{name} = {value}" for name, value in found if _is_default(name, value)]


def _is_default(name: str, value: object) -> bool:
    if isinstance(value, bool) or not value or value not in STATED:
        return False
    return any(
        getattr(DEFAULTS, row.field) == value and (name == row.variable or _alike(name, row.field)) for row in SETTINGS
    )


def _alike(name: str, field: str) -> bool:
    """Whether one has all the words of the other, in any order: `bytes_max` and `unpack_max_bytes`."""
    words, of_field = set(name.lower().split("_")), set(field.split("_"))
    return words <= of_field or of_field <= words


def _pairs(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names, each with the expression that is its value or its default."""
    match node:
        case ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value):
            yield name, value
        case ast.Assign(targets=[ast.Name(name)], value=value):
            yield name, value
        case ast.arguments():
            by_place = [*node.posonlyargs, *node.args]
            yield from zip((one.arg for one in reversed(by_place)), reversed(node.defaults), strict=False)
            by_name = zip(node.kwonlyargs, node.kw_defaults, strict=True)
            yield from ((one.arg, value) for one, value in by_name if value is not None)
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(str() as name), value]):
            yield name, value
        case ast.Dict():
            by_key = zip(node.keys, node.values, strict=True)
            yield from ((_literal(key), value) for key, value in by_key if key and isinstance(_literal(key), str))


def _literal(node: ast.expr) -> Any:
    """The value of a literal, or of a product or power of literals; None for any other expression."""
    match node:
        case ast.Constant(value):
            return value
        case ast.BinOp(left, ast.Mult() | ast.Pow() as by, right):
            pair = _literal(left), _literal(right)
            if all(isinstance(one, int | float) for one in pair):
                return pair[0] * pair[1] if isinstance(by, ast.Mult) else pair[0] ** pair[1]
    return None


def test_a_default_stands_in_the_table_alone() -> None:
    paths = [path for path in modules().values() if path != TABLE]
    found = {f"{path.relative_to(ROOT)}: {one}" for path in paths for one in repeated(nodes(path))}
    assert found <= ELSEWHERE, sorted(found - ELSEWHERE)


@pytest.mark.parametrize(
    ("field", "meaning"),
    [
        ("batch_size", f"Empty: {TOGETHER_MAX} if"),
        ("content_max_bytes", f"up to {MAX_CONTENT_BYTES // MIB} MiB"),
        ("concurrency", f"More of them for {GROW_S:g} s start another"),
    ],
)
def test_a_number_in_the_meaning_of_a_setting_is_the_code_s(field: str, meaning: str) -> None:
    assert meaning in BY_FIELD[field].meaning


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("IDLE_S = 20 * 60.0", ["IDLE_S = 1200.0"]),
        ("class Limits:\n    bytes_max: int = 10 * 1024**3", ["bytes_max = 10737418240"]),
        ("def scale(variant, concurrency=8): ...", ["concurrency = 8"]),
        ("def scale(variant, *, concurrency=8): ...", ["concurrency = 8"]),
        ("environment.get('TORPOR_KEEP_ALIVE', 'fixed')", ["TORPOR_KEEP_ALIVE = fixed"]),
        ("{'TORPOR_READY_WAIT_SECONDS': 60.0, 1: 60.0, **more}", ["TORPOR_READY_WAIT_SECONDS = 60.0"]),
        ("policy: str = DEFAULTS.policy", []),
        ("idle_s: float = 60.0", []),
        ("hold_s: float = 60.0", []),
    ],
)
def test_the_check_finds_a_repeated_default(source: str, found: list[str]) -> None:
    assert repeated(ast.walk(ast.parse(source))) == found
