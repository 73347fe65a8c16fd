"""What a router asks its control before it begins, and when it does not."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.helpers.ports import free_port
from torpor_container.processes.inherited_variables import CA_BUNDLE
from torpor_endpoint.core.routing.table_differences import Differences, TableVersion
from torpor_endpoint.routing.protocol.facts import PROTOCOL, ControlFacts
from torpor_endpoint.routing.protocol.router_report import RouterReport
from torpor_endpoint.routing.protocol.router_variables import CONTROL_KEY, CONTROL_SECRET
from torpor_endpoint.routing.router.control_client import (
    ControlAway,
    ControlClient,
    ControlForbids,
    ControlRefused,
    refusal,
)
from torpor_endpoint.routing.router.router_options import RouterOptions
from torpor_endpoint.routing.router.start import check, run
from torpor_endpoint.starting.cannot_start import BadOption, CannotStart

FACTS = ControlFacts(
    "us-east-1",
    "123456789012",
    strict=False,
    auth=False,
    storage="http://127.0.0.1:1",
    sockets="",
    rate_limits=("invocations=5",),
)
REPORT = RouterReport("r-1", 1, 0, None, frozenset(), frozenset(), 0, Differences(TableVersion("r-1", 0), None, {}))


@contextmanager
def control(answer: Any, status: int = 200) -> Iterator[str]:
    """A server that answers everything with this JSON. Its URL."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_router_that_could_reach_no_instance_does_not_start(tmp_path: Path) -> None:
    facts = replace(FACTS, sockets=str(tmp_path / "of another machine"))
    with control({"protocol": PROTOCOL, **asdict(facts)}) as url, pytest.raises(BadOption, match="its own machine"):
        run(RouterOptions(control=url, port=free_port()))


@pytest.mark.parametrize(("given", "missing"), [(CONTROL_KEY, CONTROL_SECRET), (CONTROL_SECRET, CONTROL_KEY)])
def test_half_a_key_for_the_control_is_refused(monkeypatch: pytest.MonkeyPatch, given: str, missing: str) -> None:
    monkeypatch.delenv(missing, raising=False)
    monkeypatch.setenv(given, "x")
    with pytest.raises(BadOption, match=f"{missing}: it is not set"):
        run(RouterOptions())


def test_a_router_that_cannot_start_says_so_in_one_line() -> None:
    with control("Not Found", 404) as url:
        command = [sys.executable, "-m", "torpor_endpoint.router", f"--control={url}", f"--port={free_port()}"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    said = f'torpor: --control: {url} is no control ("Not Found"), but perhaps a router: give the URL of'
    assert ended.stderr.startswith(said)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("status", [401, 403])
def test_a_router_whose_key_is_refused_is_told_where_its_key_is_and_what_it_needs(status: int) -> None:
    said = refusal("https://127.0.0.1:1", status, "Missing Authentication Token.")
    variables = (CONTROL_KEY, CONTROL_SECRET, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    assert all(word in said for word in (*variables, "torpor:Route"))


def test_a_control_without_https_is_not_waited_for() -> None:
    with control({}) as url, pytest.raises(BadOption, match="does not speak HTTPS: give its http:// URL"):
        run(RouterOptions(control=url.replace("http", "https"), port=free_port()))


@pytest.mark.parametrize(
    ("content", "why"), [(None, "No such file or directory"), ("nothing", "it holds no certificate in PEM")]
)
def test_a_file_of_trusted_certificates_that_cannot_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None, why: str
) -> None:
    file = tmp_path / "trusted.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(BadOption, match=f"--control-ca: {file} cannot be read: {why}"):
        check(RouterOptions(trusted=str(file)))
    monkeypatch.setenv(CA_BUNDLE, str(file))
    with pytest.raises(BadOption, match=f"{CA_BUNDLE}: {file} cannot be read: {why}"):
        check(RouterOptions(control="https://127.0.0.1:1"))
    check(RouterOptions(control="http://127.0.0.1:1"))


def test_a_router_whose_port_is_taken_does_not_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotStart, match=f":{port} cannot be listened on: Address already in use"):
            run(RouterOptions(port=port))


def test_a_control_of_another_release_is_refused() -> None:
    with control({"protocol": PROTOCOL + 1}) as url, pytest.raises(BadOption, match="install the same release"):
        run(RouterOptions(control=url, port=free_port()))


def test_the_facts_of_a_control_come_as_it_says_them() -> None:
    with control({"protocol": PROTOCOL, **asdict(FACTS)}) as url:
        assert asyncio.run(ControlClient(url).facts()) == FACTS


@pytest.mark.parametrize(("status", "forbids"), [(401, True), (403, True), (400, False), (429, False), (503, False)])
def test_a_control_forbids_by_its_answer_to_the_routers_key(status: int, forbids: bool) -> None:
    with control({}, status) as url, pytest.raises(ControlAway) as away:
        asyncio.run(ControlClient(url).identities(None, 0.0))
    assert isinstance(away.value, ControlForbids) is forbids


@pytest.mark.parametrize("answer", [{}, [], {"taken": "many"}, {"table": {}}, {"version": 1}])
@pytest.mark.parametrize(
    "asked",
    [
        lambda client: client.table(None, 0.0),
        lambda client: client.report(REPORT, None),
        lambda client: client.identities(None, 0.0),
    ],
    ids=["table", "report", "identities"],
)
def test_an_answer_that_cannot_be_read_is_a_control_that_is_away(
    answer: Any, asked: Callable[[ControlClient], Any]
) -> None:
    async def ask(url: str) -> None:
        await asked(ControlClient(url))

    with control(answer) as url, pytest.raises(ControlAway) as away:
        asyncio.run(ask(url))
    assert not isinstance(away.value, ControlRefused)
