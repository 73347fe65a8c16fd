"""A foreign server among several containers, in a pipeline and by its hostname."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, one
from tests.endpoint.helpers.model_artifacts import packed, put, script

SERVER = """
import os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(200, b"")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if body == b"no":
            self.answer(418, b"a foreign word")
        else:
            words = open(os.path.join(sys.argv[2], "word")).read()
            self.answer(200, body + b" foreign(" + self.headers["content-type"].encode() + b") " + words.encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-type", "text/x-foreign")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass

HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
ECHO = """
def model_fn(folder):
    return None

def transform_fn(model, body, content_type, accept):
    text = body if isinstance(body, str) else body.decode()
    return text + " script(" + content_type + ")", "text/x-script"
"""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "server.py").write_text(SERVER)
    images = folder / "images.toml"
    command = [sys.executable, str(folder / "server.py"), "{port}", "{model_dir}"]
    images.write_text(f'[[image]]\nmatch = "foreign*"\ncommand = {command!r}\n')
    with LiveEndpoint(folder, "--images", str(images)) as endpoint:
        put(endpoint.folder("mixed"), {"echo.tar.gz": script(ECHO), "word.tar.gz": packed({"word": "weights"})})
        yield endpoint


def foreign(hostname: str) -> dict[str, Any]:
    return one("mixed/word.tar.gz", Image="foreign:1", ContainerHostname=hostname)


def own(hostname: str) -> dict[str, Any]:
    return one("mixed/echo.tar.gz", ContainerHostname=hostname)


@pytest.mark.parametrize(
    ("containers", "body"),
    [
        ((own("a"), foreign("b")), b"x script(text/csv) foreign(text/x-script) weights"),
        ((foreign("a"), own("b")), b"x foreign(text/csv) weights script(text/x-foreign)"),
        ((foreign("a"), foreign("b")), b"x foreign(text/csv) weights foreign(text/x-foreign) weights"),
    ],
)
def test_a_foreign_server_takes_part_in_a_pipeline(
    live: LiveEndpoint, containers: tuple[dict[str, Any], ...], body: bytes
) -> None:
    name = "-".join(str(container["Image"].partition(":")[0]) for container in containers)
    endpoint = live.deploy(name, Variant(containers))
    assert live.invoke(endpoint, b"x")["Body"] == body


def test_a_foreign_server_is_invoked_by_its_hostname(live: LiveEndpoint) -> None:
    endpoint = live.deploy("Named", Variant((own("own"), foreign("foreign")), mode="Direct"))
    assert live.invoke(endpoint, b"x", TargetContainerHostname="own")["Body"] == b"x script(text/csv)"
    assert live.invoke(endpoint, b"x", TargetContainerHostname="foreign")["Body"] == b"x foreign(text/csv) weights"
    with pytest.raises(ClientError, match=r"client error \(418\) from foreign with message .a foreign word"):
        live.invoke(endpoint, b"no", TargetContainerHostname="foreign")
