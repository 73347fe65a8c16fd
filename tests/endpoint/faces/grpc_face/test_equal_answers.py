"""The same rows for the same model have equal answers, whichever protocol they come by."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import grpc
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.container.helpers.format_models import ARTIFACTS, Trained
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import packed, put
from tests.helpers.ports import free_port
from tests.helpers.thorough_values import one_in
from torpor_endpoint.faces.grpc_face.grpc_messages import PACKAGE, SERVICE, message

FILES = ("model.json", "model.pickle", "model.onnx", "model.txt")
"""XGBoost, scikit-learn, ONNX, LightGBM."""
ROWS = np.random.default_rng(39).normal(size=(40, 4)).astype(np.float32)
LENGTH = "inference-header-content-length"
TYPES = {"FP32": np.float32, "FP64": np.float64}
Numbers = NDArray[Any]
Served = tuple[LiveEndpoint, grpc.Channel]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder, port = tmp_path_factory.mktemp("alike"), free_port()
    rows = np.random.default_rng(1).normal(size=(60, 4)).astype(np.float32)
    trained = Trained(rows, rows @ np.array([1.0, -2.0, 0.5, 3.0], np.float32))
    with LiveEndpoint(folder, "--grpc-port", str(port), frameworks=True) as live:
        for name in FILES:
            file = folder / name
            ARTIFACTS[name][2](trained, file)
            put(live.folder("alike"), {f"{Path(name).suffix[1:]}.tar.gz": packed({name: file.read_bytes()})})
        live.deploy("Alike", Variant(many("alike")))
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield live, channel


def asked(served: Served, path: str, body: bytes, **headers: str) -> tuple[dict[str, str], bytes]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with urlopen(Request(served[0].url + path, body, named), timeout=60) as answer:
        return {name.lower(): value for name, value in answer.headers.items()}, answer.read()


def invoked(served: Served, model: str, source: str) -> Numbers:
    text = "\n".join(",".join(repr(float(cell)) for cell in row) for row in ROWS)
    answer = served[0].invoke("Alike", text.encode(), TargetModel=f"{model}.tar.gz", Accept="text/csv")
    return np.array([float(one) for one in answer["Body"].replace(b"\n", b",").strip(b", ").split(b",")])


def tensor(source: str, **more: Any) -> dict[str, Any]:
    return {"name": source, "shape": list(ROWS.shape), "datatype": "FP32", **more}


def v2_json(served: Served, model: str, source: str) -> Numbers:
    body = json.dumps({"inputs": [tensor(source, data=ROWS.tolist())]}).encode()
    return np.array(json.loads(asked(served, f"/v2/models/{model}/infer", body)[1])["outputs"][0]["data"])


def v2_binary(served: Served, model: str, source: str) -> Numbers:
    one = tensor(source, parameters={"binary_data_size": ROWS.nbytes})
    head = json.dumps({"inputs": [one], "parameters": {"binary_data_output": True}}).encode()
    headers, body = asked(
        served, f"/v2/models/{model}/infer", head + ROWS.tobytes(), Inference_Header_Content_Length=str(len(head))
    )
    length = int(headers[LENGTH])
    output = json.loads(body[:length])["outputs"][0]
    return np.frombuffer(body[length:], TYPES[output["datatype"]])


def tfs_rows(served: Served, model: str, source: str) -> Numbers:
    body = json.dumps({"instances": ROWS.tolist()}).encode()
    return np.array(json.loads(asked(served, f"/v1/models/{model}:predict", body)[1])["predictions"])


def tfs_columns(served: Served, model: str, source: str) -> Numbers:
    body = json.dumps({"inputs": ROWS.tolist()}).encode()
    return np.array(json.loads(asked(served, f"/v1/models/{model}:predict", body)[1])["outputs"])


def grpc_raw(served: Served, model: str, source: str) -> Numbers:
    return inferred(served, model, inputs=[tensor(source)], raw_input_contents=[ROWS.tobytes()])


def grpc_list(served: Served, model: str, source: str) -> Numbers:
    return inferred(served, model, inputs=[tensor(source, contents={"fp32_contents": ROWS.ravel().tolist()})])


def inferred(served: Served, model: str, **members: Any) -> Numbers:
    call = served[1].unary_unary(
        f"/{PACKAGE}.{SERVICE}/ModelInfer",
        request_serializer=message("ModelInferRequest").SerializeToString,
        response_deserializer=message("ModelInferResponse").FromString,
    )
    response = call(message("ModelInferRequest")(model_name=model, **members), timeout=60)
    return np.frombuffer(response.raw_output_contents[0], TYPES[response.outputs[0].datatype])


WAYS: tuple[Callable[[Served, str, str], Numbers], ...] = (
    v2_json,
    v2_binary,
    tfs_rows,
    tfs_columns,
    grpc_raw,
    grpc_list,
)


@pytest.mark.parametrize("file", one_in(2, FILES))
def test_every_face_answers_as_invoke_endpoint(served: Served, file: str) -> None:
    model = Path(file).suffix[1:]
    metadata = json.loads(urlopen(f"{served[0].url}/v2/models/{model}", timeout=60).read())
    (source,) = metadata["inputs"]
    expected = invoked(served, model, source["name"]).astype(np.float32)
    assert expected.shape == (len(ROWS),)
    for way in WAYS:
        found = way(served, model, source["name"]).astype(np.float32).ravel()
        assert np.array_equal(found, expected), (way.__name__, found - expected)
