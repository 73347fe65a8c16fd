"""gunicorn's private parts: one module touches them, lists them all, and the installed gunicorn has them."""

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from gunicorn.asgi import parser, protocol
from gunicorn.config import Config
from gunicorn.workers import gasgi

from torpor_container.http import gunicorn_internals
from torpor_container.http.connections import TrackedConnection
from torpor_container.http.framed_requests import FramedRequests
from torpor_container.http.gunicorn_internals import PRIVATE_NAMES
from torpor_container.http.half_closed import HalfClosedConnections
from torpor_container.http.worker import DrainingWorker

ROOT = Path(__file__).parents[3]
INTERNALS = Path(gunicorn_internals.__file__)
PUBLIC = frozenset({"gunicorn", "gunicorn.app.base", "gunicorn.config", "gunicorn.workers.base"})
"""What gunicorn's documentation names for those who embed it, or write a worker."""

LISTED = {name for names in PRIVATE_NAMES.values() for name in names}


def originals() -> dict[str, object]:
    """By their names: modules, and of each class an instance, which has the attributes that it sets itself."""
    settings = SimpleNamespace(cfg=Config(), log=None, asgi=None)
    connection = protocol.ASGIProtocol(settings)
    made = {
        "gunicorn.asgi.protocol.ASGIProtocol": connection,
        "gunicorn.asgi.protocol.BodyReceiver": protocol.BodyReceiver(None, connection),
        "gunicorn.asgi.parser.PythonProtocol": parser.PythonProtocol(),
        "gunicorn.workers.gasgi.ASGIWorker": gasgi.ASGIWorker,
    }
    return {owner: made.get(owner) or import_module(owner) for owner in PRIVATE_NAMES}


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner, names in PRIVATE_NAMES.items() for name in names])
def test_the_installed_gunicorn_has_each_private_name(owner: str, name: str) -> None:
    assert hasattr(originals()[owner], name)


def test_the_list_names_all_that_the_module_touches_and_nothing_else() -> None:
    touched = {name for name in private_names(INTERNALS) if not name.startswith("__")}
    assert touched == {name for name in LISTED if name.startswith("_")}


def test_each_private_name_is_explained_in_whole_sentences() -> None:
    assert [name for names in PRIVATE_NAMES.values() for name, why in names.items() if not why.endswith(".")] == []


def private_names(path: Path) -> Iterator[str]:
    """Those that a file reads, calls or defines in some class or module."""
    for node in ast.walk(ast.parse(path.read_text())):
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "name", None)
        if isinstance(name, str) and name.startswith("_"):
            yield name


def python_files() -> list[Path]:
    return [path for folder in ("container", "endpoint", "sdk") for path in (ROOT / folder).rglob("*.py")]


def imported(path: Path) -> set[str]:
    """The modules of gunicorn that a file imports."""
    found, text = set(), path.read_text()
    for node in ast.walk(ast.parse(text)) if "gunicorn" in text else ():
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return {module for module in found if module.partition(".")[0] == "gunicorn"}


def test_no_other_module_imports_what_is_private() -> None:
    wrong = {path.name: imported(path) - PUBLIC for path in python_files() if path != INTERNALS}
    assert {name: modules for name, modules in wrong.items() if modules} == {}


SUBCLASSES = {TrackedConnection: protocol.ASGIProtocol, DrainingWorker: gasgi.ASGIWorker}

NOT_PRIVATE = {
    *("connection_made", "connection_lost", "data_received", "eof_received"),  # asyncio's
    *("init_process", "load_wsgi", "handle_exit_signal", "handle_quit_signal"),  # a worker's, for its subclasses
    *("asgi", "nr_conns"),
}


@pytest.mark.parametrize("ours", [*SUBCLASSES, HalfClosedConnections, FramedRequests])
def test_no_other_module_touches_a_private_name(ours: type) -> None:
    modules = {Path(inspect.getfile(cls)) for cls in ours.__mro__ if cls.__module__.startswith("torpor")} - {INTERNALS}
    assert {path.name: names for path in modules if (names := set(private_names(path)) & LISTED)} == {}


@pytest.mark.parametrize(("ours", "theirs"), SUBCLASSES.items())
def test_no_subclass_gives_a_name_of_gunicorns_another_meaning(ours: type, theirs: type) -> None:
    classes = ours.__mro__[: ours.__mro__.index(theirs)]
    named = {name for cls in classes for name in (*vars(cls), *set_by(cls)) if not name.startswith("__")}
    assert named & {*dir(theirs), *set_by(theirs)} <= LISTED | NOT_PRIVATE


def set_by(cls: type) -> set[str]:
    """The attributes that a class's methods set on `self`."""
    parts = [part for part in ast.walk(ast.parse(inspect.getsource(cls))) if isinstance(part, ast.Attribute)]
    return {part.attr for part in parts if isinstance(part.ctx, ast.Store) and ast.unparse(part.value) == "self"}
