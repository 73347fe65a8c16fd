"""The messages of the Open Inference Protocol over gRPC, and of Triton's additions to its service.

Names and numbers are those of `specification/protocol/open_inference_grpc.proto` (kserve/open-inference-protocol) and
of `protobuf/grpc_service.proto` (triton-inference-server/common). The table is read into classes when the service
starts, in a pool of its own: the classes that protoc generates for it register the same names in the one pool of a
process, where those of two packages clash, and a build would need protoc.
"""

from functools import cache
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from torpor_endpoint.faces.grpc_face.message_table import file_of

PACKAGE, FILE = "inference", "open_inference_grpc.proto"
SERVICE = "GRPCInferenceService"
_CHOICE = (
    "bool bool_param = 1 in parameter_choice; int64 int64_param = 2 in parameter_choice; "
    "string string_param = 3 in parameter_choice"
)
MESSAGES = {
    "ServerLiveRequest": "",
    "ServerLiveResponse": "bool live = 1",
    "ServerReadyRequest": "",
    "ServerReadyResponse": "bool ready = 1",
    "ModelReadyRequest": "string name = 1; string version = 2",
    "ModelReadyResponse": "bool ready = 1",
    "ServerMetadataRequest": "",
    "ServerMetadataResponse": "string name = 1; string version = 2; repeated string extensions = 3",
    "ModelMetadataRequest": "string name = 1; string version = 2",
    "ModelMetadataResponse": (
        "string name = 1; repeated string versions = 2; string platform = 3; "
        "repeated ModelMetadataResponse.TensorMetadata inputs = 4; "
        "repeated ModelMetadataResponse.TensorMetadata outputs = 5"
    ),
    "ModelMetadataResponse.TensorMetadata": "string name = 1; string datatype = 2; repeated int64 shape = 3",
    "InferParameter": (
        f"{_CHOICE}; double double_param = 4 in parameter_choice; uint64 uint64_param = 5 in parameter_choice"
    ),
    "InferTensorContents": (
        "repeated bool bool_contents = 1; repeated int32 int_contents = 2; repeated int64 int64_contents = 3; "
        "repeated uint32 uint_contents = 4; repeated uint64 uint64_contents = 5; repeated float fp32_contents = 6; "
        "repeated double fp64_contents = 7; repeated bytes bytes_contents = 8"
    ),
    "ModelInferRequest": (
        "string model_name = 1; string model_version = 2; string id = 3; map InferParameter parameters = 4; "
        "repeated ModelInferRequest.InferInputTensor inputs = 5; "
        "repeated ModelInferRequest.InferRequestedOutputTensor outputs = 6; repeated bytes raw_input_contents = 7"
    ),
    "ModelInferRequest.InferInputTensor": (
        "string name = 1; string datatype = 2; repeated int64 shape = 3; map InferParameter parameters = 4; "
        "InferTensorContents contents = 5"
    ),
    "ModelInferRequest.InferRequestedOutputTensor": "string name = 1; map InferParameter parameters = 2",
    "ModelInferResponse": (
        "string model_name = 1; string model_version = 2; string id = 3; map InferParameter parameters = 4; "
        "repeated ModelInferResponse.InferOutputTensor outputs = 5; repeated bytes raw_output_contents = 6"
    ),
    "ModelInferResponse.InferOutputTensor": (
        "string name = 1; string datatype = 2; repeated int64 shape = 3; map InferParameter parameters = 4; "
        "InferTensorContents contents = 5"
    ),
    "ModelStreamInferResponse": "string error_message = 1; ModelInferResponse infer_response = 2",
    "ModelStatisticsRequest": "string name = 1; string version = 2",
    "ModelStatisticsResponse": "repeated ModelStatistics model_stats = 1",
    "ModelStatistics": (
        "string name = 1; string version = 2; uint64 last_inference = 3; uint64 inference_count = 4; "
        "uint64 execution_count = 5; InferStatistics inference_stats = 6"
    ),
    "InferStatistics": (
        "StatisticDuration success = 1; StatisticDuration fail = 2; StatisticDuration queue = 3; "
        "StatisticDuration compute_input = 4; StatisticDuration compute_infer = 5; "
        "StatisticDuration compute_output = 6"
    ),
    "StatisticDuration": "uint64 count = 1; uint64 ns = 2",
    "ModelRepositoryParameter": f"{_CHOICE}; bytes bytes_param = 4 in parameter_choice",
    "RepositoryIndexRequest": "string repository_name = 1; bool ready = 2",
    "RepositoryIndexResponse": "repeated RepositoryIndexResponse.ModelIndex models = 1",
    "RepositoryIndexResponse.ModelIndex": "string name = 1; string version = 2; string state = 3; string reason = 4",
    "RepositoryModelLoadRequest": (
        "string repository_name = 1; string model_name = 2; map ModelRepositoryParameter parameters = 3"
    ),
    "RepositoryModelLoadResponse": "",
    "RepositoryModelUnloadRequest": (
        "string repository_name = 1; string model_name = 2; map ModelRepositoryParameter parameters = 3"
    ),
    "RepositoryModelUnloadResponse": "",
}
UNARY = (
    "ServerLive",
    "ServerReady",
    "ModelReady",
    "ServerMetadata",
    "ModelMetadata",
    "ModelInfer",
    "ModelStatistics",
    "RepositoryIndex",
    "RepositoryModelLoad",
    "RepositoryModelUnload",
)
"""Each takes the message of its name and `Request`, and answers that of its name and `Response`."""
STREAM = "ModelStreamInfer"
REPOSITORY = "inference.model_repository.ModelRepositoryService"
OF_REPOSITORY = ("RepositoryIndex", "RepositoryModelLoad", "RepositoryModelUnload")
"""MLServer's own service of its repository, and its calls, whose messages are those of Triton's calls of these
names."""


@cache
def pool() -> Any:
    """The descriptors of the service and its messages."""
    known = descriptor_pool.DescriptorPool()
    known.AddSerializedFile(_file().SerializeToString())
    return known


@cache
def message(name: str) -> Any:
    """The class of a message."""
    return message_factory.GetMessageClass(pool().FindMessageTypeByName(f"{PACKAGE}.{name}"))


def _file() -> FileDescriptorProto:
    file = file_of(PACKAGE, FILE, MESSAGES)
    service = file.service.add(name=SERVICE)
    for name in UNARY:
        service.method.add(name=name, input_type=_typed(f"{name}Request"), output_type=_typed(f"{name}Response"))
    service.method.add(
        name=STREAM,
        input_type=_typed("ModelInferRequest"),
        output_type=_typed(f"{STREAM}Response"),
        client_streaming=True,
        server_streaming=True,
    )
    return file


def _typed(name: str) -> str:
    return f".{PACKAGE}.{name}"
