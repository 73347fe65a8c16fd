"""The arrows of the design, compared with every import in the tree."""

import ast
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.helpers.source_trees import ACCOUNT, CONTAINER, ENDPOINT, FOLDERS, ROOT, SDK, files, inside, modules, parsed

MAY_IMPORT: dict[str, tuple[str, ...]] = {
    CONTAINER: (CONTAINER,),
    # What an AWS account of one machine shares with the container: names, wire shapes, the server and its certificate.
    ACCOUNT: (
        ACCOUNT,
        "torpor_container.artifacts.object_keys",
        "torpor_container.core",
        "torpor_container.how_to_install",
        "torpor_container.http.gunicorn_server",
        "torpor_container.http.server",
        "torpor_container.http.tls.certificate",
        "torpor_container.frozen_class",
        "torpor_container.typed_json",
        "torpor_container.transport.peers.peer_tls",
        "torpor_container.processes.inherited_variables",
        "torpor_container.waiting",
        "torpor_container.wire",
    ),
    # Its wire shapes and settings, the clients that speak them and its pure core; its public start-up: the zygote
    # that forks instances, and the server with its certificate and its port; and what users' scripts find around them,
    # also those that train, and what the machine can hold them to.
    ENDPOINT: (
        ENDPOINT,
        ACCOUNT,
        "torpor_container.wire",
        "torpor_container.how_to_install",
        "torpor_container.frozen_class",
        "torpor_container.typed_json",
        "torpor_container.transport.address",
        "torpor_container.transport.frames",
        "torpor_container.transport.greeting",
        "torpor_container.transport.parts",
        "torpor_container.transport.tickets",
        "torpor_container.transport.peers.credential",
        "torpor_container.transport.peers.handing",
        "torpor_container.transport.peers.peer_names",
        "torpor_container.transport.peers.peer_tls",
        "torpor_container.transport.upstream",
        "torpor_container.transport.upstream_answers",
        "torpor_container.transport.stream_client",
        "torpor_container.transport.chunked_post",
        "torpor_container.transport.multiplexed",
        "torpor_container.settings",
        "torpor_container.image.server_command",
        "torpor_container.artifacts.object_keys",
        "torpor_container.core",
        "torpor_container.processes.process_tree",
        "torpor_container.waiting",
        "torpor_container.processes.import_steps",
        "torpor_container.processes.step_record",
        "torpor_container.processes.zygote_client",
        "torpor_container.processes.lifeline",
        "torpor_container.http.server",
        "torpor_container.http.sharing.channel",
        "torpor_container.http.sharing.shared_port",
        "torpor_container.http.tls.certificate",
        "torpor_container.image.variables",
        "torpor_container.processes.inherited_variables",
        "torpor_container.processes.namespaces",
        "torpor_container.isolation.abilities",
        "torpor_container.running.requirements",
        "torpor_container.formats.script.toolkits",
    ),
    # The endpoint's public start-up, both pure cores, the settings, the words that a ledger's rows are written in, and
    # the container's codec: a client writes what the container reads. And the price list that the user keeps: a command
    # writes it, and the endpoint reads it.
    SDK: (
        SDK,
        "torpor_endpoint.kept_prices",
        "torpor_endpoint.up",
        "torpor_endpoint.starting",
        "torpor_endpoint.options",
        "torpor_endpoint.routing.router.router_options",
        "torpor_endpoint.routing.router.start",
        "torpor_account.core",
        "torpor_endpoint.core",
        "torpor_container.core",
        "torpor_container.waiting",
        "torpor_container.settings",
        "torpor_container.wire",
        "torpor_container.how_to_install",
        "torpor_container.frozen_class",
        "torpor_container.typed_json",
        "torpor_container.content.writers",
        "torpor_container.adapter.port_blocks",
    ),
}

ROOM_MAX = 14
"""Modules in one folder: a dozen, and a few where each is one operation or one table."""

