"""The package open-inference-grpc, unchanged, against an endpoint.

Run by `tests/clients/test_open_inference.py`, with the arguments of `v2_clients.py`.
"""

import struct
import sys

import grpc
from open_inference.grpc import protocol  # type: ignore[import-not-found]
from open_inference.grpc.service import GRPCInferenceServiceStub  # type: ignore[import-not-found]


def main(url: str, grpc_url: str, model: str, row: str, expected: str) -> None:
    cells = [float(cell) for cell in row.split(",")]
    with grpc.insecure_channel(grpc_url) as channel:
        stub = GRPCInferenceServiceStub(channel)
        assert stub.ServerLive(protocol.ServerLiveRequest()).live
        assert stub.ServerReady(protocol.ServerReadyRequest()).ready
        assert stub.ModelReady(protocol.ModelReadyRequest(name=model)).ready
        assert stub.ServerMetadata(protocol.ServerMetadataRequest()).name == "torpor"
        (source,) = stub.ModelMetadata(protocol.ModelMetadataRequest(name=model)).inputs
        request = protocol.ModelInferRequest(model_name=model, id="7")
        tensor = request.inputs.add(name=source.name, datatype=source.datatype, shape=[1, len(cells)])
        tensor.contents.fp32_contents.extend(cells)
        answer = stub.ModelInfer(request)
        assert answer.id == "7"
        (number,) = struct.unpack("<f", answer.raw_output_contents[0])
        assert abs(number - float(expected)) < 1e-5
        code = grpc.StatusCode.OK
        try:
            stub.ModelInfer(protocol.ModelInferRequest(model_name="none", inputs=request.inputs))
        except grpc.RpcError as refused:
            code = refused.code()
        assert code is grpc.StatusCode.NOT_FOUND
    print("open-inference-grpc passes")


if __name__ == "__main__":
    main(*sys.argv[1:])
