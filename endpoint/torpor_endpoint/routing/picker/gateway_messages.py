"""The messages of Envoy's external processing, as far as an endpoint picker reads and writes them.

Names and numbers are those of Envoy's files service/ext_proc/v3/external_processor.proto, config/core/v3/base.proto and
type/v3/http_status.proto (envoyproxy/envoy, api/envoy). Messages of all three are in one package here, and enums are
numbers: neither is seen in the bytes. What is left out is passed over when it is read.
"""

from functools import cache
from typing import Any, Final

from google.protobuf import descriptor_pool, message_factory, struct_pb2

from torpor_endpoint.faces.grpc_face.message_table import file_of

PACKAGE, FILE = "envoy.service.ext_proc.v3", "envoy/service/ext_proc/v3/external_processor.proto"
SERVICE = f"{PACKAGE}.ExternalProcessor"
METHOD = "Process"
STRUCT = "google/protobuf/struct.proto"
NONE, STREAMED, BUFFERED, BUFFERED_PARTIAL, DUPLEX = range(5)
"""How the gateway sends a body: Envoy's BodySendMode."""
OVERWRITE: Final = 2
"""Envoy's HeaderAppendAction that sets a header in place of what was there."""
MESSAGES = {
    "HeaderValue": "string key = 1; string value = 2; bytes raw_value = 3",
    "HeaderMap": "repeated HeaderValue headers = 1",
    "HeaderValueOption": "HeaderValue header = 1; int32 append_action = 3",
    "HttpStatus": "int32 code = 1",
    "Metadata": "map .google.protobuf.Struct filter_metadata = 1",
    "HttpHeaders": "HeaderMap headers = 1; bool end_of_stream = 3",
    "HttpBody": "bytes body = 1; bool end_of_stream = 2",
    "HttpTrailers": "HeaderMap trailers = 1",
    "ProtocolConfiguration": (
        "int32 request_body_mode = 1; int32 response_body_mode = 2; "
        "bool send_body_without_waiting_for_header_response = 3"
    ),
    "ProcessingRequest": (
        "HttpHeaders request_headers = 2 in request; HttpHeaders response_headers = 3 in request; "
        "HttpBody request_body = 4 in request; HttpBody response_body = 5 in request; "
        "HttpTrailers request_trailers = 6 in request; HttpTrailers response_trailers = 7 in request; "
        "Metadata metadata_context = 8; bool observability_mode = 10; ProtocolConfiguration protocol_config = 11"
    ),
    "HeaderMutation": "repeated HeaderValueOption set_headers = 1; repeated string remove_headers = 2",
    "StreamedBodyResponse": "bytes body = 1; bool end_of_stream = 2",
    "BodyMutation": (
        "bytes body = 1 in mutation; bool clear_body = 2 in mutation; "
        "StreamedBodyResponse streamed_response = 3 in mutation"
    ),
    "CommonResponse": "int32 status = 1; HeaderMutation header_mutation = 2; BodyMutation body_mutation = 3",
    "HeadersResponse": "CommonResponse response = 1",
    "BodyResponse": "CommonResponse response = 1",
    "TrailersResponse": "HeaderMutation header_mutation = 1",
    "ImmediateResponse": "HttpStatus status = 1; HeaderMutation headers = 2; bytes body = 3; string details = 5",
    "ProcessingResponse": (
        "HeadersResponse request_headers = 1 in response; HeadersResponse response_headers = 2 in response; "
        "BodyResponse request_body = 3 in response; BodyResponse response_body = 4 in response; "
        "TrailersResponse request_trailers = 5 in response; TrailersResponse response_trailers = 6 in response; "
        "ImmediateResponse immediate_response = 7 in response; .google.protobuf.Struct dynamic_metadata = 8"
    ),
}


@cache
def pool() -> Any:
    """The descriptors of the service and its messages."""
    known = descriptor_pool.DescriptorPool()
    known.AddSerializedFile(struct_pb2.DESCRIPTOR.serialized_pb)
    file = file_of(PACKAGE, FILE, MESSAGES, (STRUCT,))
    names = {"input_type": f".{PACKAGE}.ProcessingRequest", "output_type": f".{PACKAGE}.ProcessingResponse"}
    service = file.service.add(name=SERVICE.rpartition(".")[2])
    service.method.add(name=METHOD, client_streaming=True, server_streaming=True, **names)
    known.AddSerializedFile(file.SerializeToString())
    return known


@cache
def message(name: str) -> Any:
    """The class of a message."""
    return message_factory.GetMessageClass(pool().FindMessageTypeByName(f"{PACKAGE}.{name}"))
