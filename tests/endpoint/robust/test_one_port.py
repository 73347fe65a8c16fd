"""Routers at the endpoint's own port are killed, one after another, while callers call."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ConnectionError, HTTPClientError

from tests.endpoint.helpers.constant_models import constant
from tests.endpoint.helpers.live_endpoint import REGION, LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put
from tests.endpoint.helpers.shared_ports import all_accept, connections, held, routers
from tests.helpers.kill_together import kill_together
from tests.helpers.processes import children, gone
from tests.helpers.waiting import soon

CALLERS = 6
KILLS = 2
ONCE = Config(retries={"total_max_attempts": 1}, read_timeout=60)


class Callers:
    """Threads that call the one address again and again. `wrong` has what is no right answer, `broken` counts the calls
    whose connection broke."""

    def __init__(self, url: str) -> None:
        self.right, self.broken, self.wrong = 0, 0, list[str]()
        self._url = url
        self._lock, self._over = threading.Lock(), threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(CALLERS)]

    def __enter__(self) -> "Callers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def until(self, answers: int) -> None:
        """Wait until so many more right answers have come."""
        wanted = self.right + answers
        assert soon(lambda: self.right >= wanted or bool(self.wrong), within_s=90)

    def _run(self) -> None:
        runtime = boto3.client(
            "sagemaker-runtime",
            REGION,
            endpoint_url=self._url,
            config=ONCE,
            aws_access_key_id="x",
            aws_secret_access_key="y",
        )
        while not self._over.is_set():
            try:
                said = runtime.invoke_endpoint(
                    EndpointName="Fixed", TargetModel="7.tar", ContentType="text/csv", Body="1"
                )["Body"].read()
            except (ConnectionError, HTTPClientError):
                with self._lock:
                    self.broken += 1
                continue
            except Exception as error:  # noqa: BLE001  whatever it is, it is no right answer
                said = repr(error).encode()
            with self._lock:
                self.right += said == b"[7.0]"
                self.wrong += [] if said == b"[7.0]" else [said.decode()]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    with LiveEndpoint(tmp_path_factory.mktemp("shared"), "--routers=2") as live:
        put(live.folder("shop"), {"models/7.tar": constant(7.0)})
        live.deploy("Fixed", Variant(many("shop/models/")))
        assert all_accept(live)
        yield live


def killed(live: LiveEndpoint, place: int) -> None:
    """`kill -9` of a router's both processes."""
    arbiter = routers(live)[place]
    workers = children(arbiter)
    kill_together(arbiter, workers)
    assert all(gone(pid) for pid in workers)


@pytest.mark.thorough
def test_a_router_that_is_killed_loses_only_what_it_had_in_flight_and_comes_back(live: LiveEndpoint) -> None:
    most = 0
    with Callers(live.url) as callers:
        callers.until(60)
        for kill in range(KILLS):
            place = 1 + kill % 2
            most += connections(live)[place] or 0
            killed(live, place)
            callers.until(30)
            assert all_accept(live)
            callers.until(30)
    assert callers.wrong == []
    assert callers.broken <= most + KILLS  # a caller may have connected to it since


def test_a_router_whose_worker_alone_is_killed_routes_again(live: LiveEndpoint) -> None:
    assert all_accept(live)
    arbiter = routers(live)[1]
    (worker,) = children(arbiter)
    os.kill(worker, signal.SIGKILL)
    assert soon(lambda: children(arbiter) not in ([], [worker]), within_s=60)
    assert soon(lambda: routers(live).get(1) == arbiter)
    with held(live, 1) as found:
        assert len(found) == 1


@pytest.mark.thorough
def test_calls_spread_evenly_and_the_ledger_and_the_metrics_have_those_of_all_processes(tmp_path: Path) -> None:
    with LiveEndpoint(tmp_path / "data", "--routers=2") as live:
        put(live.folder("shop"), {"models/7.tar": constant(7.0)})
        live.deploy("Fixed", Variant(many("shop/models/")))
        assert all_accept(live)
        with ExitStack() as connected:
            clients = [connected.enter_context(closing(_connected(live))) for _ in range(9)]
            assert [_invoked(client) for client in clients * 12] == [b"[7.0]"] * 108
        assert soon(lambda: sum(_routed(live)) == 108)
        assert max(_routed(live)) - min(_routed(live)) <= 24  # two connections of nine
        with Callers(live.url) as callers:
            callers.until(120)
        assert (callers.wrong, callers.broken) == ([], 0)
        called = 108 + callers.right
        assert soon(lambda: _served(live) == called, within_s=60)
        assert (_invocations(live), sum(_routed(live))) == (called, called)


def _connected(live: LiveEndpoint) -> HTTPConnection:
    parts = urlsplit(live.url)
    connection = HTTPConnection(str(parts.hostname), parts.port, timeout=60)
    connection.connect()
    return connection


def _invoked(client: HTTPConnection) -> bytes:
    headers = {"content-type": "text/csv", "x-amzn-sagemaker-target-model": "7.tar"}
    client.request("POST", "/endpoints/Fixed/invocations", b"1", headers)
    return client.getresponse().read()


def _routed(live: LiveEndpoint) -> list[int]:
    """The invocations of each process, as the page of routers has them."""
    page = json.loads(live.page("routers"))
    return [counted["invocations"] for counted in (page["control"], *page["routers"].values())]


def _served(live: LiveEndpoint) -> int:
    """The requests in the ledger."""
    return int(sum(one["requests"] for one in json.loads(live.page("costs?endpoint=Fixed"))["variants"]))


def _invocations(live: LiveEndpoint) -> int:
    """What the page of metrics counts."""
    lines = live.page("metrics").decode().splitlines()
    return int(sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("torpor_invocations_total{")))
