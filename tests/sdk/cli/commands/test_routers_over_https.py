"""`torpor up --routers` and `torpor router` with TLS: what they print, and what `torpor env` says of a router."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from typer.testing import CliRunner

from tests.helpers.certificates import pair
from tests.helpers.ports import free_ports
from tests.helpers.waiting import soon
from torpor.calling.connection import EndpointConnection
from torpor.cli import app
from torpor.errors import EndpointUnreachable

EXPORT = re.compile(r"export (\w+)=(\S+)")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}


@contextmanager
def running(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "torpor", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=CLEAN) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0


def read_until(stream: IO[str] | None, mark: str) -> str:
    assert stream is not None
    printed = ""
    while mark not in printed:
        line = stream.readline()
        assert line, printed
        printed += line
    return printed


def answers(connection: EndpointConnection) -> bool:
    try:
        return bool(connection.page("health"))
    except EndpointUnreachable:
        return False


def env(url: str, data_dir: Path) -> dict[str, str]:
    unset = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_CA_BUNDLE"))
    done = CliRunner().invoke(app, ["env", "--url", url, "--data-dir", str(data_dir)], env=unset)
    assert done.exit_code == 0, done.output
    return dict(EXPORT.findall(done.output))


@pytest.mark.thorough
def test_the_start_names_https_urls_of_routers_and_so_does_env(tmp_path: Path) -> None:
    port, data_dir = free_ports(3), tmp_path / "data"
    up = (
        "up",
        "--auth",
        "--tls-self-signed",
        "--routers=2",
        "--router-ports",
        f"--port={port}",
        f"--data-dir={data_dir}",
    )
    with running(*up) as endpoint:
        printed = read_until(endpoint.stdout, "# Routers answer")
        own = [f"https://127.0.0.1:{port + number}" for number in (1, 2)]
        assert f"# Routers answer invocations at {', '.join(own)}\n" in printed
        shown = dict(EXPORT.findall(printed))
        assert soon(lambda: answers(EndpointConnection(own[0], ca_bundle=shown["AWS_CA_BUNDLE"])), within_s=60)
        assert env(own[0].replace("https", "http"), data_dir) == {**shown, "AWS_ENDPOINT_URL": own[0]}


@pytest.mark.thorough
def test_a_router_with_a_certificate_says_by_which_name_it_is_called(tmp_path: Path) -> None:
    files = pair(tmp_path, "own", "localhost")
    with running("up", "--port=0", f"--data-dir={tmp_path / 'data'}") as endpoint:
        url = dict(EXPORT.findall(read_until(endpoint.stdout, "AWS_ENDPOINT_URL")))["AWS_ENDPOINT_URL"]
        tls = (f"--tls-cert={files.certificate}", f"--tls-key={files.key}")
        with running("router", f"--control={url}", "--port=0", *tls) as router:
            said = re.search(r"Routing at (\S+) for", read_until(router.stderr, "Routing at"))
            assert said is not None
            assert said[1].startswith("https://localhost:")
            EndpointConnection(said[1], ca_bundle=str(files.certificate)).page("health", timeout_s=60)
            with pytest.raises(EndpointUnreachable, match="not trusted"):
                EndpointConnection(said[1]).page("health")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--tls-cert", "{cert}"], "--tls-cert: add --tls-key"),
        (["--tls-key", "{key}"], "--tls-key: add --tls-cert"),
        (["--tls-cert", "{cert}", "--tls-key", "{other}"], "--tls-key: .* is not the key of"),
        (["--tls-cert", "{else}", "--tls-key", "{key of else}"], r"--tls-cert: .* call this router .* a\.example$"),
        (["--connections-per-client=-1"], "--connections-per-client: it must be"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(tmp_path: Path, arguments: list[str], said: str) -> None:
    one, other, elsewhere = pair(tmp_path, "one"), pair(tmp_path, "other"), pair(tmp_path, "else", "a.example")
    files = {"cert": str(one.certificate), "key": str(one.key), "other": str(other.key)}
    files |= {"else": str(elsewhere.certificate), "key of else": str(elsewhere.key)}
    done = CliRunner().invoke(app, ["router", "--port", "0", *(part.format(**files) for part in arguments)])
    assert done.exit_code == 2
    assert re.search(said, " ".join(done.output.split()))
