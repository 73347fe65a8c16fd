"""`torpor up` with ports that are taken or do not exist, and how long it waits to name its routers."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner, Result

from tests.helpers.ports import free_ports
from torpor.calling.connection import EndpointConnection
from torpor.cli import app
from torpor.cli.commands.up import _until_routing
from torpor.errors import NotTorpor


def refused(*arguments: str) -> Result:
    """What the command says of arguments with which it does not start."""
    done = CliRunner().invoke(app, ["up", *arguments])
    assert done.output.startswith("torpor: ")
    assert done.output.count("\n") == 1
    return done


@contextmanager
def answering(body: bytes) -> Iterator[EndpointConnection]:
    """A connection to a server that answers everything so."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield EndpointConnection(f"http://127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()
            thread.join()


def test_a_port_in_use_is_refused_and_leaves_no_folder(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = refused(f"--port={taken.getsockname()[1]}", f"--data-dir={tmp_path / 'new'}")
    assert (done.exit_code, list(tmp_path.iterdir())) == (1, [])


def test_a_port_of_a_router_in_use_is_refused_before_anything_starts(tmp_path: Path) -> None:
    first = free_ports(3)
    with socket.create_server(("127.0.0.1", first + 2)):
        done = refused(f"--port={first}", "--routers=2", "--router-ports", f"--data-dir={tmp_path / 'new'}")
    assert f"127.0.0.1:{first + 2} cannot be listened on by a router: Address already in use" in done.output
    assert (done.exit_code, list(tmp_path.iterdir())) == (1, [])


def test_a_port_of_a_router_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    done = refused("--port=65535", "--routers=1", "--router-ports", f"--data-dir={tmp_path / 'new'}")
    assert "--routers: their last port would be 65536, and 65535 is the highest" in done.output
    assert (done.exit_code, list(tmp_path.iterdir())) == (2, [])


def test_only_a_router_is_named_as_one() -> None:
    with answering(b'{"status": "ok", "role": "router"}') as router:
        _until_routing(router)
    for other in (b'{"status": "ok"}', b"[]", b"hello"):
        with answering(other) as stranger, pytest.raises(NotTorpor):
            _until_routing(stranger)
