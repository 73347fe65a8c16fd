"""KServe's client, unchanged, against an endpoint: its V2 over REST and gRPC, and its V1, as TensorFlow Serving's.

Run by `tests/clients/test_open_inference.py`, with the arguments of `v2_clients.py`.
"""

import asyncio
import sys
from typing import Any

import grpc
import numpy as np
from httpx import HTTPStatusError
from kserve import (  # type: ignore[import-not-found]
    InferenceGRPCClient,
    InferenceRESTClient,
    InferInput,
    InferRequest,
    RESTConfig,
)


async def main(url: str, grpc_url: str, model: str, row: str, expected: str) -> None:
    rows = np.array([[float(cell) for cell in row.split(",")]] * 2, np.float32)
    await over_rest(url, model, rows, float(expected))
    await over_grpc(grpc_url, model, rows, float(expected))
    await version_one(url, model, rows, float(expected))


def request_of(model: str, rows: Any, binary: bool) -> Any:
    tensor = InferInput("input", list(rows.shape), "FP32")
    tensor.set_data_from_numpy(rows, binary_data=binary)
    return InferRequest(model, [tensor], request_id="7")


async def over_rest(url: str, model: str, rows: Any, expected: float) -> None:
    async with InferenceRESTClient(RESTConfig(protocol="v2")) as client:
        assert await client.is_server_live(url)
        assert await client.is_server_ready(url)
        assert await client.is_model_ready(url, model)
        for binary in (False, True):
            answer = await client.infer(url, request_of(model, rows, binary), model_name=model)
            assert answer.id == "7"
            np.testing.assert_allclose(answer.outputs[0].as_numpy(), [expected] * 2, rtol=1e-6)
        status = 200
        try:
            await client.infer(url, request_of("none", rows, False), model_name="none")
        except HTTPStatusError as refused:
            status = refused.response.status_code
        assert status == 404
    print("KServe's client passes over REST")


async def over_grpc(url: str, model: str, rows: Any, expected: float) -> None:
    client = InferenceGRPCClient(url)
    assert await client.is_server_live()
    assert await client.is_server_ready()
    assert await client.is_model_ready(model)
    for binary in (False, True):
        answer = await client.infer(request_of(model, rows, binary))
        np.testing.assert_allclose(answer.outputs[0].as_numpy(), [expected] * 2, rtol=1e-6)
    code = grpc.StatusCode.OK
    try:
        await client.infer(request_of("none", rows, True))
    except grpc.RpcError as refused:
        code = refused.code()
    assert code is grpc.StatusCode.NOT_FOUND
    await client.close()
    print("KServe's client passes over gRPC")


async def version_one(url: str, model: str, rows: Any, expected: float) -> None:
    async with InferenceRESTClient(RESTConfig(protocol="v1")) as client:
        answer = await client.infer(url, {"instances": rows.tolist()}, model_name=model)
        np.testing.assert_allclose(answer["predictions"], [expected] * 2, rtol=1e-6)
    print("KServe's client passes with version 1 of its protocol")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
