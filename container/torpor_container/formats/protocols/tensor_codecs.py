"""Reads and writes named tensors by the protocol of a request: the Open Inference Protocol, or TensorFlow Serving's."""

from collections.abc import Callable, Mapping
from typing import Any

from torpor_container.content.accept import choose
from torpor_container.content.media import JSON, media_type
from torpor_container.content.open_inference import infer_request, infer_response
from torpor_container.content.open_inference.infer_request import InferRequest
from torpor_container.content.tf_serving import tfs_answer, tfs_request
from torpor_container.content.tf_serving.tfs_request import TfsRequest
from torpor_container.core.protocols.protocol_types import TENSORS, TF_SERVING
from torpor_container.invocation import Invocation, Reply

TensorCall = InferRequest | TfsRequest
OFFERED = (TENSORS, JSON)
"""What a caller may accept: the answer is the same."""


def read_call(call: Invocation, datatypes: Callable[[], Mapping[str, str]]) -> TensorCall:
    """The request. `datatypes` gives those of the model's inputs by name. Raises BadInput, NotAcceptable."""
    if media_type(call.content_type) == TF_SERVING:
        return tfs_request.read_request(call.body, call.content_type, datatypes())
    if call.accept not in OFFERED:
        choose(call.accept, OFFERED)
    return infer_request.read_request(call.body, call.content_type)


def reply(tensors: Mapping[str, Any], request: TensorCall) -> Reply:
    """The answer in the request's protocol. Raises Unwritable, BadInput."""
    if isinstance(request, TfsRequest):
        return Reply(*tfs_answer.written(tensors, request))
    return Reply(*infer_response.written(tensors, request))
