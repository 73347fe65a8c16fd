"""MLServer's own client, unchanged: its command `mlserver infer`, its codecs over REST, and its stubs over gRPC.

Run by `tests/clients/test_open_inference.py`, with the arguments of `v2_clients.py`.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import grpc
import numpy as np
import pandas as pd
from mlserver.codecs import NumpyCodec, NumpyRequestCodec, PandasCodec  # type: ignore[import-not-found]
from mlserver.grpc import converters, dataplane_pb2_grpc, model_repository_pb2, model_repository_pb2_grpc  # type: ignore[import-not-found]
from mlserver.types import (  # type: ignore[import-not-found]
    InferenceErrorResponse,
    InferenceResponse,
    MetadataModelResponse,
)

ROWS = 2


def main(url: str, grpc_url: str, model: str, row: str, expected: str) -> None:
    cells = [[float(cell) for cell in row.split(",")]] * ROWS
    request = NumpyRequestCodec.encode_request(np.array(cells, np.float32))
    by_codecs(url, model, request, float(expected))
    by_columns(url, model, cells, float(expected))
    by_command(url, model, request, float(expected))
    asyncio.run(by_stubs(grpc_url, model, request, float(expected)))


def asked(url: str, body: bytes | None = None) -> bytes:
    with urlopen(Request(url, body, {"Content-Type": "application/json"}), timeout=60) as answer:
        found: bytes = answer.read()
    return found


def is_expected(response: Any, expected: float) -> None:
    (output,) = response.outputs
    np.testing.assert_allclose(NumpyCodec.decode_output(output).ravel(), [expected] * ROWS, rtol=1e-6)


def by_codecs(url: str, model: str, request: Any, expected: float) -> None:
    metadata = MetadataModelResponse.model_validate_json(asked(f"{url}/v2/models/{model}"))
    assert metadata.name == model
    body = request.model_copy(update={"id": "7"}).model_dump_json(exclude_none=True).encode()
    response = InferenceResponse.model_validate_json(asked(f"{url}/v2/models/{model}/infer", body))
    assert (response.model_name, response.id) == (model, "7")
    is_expected(response, expected)
    status, said = 200, b""
    try:
        asked(f"{url}/v2/models/none/infer", body)
    except HTTPError as refused:
        status, said = refused.code, refused.read()
    assert status == 404
    assert InferenceErrorResponse.model_validate_json(said).error
    print("MLServer's types and codecs pass over REST")


def by_columns(url: str, model: str, cells: Any, expected: float) -> None:
    """A tensor for each column, as MLServer has data frames."""
    frame = pd.DataFrame(np.array(cells, np.float32), columns=[f"f{number}" for number in range(len(cells[0]))])
    body = PandasCodec.encode_request(frame).model_dump_json(exclude_none=True).encode()
    is_expected(InferenceResponse.model_validate_json(asked(f"{url}/v2/models/{model}/infer", body)), expected)
    print("MLServer's codec of data frames passes")


def by_command(url: str, model: str, request: Any, expected: float) -> None:
    with tempfile.TemporaryDirectory() as name:
        given, got = Path(name, "requests.jsonl"), Path(name, "responses.jsonl")
        given.write_text(5 * (request.model_dump_json(exclude_none=True) + "\n"))
        program = Path(sys.executable).with_name("mlserver")
        command: list[str | Path] = [program, "infer", "-u", url.partition("//")[2], "-m", model]
        subprocess.run([*command, "-i", given, "-o", got, "-w", "2", "-s", "2"], check=True, timeout=100)
        lines = [json.loads(line) for line in got.read_text().splitlines()]
    assert len(lines) == 5
    for line in lines:
        is_expected(InferenceResponse.model_validate(line), expected)
    print("the command mlserver infer passes")


async def by_stubs(url: str, model: str, request: Any, expected: float) -> None:
    async with grpc.aio.insecure_channel(url) as channel:
        stub = dataplane_pb2_grpc.GRPCInferenceServiceStub(channel)
        for raw in (False, True):
            sent = converters.ModelInferRequestConverter.from_types(request, model, use_raw=raw)
            answer = converters.ModelInferResponseConverter.to_types(await stub.ModelInfer(sent))
            is_expected(answer, expected)
        repository = model_repository_pb2_grpc.ModelRepositoryServiceStub(channel)
        named = {"model_name": f"{model}.tar.gz"}
        for verb, ready in (("Unload", False), ("Load", True)):
            asking = getattr(model_repository_pb2, f"RepositoryModel{verb}Request")(**named)
            await getattr(repository, f"RepositoryModel{verb}")(asking)
            index = model_repository_pb2.RepositoryIndexRequest(ready=True)
            there = (await repository.RepositoryIndex(index)).models
            assert (named["model_name"] in {one.name for one in there}) == ready, there
    print("MLServer's stubs and converters pass over gRPC")


if __name__ == "__main__":
    main(*sys.argv[1:])
