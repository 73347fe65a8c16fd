"""The Open Inference Protocol on the endpoint's port: what a client of KServe, Triton or MLServer sends is answered."""

import json
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import numpy as np
import pytest

from tests.endpoint.faces.conftest import MODELS
from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.endpoint.helpers.model_artifacts import ROW, predicted

CELLS = np.array([[float(cell) for cell in ROW.split(b",")]], np.float32)
INPUT = {"name": "x", "shape": [1, 4], "datatype": "FP32"}
IN_JSON = json.dumps({"id": "7", "inputs": [{**INPUT, "data": CELLS.ravel().tolist()}]}).encode()


def answered(
    live: LiveEndpoint, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body."""
    named = {name.replace("_", "-"): value for name, value in headers.items()} or {"x-torpor-endpoint": "Faced"}
    try:
        with urlopen(Request(f"{live.url}/v2{path}", data=body, headers=named)) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except HTTPError as error:
        return error.code, dict(error.headers), error.read()


def document(answer: tuple[int, dict[str, str], bytes], status: int = 200) -> Any:
    assert answer[0] == status, answer
    return json.loads(answer[2])


def states(live: LiveEndpoint, ready: bool = False) -> dict[str, str]:
    body = json.dumps({"ready": ready}).encode()
    return {one["name"]: one["state"] for one in document(answered(live, "/repository/index", body))}


def count_of(live: LiveEndpoint, model: str) -> int:
    (stats,) = document(answered(live, f"/models/{model}/stats"))["model_stats"]
    return int(stats["inference_count"])


@pytest.mark.usefixtures("faced")
class TestOpenInference:
    """On one endpoint of many models."""

    @pytest.mark.parametrize(
        ("path", "endpoint"),
        [("/models/good/infer", "none"), ("/models/none/versions/9/infer", "Faced"), ("/no/path", "Faced")],
    )
    def test_who_sends_a_large_body_reads_the_refusal(self, live: LiveEndpoint, path: str, endpoint: str) -> None:
        assert answered(live, path, bytes(8 << 20), x_torpor_endpoint=endpoint)[0] == 404

    def test_metadata_are_those_of_the_model(self, live: LiveEndpoint) -> None:
        tensors = {
            "inputs": [{"name": "input", "datatype": "FP32", "shape": [-1, 4]}],
            "outputs": [{"name": "predict", "datatype": "FP32", "shape": [-1]}],
        }
        expected = {"name": "good", "versions": ["1"], "platform": "xgboost", **tensors}
        assert document(answered(live, "/models/good")) == expected
        assert document(answered(live, "/models/good/versions/1")) == expected
        assert document(answered(live, "/models/good/ready")) == {"name": "good", "ready": True}

    @pytest.mark.parametrize(
        ("model", "factor"), [("good", 1.0), ("good.tar.gz", 1.0), (quote("deep/er/Zürich", safe=""), 2.0)]
    )
    def test_a_model_answers_as_it_answers_invoke_endpoint(self, live: LiveEndpoint, model: str, factor: float) -> None:
        answer = document(answered(live, f"/models/{model}/infer", IN_JSON))
        (output,) = answer["outputs"]
        assert (answer["id"], output["name"], output["shape"]) == ("7", "predict", [1])
        assert output["data"] == pytest.approx([predicted(factor)])

    @pytest.mark.parametrize("space", range(4))
    def test_tensors_in_binary_come_and_go_as_they_are(self, live: LiveEndpoint, space: int) -> None:
        """Behind a head of any length: the tensor begins at any address."""
        one = {**INPUT, "parameters": {"binary_data_size": CELLS.nbytes}}
        head = json.dumps({"inputs": [one], "parameters": {"binary_data_output": True}}).encode() + b" " * space
        length = {"inference_header_content_length": str(len(head)), "x_torpor_endpoint": "Faced"}
        status, headers, body = answered(live, "/models/good/infer", head + CELLS.tobytes(), **length)
        assert (status, headers["content-type"]) == (200, "application/octet-stream")
        (number,) = np.frombuffer(body[int(headers["inference-header-content-length"]) :], np.float32)
        assert float(number) == predicted()

    def test_the_endpoint_is_named_in_the_path_or_by_the_host(self, live: LiveEndpoint) -> None:
        assert answered(live, "/endpoints/Faced/models/good/infer", IN_JSON, host="localhost")[0] == 200
        assert answered(live, "/models/good/infer", IN_JSON, host="Faced.localhost")[0] == 200
        unknown = document(answered(live, "/endpoints/None/models/good/infer", IN_JSON), 404)
        assert unknown == {"error": "endpoint None not found"}

    def test_the_repository_shows_what_is_stored_and_what_is_in_memory(self, live: LiveEndpoint) -> None:
        assert answered(live, "/repository/models/good/load", b"{}")[::2] == (200, b"")
        assert states(live)["good.tar.gz"] == "READY"
        assert states(live).keys() == set(MODELS)
        assert set(states(live, ready=True)) <= set(MODELS)
        assert answered(live, "/repository/models/good/unload", b"")[::2] == (200, b"")
        assert states(live)["good.tar.gz"] == "UNAVAILABLE"
        assert "good.tar.gz" not in states(live, ready=True)

    def test_statistics_are_those_of_the_ledger(self, live: LiveEndpoint) -> None:
        before = count_of(live, "good")
        answered(live, "/models/good/infer", IN_JSON)
        live.invoke("Faced", ROW, TargetModel="good.tar.gz")
        assert count_of(live, "good") == before + 2
        named = {one["name"] for one in document(answered(live, "/models/stats"))["model_stats"]}
        assert "good.tar.gz" in named

    @pytest.mark.parametrize(
        ("path", "body", "status", "text"),
        [
            ("/models/none/infer", IN_JSON, 404, "no"),
            ("/models/none/ready", None, 404, "model none not found"),
            ("/models/good/versions/3/infer", IN_JSON, 404, "model good with version 3 not found"),
            ("/models/never/stats", None, 404, "model never not found"),
            ("/models/good/versions/3/stats", None, 404, "model good with version 3 not found"),
            ("/models/good/infer", b"{", 400, "the body is not JSON"),
            ("/models/good/infer", b'{"inputs": [{"name": "x"}]}', 400, "tensor x lacks shape, datatype, data"),
            ("/models/good/infer", None, 405, "takes POST, and not GET"),
            ("/models/failing/infer", IN_JSON, 500, "no such house"),
            ("/models/a%0Ab/infer", IN_JSON, 400, "cannot be printed"),
            ("/other", None, 404, "has no path /v2/other"),
            ("/repository/index", b'{"only": 1}', 400, "has no member only"),
            ("/repository/models/good/load", b'{"parameters": {"config": "{}"}}', 400, "parameters are not supported"),
            ("/repository/models/none/load", b"", 404, "none"),
        ],
    )
    def test_a_refusal_has_the_protocols_form(
        self, live: LiveEndpoint, path: str, body: bytes | None, status: int, text: str
    ) -> None:
        assert text in document(answered(live, path, body), status)["error"]


def test_health_needs_no_endpoint(live: LiveEndpoint) -> None:
    assert document(answered(live, "/health/live")) == {"live": True}
    assert document(answered(live, ""))["name"] == "torpor"
