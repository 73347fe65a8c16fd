"""Envoy itself sends requests where a picker says, to a pod of a fake cluster, in each mode of bodies."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.endpoint.helpers.envoy_gateway import ENVOY, envoy
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.live_router import LiveRouter
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, predicted, put
from tests.endpoint.host.kubernetes.test_live_cluster import cluster
from tests.helpers.ports import free_port

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(ENVOY is None, reason="there is no Envoy: TORPOR_ENVOY names its file"),
]
DUPLEX = "FULL_DUPLEX_STREAMED"
PATH, ROWS = "/endpoints/shop/invocations", 60_000


@pytest.fixture(scope="module")
def picker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder, port, picks = tmp_path_factory.mktemp("envoy"), free_port(), free_port()
    file = folder / "kubernetes.toml"
    file.write_text('image = "registry/torpor-instance:1"')
    options = ("--instances-on=kubernetes", f"--kubernetes-file={file}", f"--advertise=http://127.0.0.1:{port}")
    with cluster(folder / "cluster") as kubeconfig:
        live = LiveEndpoint(folder / "data", *options, environment={"KUBECONFIG": kubeconfig}, port=port)
        put(live.folder("models"), {"shop/a.tar.gz": packed({"xgboost-model.json": booster()})})
        with live:
            environment = {"TORPOR_TRIALS": "false", "TORPOR_TICKETS": "true"}
            live.deploy("shop", Variant(many("models/shop", environment)))
            live.invoke("shop", ROW, TargetModel="a.tar.gz")
            router = LiveRouter(live.url, folder / "router.log", {}, "--picker-port", str(picks))
            yield picks
            router.kill()


def asked(port: int, body: bytes, model: str = "a.tar.gz", path: str = PATH) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", path, body, {"Content-Type": "text/csv", "X-Amzn-SageMaker-Target-Model": model})
    answer = connection.getresponse()
    try:
        return answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize(("request_body", "response_body"), [(DUPLEX, DUPLEX), ("BUFFERED", "NONE"), ("NONE", "NONE")])
def test_envoy_sends_each_request_to_the_instance(
    picker: int, tmp_path: Path, request_body: str, response_body: str
) -> None:
    with envoy(tmp_path / "gateway", picker, request_body, response_body) as port:
        status, headers, body = asked(port, ROW)
        assert (status, json.loads(body)) == (200, [pytest.approx(predicted())])
        assert headers["x-amzn-invoked-production-variant"] == "AllTraffic"
        assert not [name for name in headers if name.startswith("x-torpor")]
        status, _, body = asked(port, (ROW.strip() + b"\n") * ROWS)
        assert (status, len(json.loads(body))) == (200, ROWS)
        status, headers, body = asked(port, b"a,b,c")
        assert (status, headers["x-amzn-errortype"]) == (424, "ModelError:")
        assert bool(json.loads(body)["OriginalMessage"]) == (response_body == DUPLEX)
        assert asked(port, ROW, path="/endpoints/none/invocations")[0] == 400
