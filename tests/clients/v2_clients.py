"""Clients of the Open Inference Protocol, unchanged, against an endpoint: Triton's, over HTTP and gRPC, and its own.

    TORPOR_PYTHON=<a Python with tritonclient[http,grpc] and open-inference-openapi> TORPOR_CLIENTS=open-inference \
        python -m pytest tests/clients/test_open_inference.py

Its arguments are the endpoint's address, that of its gRPC, a model's name, the text of a row, and the number that must
come back.
"""

import queue
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import tritonclient.grpc as triton_grpc  # type: ignore[import-not-found]
import tritonclient.http as triton  # type: ignore[import-not-found]
from open_inference.openapi.client import OpenInferenceClient  # type: ignore[import-not-found]
from open_inference.openapi.errors import BadRequestError  # type: ignore[import-not-found]
from open_inference.openapi.types import InferenceRequest, RequestInput, TensorData  # type: ignore[import-not-found]
from tritonclient.utils import InferenceServerException  # type: ignore[import-not-found]


def main(url: str, grpc_url: str, model: str, row: str, expected: str) -> None:
    rows = np.array([[float(cell) for cell in row.split(",")]] * 2, np.float32)
    triton_client(url, model, rows, float(expected))
    own_client(url, model, rows, float(expected))
    grpc_client(grpc_url, model, rows, float(expected))


def refused(kind: type[Exception], call: Callable[[], object]) -> str:
    """What the client tells of a call that must be refused."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError("it was answered")


def triton_client(url: str, model: str, rows: Any, expected: float) -> None:
    client = triton.InferenceServerClient(url.removeprefix("http://"))
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready(model)
    assert "binary_tensor_data" in client.get_server_metadata()["extensions"]
    (source,) = client.get_model_metadata(model)["inputs"]
    tensor = triton.InferInput(source["name"], list(rows.shape), source["datatype"])
    for sent_in_binary in (True, False):
        tensor.set_data_from_numpy(rows, binary_data=sent_in_binary)
        for wanted in (None, [triton.InferRequestedOutput("predict", binary_data=False)]):
            answer = client.infer(model, [tensor], outputs=wanted, request_id="7")
            np.testing.assert_allclose(answer.as_numpy("predict"), [expected] * 2, rtol=1e-6)
            assert answer.get_response()["id"] == "7"
    client.load_model(model)
    index = client.get_model_repository_index()
    assert [one["state"] for one in index if one["name"].startswith(model)] == ["READY"]
    (stats,) = client.get_inference_statistics(model)["model_stats"]
    assert stats["inference_stats"]["success"]["count"] >= 4
    client.unload_model(model)
    tensor = triton.InferInput("x", [1, 2], "FP32")
    tensor.set_data_from_numpy(rows[:1, :2])
    told = refused(InferenceServerException, lambda: client.infer(model, [tensor]))
    assert "the model takes 4 columns, and the rows have 2" in told
    print("tritonclient passes")


def grpc_client(url: str, model: str, rows: Any, expected: float) -> None:
    client = triton_grpc.InferenceServerClient(url)
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready(model)
    assert client.get_server_metadata().name == "torpor"
    source = client.get_model_metadata(model).inputs[0]
    tensor = triton_grpc.InferInput(source.name, list(rows.shape), source.datatype)
    tensor.set_data_from_numpy(rows)
    answer = client.infer(model, [tensor], request_id="7")
    np.testing.assert_allclose(answer.as_numpy("predict"), [expected] * 2, rtol=1e-6)
    answers: queue.Queue[Any] = queue.Queue()
    client.start_stream(lambda result, error: answers.put((result, error)))
    for name in (model, "none", model):
        client.async_stream_infer(name, [tensor])
    came = [answers.get(timeout=60) for _ in range(3)]
    client.stop_stream()
    assert [error is None for _, error in came] == [True, False, True]
    np.testing.assert_allclose(came[2][0].as_numpy("predict"), [expected] * 2, rtol=1e-6)
    client.load_model(model)
    index = client.get_model_repository_index().models
    assert [one.state for one in index if one.name.startswith(model)] == ["READY"]
    assert client.get_inference_statistics(model).model_stats[0].inference_stats.success.count >= 1
    client.unload_model(model)
    assert "none" in refused(InferenceServerException, lambda: client.infer("none", [tensor]))
    print("tritonclient over gRPC passes")


def own_client(url: str, model: str, rows: Any, expected: float) -> None:
    client = OpenInferenceClient(base_url=url)
    client.check_server_liveness()
    client.check_server_readiness()
    client.check_model_readiness(model_name=model)
    client.check_model_version_readiness(model_name=model, model_version="1")
    assert client.read_server_metadata().name == "torpor"
    assert client.read_model_metadata(model_name=model).inputs[0].datatype == "FP32"
    data = TensorData.parse_obj(rows.tolist())
    inputs = [RequestInput(name="input", shape=list(rows.shape), datatype="FP32", data=data)]
    answer = client.model_infer(model_name=model, request=InferenceRequest(inputs=inputs, id="7"))
    np.testing.assert_allclose(answer.outputs[0].data.__root__, [expected] * 2, rtol=1e-6)
    empty = InferenceRequest(inputs=[])
    told = refused(BadRequestError, lambda: client.model_infer(model_name=model, request=empty))
    assert "inputs is a list of tensors" in told
    print("open-inference-openapi passes")


if __name__ == "__main__":
    main(*sys.argv[1:])
