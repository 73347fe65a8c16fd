"""Requests of many callers that are predicted together: each caller gets the same bytes as alone."""

import socket
from contextlib import ExitStack
from http.client import HTTPResponse
from pathlib import Path

import numpy as np
import pytest
import xgboost

import torpor
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from torpor_account.storage.data_dir import DataDir

COLUMNS = 3
CALLERS = 24
ROUNDS = 15
TARGET = "a.tar.gz"
SHORT_OF_A_COLUMN = b"0.5,0.5"


@pytest.fixture(scope="module")
def endpoint(live: LiveEndpoint) -> str:
    dice = np.random.default_rng(0)
    rows, targets = dice.random((200, COLUMNS)), dice.random(200)
    booster = xgboost.train({"max_depth": 4}, xgboost.DMatrix(rows, targets), num_boost_round=50)
    torpor.bundle(booster, live.folder("batches") / TARGET)
    return live.deploy("batches", Variant(many("batches", {"TORPOR_BATCH_SIZE": "8"})))


def request(endpoint: str, body: bytes) -> bytes:
    head = f"POST /endpoints/{endpoint}/invocations HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
    return f"{head}X-Amzn-SageMaker-Target-Model: {TARGET}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def answers(live: LiveEndpoint, endpoint: str, bodies: list[bytes]) -> list[tuple[int, bytes]]:
    """All of them sent, each on a connection of its own, before any answer is read."""
    host, _, port = live.url.removeprefix("http://").partition(":")
    found: list[tuple[int, bytes]] = []
    with ExitStack() as stack:
        callers = [stack.enter_context(socket.create_connection((host, int(port)), 60.0)) for _ in bodies]
        for caller, body in zip(callers, bodies, strict=True):
            caller.sendall(request(endpoint, body))
        for caller in callers:
            response = HTTPResponse(caller)
            response.begin()
            found.append((response.status, response.read()))
    return found


def test_every_caller_gets_the_same_answer_as_alone(live: LiveEndpoint, endpoint: str) -> None:
    dice = np.random.default_rng(1)
    bodies = [b",".join(b"%.4f" % cell for cell in row) for row in dice.random((CALLERS, COLUMNS))]
    alone = [answers(live, endpoint, [body])[0] for body in bodies]
    assert {status for status, _ in alone} == {200}
    assert len({body for _, body in alone}) > CALLERS / 2
    for _ in range(ROUNDS):
        assert answers(live, endpoint, bodies) == alone


def test_only_the_caller_whose_rows_do_not_fit_gets_an_error(live: LiveEndpoint, endpoint: str) -> None:
    bodies = [b"0.1,0.2,0.3", SHORT_OF_A_COLUMN] * (CALLERS // 2)
    (good,) = answers(live, endpoint, [bodies[0]])
    for _ in range(ROUNDS):
        found = answers(live, endpoint, bodies)
        assert found[::2] == [good] * (CALLERS // 2)
        assert {status for status, _ in found[1::2]} == {424}


def test_requests_that_come_together_share_a_connection_to_the_instance(live: LiveEndpoint, endpoint: str) -> None:
    answers(live, endpoint, [b"0.5,0.5,0.5"])
    before = connections(live)
    assert before
    for _ in range(ROUNDS):
        assert {status for status, _ in answers(live, endpoint, [b"0.5,0.5,0.5"] * CALLERS)} == {200}
    assert connections(live) == before


def connections(live: LiveEndpoint) -> list[str]:
    """To all its instances: each by its socket's path."""
    sockets = str(DataDir(live.data_dir).sockets)
    paths = [line.rpartition(" ")[2] for line in Path("/proc/net/unix").read_text().splitlines()]
    return sorted(path for path in paths if path.startswith(sockets))
