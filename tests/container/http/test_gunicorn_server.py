"""gunicorn: its public parts alone, in one module, of any version that has them."""

import ast
import socket
import subprocess
import sys
import tomllib
from contextlib import ExitStack, closing
from pathlib import Path

import gunicorn
import pytest

from tests.container.helpers.echo_server_process import answer, connected, post
from tests.helpers.thorough_values import thorough
from tests.helpers.waiting import soon

ROOT = Path(__file__).parents[3]
HELPERS = ROOT / "tests" / "container" / "helpers"
PUBLIC = {"gunicorn.app.base", "gunicorn.workers.base"}
"""What gunicorn's documentation names for those who embed it, or write a worker."""

SERVER = """
import sys
from echo_server import Told
from torpor_container.http.gunicorn_server import GunicornServer
from torpor_container.http.server import ServerOptions

bind, sys.argv = sys.argv[1], sys.argv[:1]
GunicornServer(Told, ServerOptions(bind=bind)).run()
"""


def imported(path: Path) -> set[str]:
    """The modules of gunicorn that a file imports."""
    text, found = path.read_text(), set[str]()
    for node in ast.walk(ast.parse(text)) if "gunicorn" in text else ():
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return {module for module in found if module.partition(".")[0] == "gunicorn"}


def test_one_module_alone_imports_gunicorn_and_what_is_public_of_it() -> None:
    files = [path for folder in ("container", "endpoint", "sdk") for path in (ROOT / folder).rglob("*.py")]
    found = {path.name: modules for path in files if (modules := imported(path))}
    assert found == {"gunicorn_server.py": PUBLIC}


def test_no_version_that_has_these_is_excluded() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = [one for extra in extras.values() for one in extra if one.startswith("gunicorn")]
    assert wanted == ["gunicorn>=25.0.3"] * 2
    assert f"gunicorn=={gunicorn.__version__}" in (ROOT / "constraints.txt").read_text().splitlines()


@pytest.mark.parametrize("how", ["a port", *thorough("a socket", "a descriptor")])
def test_the_arbiter_opens_its_port_and_ends_with_the_last_answer(tmp_path: Path, how: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address: object = listener.getsockname()
        bind, passed = f"fd://{listener.fileno()}", [listener.fileno()]
        if how == "a port":
            listener.close()
            bind, passed = "{}:{}".format(*address), []  # type: ignore[misc]
        elif how == "a socket":
            address, bind, passed = str(tmp_path / "s"), f"unix:{tmp_path / 's'}", []
        command = [sys.executable, "-c", SERVER, bind]
        process = subprocess.Popen(command, pass_fds=passed, cwd=HELPERS, stderr=subprocess.PIPE, text=True)
        try:
            assert soon(lambda: _answers(address), within_s=30)
            with closing(_connected(address)) as connection:
                connection.sendall(post("/later/invocations"))
                connection.sendall(post("/now/invocations"))
                with closing(_connected(address)) as other:  # the first one is in hand by now
                    other.sendall(post())
                    assert answer(other)[0] == 200
                process.terminate()
                status, headers, _ = answer(connection)
                assert (status, headers["connection"]) == (200, "close")
            _, told = process.communicate(timeout=30)
        finally:
            process.kill()
        assert process.returncode == 0
        assert "Using worker: torpor_container.http.gunicorn_server.GunicornWorker" in told
        assert "Traceback" not in told


def _connected(address: object) -> socket.socket:
    if isinstance(address, str):
        with ExitStack() as failed:
            connection = failed.enter_context(closing(socket.socket(socket.AF_UNIX)))
            connection.settimeout(60)
            connection.connect(address)
            failed.pop_all()
        return connection
    return connected(address)  # type: ignore[arg-type]


def _answers(address: object) -> bool:
    try:
        with closing(_connected(address)) as connection:
            connection.sendall(post())
            return answer(connection)[0] == 200
    except OSError:
        return False
