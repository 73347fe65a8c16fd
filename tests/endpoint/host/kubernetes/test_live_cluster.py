"""A whole endpoint whose instances are pods of a fake cluster: each is `torpor-container serve`."""

import asyncio
import http.client
import json
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from tests.endpoint.helpers.asking_gateway import GatewayStreamOf
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.live_router import LiveRouter
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, predicted, put
from tests.helpers.ports import free_port
from tests.helpers.processes import marked
from tests.helpers.waiting import PATIENCE_S, until
from tests.markdown import ROOT

THE_PODS_ADDRESS = re.compile(r"\b(127\.(?!0\.)[\d.]+):(\d+)")
"""Each fake cluster has a loopback network of its own, and none of them is that of 127.0.0.1."""
HEADERS = {"content-type": "text/csv", "x-amzn-sagemaker-target-model": "a.tar.gz"}
TLS = "--internal-tls=on"
FAKE = [sys.executable, "-m", "tests.endpoint.helpers.fake_cluster"]


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The path of its kubeconfig."""
    folder.mkdir()
    command = [*FAKE, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()  # it ends when its input does


def asks_for_a_certificate(host: str, port: int) -> bool:
    """Whether a server speaks TLS, and hangs up on who shows no certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    client = socket.create_connection((host, port), timeout=PATIENCE_S)
    with context.wrap_socket(client) as secure:
        try:
            return not secure.recv(1)
        except OSError:  # by an alert, or at once
            return True


def answered(live: LiveEndpoint) -> float:
    answer: list[float] = json.loads(live.invoke("shop", ROW, TargetModel="a.tar.gz")["Body"])
    return answer[0]


async def answered_through_a_gateway(live: LiveEndpoint, log: Path) -> float:
    """Asks a picker as a gateway does, and sends what it says to where it says."""
    port = free_port()
    router = LiveRouter(live.url, log, {}, "--picker-port", str(port))
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stream = GatewayStreamOf(channel)
            said = await stream.asks("/endpoints/shop/invocations", HEADERS, (ROW,))
            assert said.immediate is None
            connection = http.client.HTTPConnection(said.destination, timeout=60)
            connection.request("POST", "/endpoints/shop/invocations", said.body, dict(said.headers))
            answer = connection.getresponse()
            body, came = answer.read(), {name.lower(): text for name, text in answer.getheaders()}
            told = await stream.answers(answer.status, came, (body,))
            assert told.answer_headers["x-amzn-invoked-production-variant"] == b"AllTraffic"
            connection.close()
        return float(json.loads(told.answer_body)[0])
    finally:
        router.kill()


def test_an_endpoint_serves_from_pods_and_finds_them_again_when_it_was_killed(tmp_path: Path) -> None:
    file, port = tmp_path / "kubernetes.toml", free_port()
    file.write_text('image = "registry/torpor-instance:1"')
    options = ("--instances-on=kubernetes", f"--kubernetes-file={file}", f"--advertise=http://127.0.0.1:{port}", TLS)
    with cluster(tmp_path / "cluster") as kubeconfig:
        live = LiveEndpoint(tmp_path / "data", *options, environment={"KUBECONFIG": kubeconfig}, port=port)
        pods = f"SAGEMAKER_BASE_DIR={tmp_path}/cluster/pods/"
        put(live.folder("models"), {"shop/a.tar.gz": packed({"xgboost-model.json": booster()})})
        with live:
            environment = {"TORPOR_TRIALS": "false", "TORPOR_TICKETS": "true"}
            live.deploy("shop", Variant(many("models/shop", environment)))
            assert answered(live) == pytest.approx(predicted())
            assert asyncio.run(answered_through_a_gateway(live, tmp_path / "router.log")) == pytest.approx(predicted())
            (before,) = [one["id"] for variant in live.shown("shop") for one in variant["instances"]]
            log = tmp_path / "data" / "logs" / "endpoints" / "shop" / "AllTraffic" / f"{before}.log"
            place = until(lambda: THE_PODS_ADDRESS.findall(log.read_text()))[0]
            assert asks_for_a_certificate(place[0], int(place[1]))
            live.kill()
            live.start()
            assert answered(live) == pytest.approx(predicted())
            assert [one["id"] for variant in live.shown("shop") for one in variant["instances"]] == [before]
            assert marked(pods)
        assert marked(pods) == []