IMPURE = {"time", "random", "asyncio", "socket", "os", "threading", "subprocess", "pathlib", "secrets", "sqlite3"}
CLIENTS = {"boto3", "botocore", "obstore", "httptools", "starlette", "gunicorn", "moto", "requests", "httpx", "psutil"}


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Those of a block, and of the blocks in it."""
    for part in inside(node):
        yield part
        yield from statements(part)


def imports(path: Path) -> Iterator[str]:
    """Every module that the file imports, also inside functions and under TYPE_CHECKING."""
    for node in statements(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides its arrow"
            assert node.module is not None
            yield from (f"{node.module}.{name.name}" for name in node.names)


def is_under(module: str, allowed: str) -> bool:
    return module == allowed or module.startswith(allowed + ".")


@pytest.mark.parametrize("package", FOLDERS)
def test_arrows_point_one_way(package: str) -> None:
    ours = tuple(FOLDERS)
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in files(package)
        for module in imports(path)
        if module.split(".")[0] in ours and not any(is_under(module, allowed) for allowed in MAY_IMPORT[package])
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "core",
    [
        "container/torpor_container/core",
        "endpoint/torpor_account/core",
        "endpoint/torpor_endpoint/core",
        "sdk/torpor/confirming/core",
    ],
)
def test_cores_are_pure(core: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in sorted((ROOT / core).rglob("*.py"))
        for module in imports(path)
        if module.split(".")[0] in IMPURE | CLIENTS
    ]
    assert wrong == []


def needed(node: ast.AST, known: Collection[str]) -> Iterator[str]:
    """The imports of the code as it runs, also inside functions, without those that only a type checker sees.

    `from package import name` needs the module of this name, or else what the package itself defines. So a package may
    gather its modules, and they may import one another; who imports from its own package goes in a circle.
    """
    for part in inside(node):
        if isinstance(part, ast.Import):
            yield from (name.name for name in part.names)
        elif isinstance(part, ast.ImportFrom):
            named = ((f"{part.module}.{name.name}", part.module or "") for name in part.names)
            yield from (module if module in known else package for module, package in named)
        elif not (isinstance(part, ast.If) and ast.unparse(part.test) == "TYPE_CHECKING"):
            yield from needed(part, known)


@cache
def needed_by(path: Path) -> tuple[str, ...]:
    """What a module of the four packages needs."""
    return tuple(needed(parsed(path), modules()))


def circle(arrows: Mapping[str, Collection[str]]) -> list[str]:
    """Modules that each need the next, back to the first; none if all arrows lead away."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def test_no_imports_go_in_a_circle() -> None:
    assert circle({name: needed_by(path) for name, path in modules().items()}) == []


def room(module: str) -> str:
    """The folder of a package that holds the module: `torpor_endpoint.fleet`, also of what lies deeper."""
    inner = module.split(".")[1:]
    return inner[0] if len(inner) > 1 or (modules()[module].name == "__init__.py" and inner) else ""


@pytest.mark.parametrize("package", FOLDERS)
def test_no_rooms_import_in_a_circle(package: str) -> None:
    """The first level of folders. What a package composes at its top, such as `app`, belongs to no room."""
    known = modules()
    arrows: dict[str, set[str]] = {}
    for name, path in known.items():
        if name.split(".")[0] == package and room(name):
            within = {module for module in needed_by(path) if module in known}
            leads_to = {room(module) for module in within if module.split(".")[0] == package}
            arrows.setdefault(room(name), set()).update(leads_to - {room(name), ""})
    assert circle(arrows) == []


def test_control_and_routers_know_each_other_by_their_protocol_alone() -> None:
    sides = {side: f"{ENDPOINT}.routing.{side}" for side in ("control", "router")}
    wrong = [
        f"{name} imports {module}"
        for name, path in modules().items()
        for side, others in (("control", ("router",)), ("router", ("control",)), ("protocol", ("control", "router")))
        if is_under(name, f"{ENDPOINT}.routing.{side}")
        for module in imports(path)
        if any(is_under(module, sides[other]) for other in others)
    ]
    assert wrong == []


def test_a_router_starts_without_what_starts_an_endpoint() -> None:
    starts = ("up", "app", "parts", "service_apps")
    wrong = [
        f"{name} imports {module}"
        for name, path in modules().items()
        if is_under(name, f"{ENDPOINT}.routing.router") or name == f"{ENDPOINT}.router"
        for module in imports(path)
        if any(is_under(module, f"{ENDPOINT}.{start}") for start in starts)
    ]
    assert wrong == []


def test_a_room_is_seen_at_a_glance() -> None:
    """About a dozen modules in a folder. `toolkits` holds stand-ins, whose names are those of AWS's own."""
    crowded = {
        str(folder.relative_to(ROOT)): count
        for package in FOLDERS
        for folder in {path.parent for path in files(package)}
        if "toolkits" not in folder.parts and (count := len(list(folder.glob("[!_]*.py")))) > ROOM_MAX
    }
    assert crowded == {}


def test_notebooks_import_only_the_face() -> None:
    sources = [*(ROOT / "notebooks").rglob("*.ipynb"), *(ROOT / "notebooks").rglob("*.py")]
    assert not [path for path in sources if any(package in path.read_text() for package in FOLDERS if package != SDK)]


def test_the_check_finds_a_wrong_arrow(tmp_path: Path) -> None:
    module = tmp_path / "wrong.py"
    module.write_text("def f():\n    from torpor_endpoint.app import Endpoint\n")
    assert list(imports(module)) == ["torpor_endpoint.app.Endpoint"]
    assert not any(is_under("torpor_endpoint.app.Endpoint", allowed) for allowed in MAY_IMPORT[SDK])


@pytest.mark.parametrize(
    ("of_the_module", "found"),
    [
        ("from p import a_name", ["p", "p.m", "p"]),
        ("def f():\n    from p import a_name", ["p", "p.m", "p"]),
        ("import p", ["p", "p.m", "p"]),
        ("from p import n", []),
        ("if TYPE_CHECKING:\n    from p import a_name", []),
    ],
)
def test_the_check_finds_a_circle(of_the_module: str, found: list[str]) -> None:
    sources = {"p": "from p import m, n", "p.m": of_the_module, "p.n": ""}
    assert circle({name: list(needed(ast.parse(source), sources)) for name, source in sources.items()}) == found
