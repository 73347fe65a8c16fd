"""TensorFlow Serving's REST API on the endpoint's port: what its clients send is answered in its words."""

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.endpoint.helpers.model_artifacts import ROW, predicted

CELLS = [float(cell) for cell in ROW.split(b",")]
ROWS = json.dumps({"instances": [CELLS, CELLS]}).encode()


def answered(live: LiveEndpoint, path: str, body: bytes | None = None) -> tuple[int, Any]:
    try:
        with urlopen(Request(f"{live.url}/v1/endpoints/Faced/models/{path}", data=body)) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


@pytest.mark.usefixtures("faced")
class TestTfServing:
    """On one endpoint of many models."""

    def test_rows_and_columns_are_answered_as_invoke_endpoint_answers(self, live: LiveEndpoint) -> None:
        expected = pytest.approx([predicted()] * 2, rel=1e-6)
        for path in ("good:predict", "good/versions/1:predict", "good.tar.gz:predict"):
            assert answered(live, path, ROWS) == (200, {"predictions": expected})
        columns = json.dumps({"inputs": {"input": [CELLS, CELLS]}}).encode()
        assert answered(live, "good:predict", columns) == (200, {"outputs": expected})
        assert answered(live, "deep%2Fer%2FZ%C3%BCrich:predict", ROWS)[0] == 200

    def test_examples_are_regressed_by_their_features(self, live: LiveEndpoint) -> None:
        example = {f"f{place}": cell for place, cell in enumerate(CELLS)}
        status, answer = answered(live, "good:regress", json.dumps({"examples": [example]}).encode())
        assert (status, answer) == (200, {"results": [pytest.approx(predicted(), rel=1e-6)]})
        status, answer = answered(live, "good:classify", json.dumps({"examples": [example]}).encode())
        assert (status, answer["error"][:31]) == (400, "Expected classification signatu")

    def test_status_and_metadata_are_in_the_servers_form(self, live: LiveEndpoint) -> None:
        available = {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
        assert answered(live, "good") == (200, {"model_version_status": [available]})
        status, metadata = answered(live, "good/metadata")
        assert (status, metadata["model_spec"]) == (200, {"name": "good", "signature_name": "", "version": "1"})
        signature = metadata["metadata"]["signature_def"]["signature_def"]["serving_default"]
        assert signature["inputs"]["input"]["dtype"] == "DT_FLOAT"

    @pytest.mark.parametrize("path", ["good:predict", "none/labels/x:predict", "none"])
    def test_who_sends_a_large_body_reads_the_refusal(self, live: LiveEndpoint, path: str) -> None:
        status, answer = answered(live, path, bytes(8 << 20))
        assert (status, list(answer)) == (400, ["error"])

    @pytest.mark.parametrize(
        ("path", "body", "status", "text"),
        [
            ("half:predict", ROWS, 404, "Servable not found for request: Latest(half)"),
            ("good/versions/3:predict", ROWS, 404, "Servable not found for request: Specific(good, 3)"),
            ("good/labels/new:predict", ROWS, 400, "Unrecognized servable version label: new"),
            ("half", None, 404, "Could not find any versions of model half"),
            ("good/versions/3", None, 404, "Could not find version 3 of model good"),
            ("half/metadata", None, 404, "Servable not found for request: Latest(half)"),
            ("good:predict", b"{}", 400, "Missing 'inputs' or 'instances' key"),
            ("good:predict", None, 400, "Malformed request: GET /v1/endpoints/Faced/models/good:predict"),
            ("failing:predict", ROWS, 500, "no such house"),
        ],
    )
    def test_a_refusal_has_the_servers_words(
        self, live: LiveEndpoint, path: str, body: bytes | None, status: int, text: str
    ) -> None:
        found, answer = answered(live, path, body)
        assert (found, list(answer)) == (status, ["error"])
        assert text in answer["error"]
