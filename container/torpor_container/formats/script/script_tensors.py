"""Answers named tensors by a script: by its `infer_fn`, which takes and returns them, or by JSON in its others.

Without `infer_fn` a script gets the tensors as `application/json`: the one tensor as nested lists, several as an object
of nested lists by name. What it answers in JSON becomes tensors again: an object one by each of its names, anything
else the tensor `predict`.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from torpor_container.content.media import JSON, media_type, parameters
from torpor_container.content.open_inference.infer_request import InferRequest
from torpor_container.content.open_inference.infer_response import PREDICTION, array_of_values
from torpor_container.content.open_inference.tensor_bytes import as_bytes, of_objects
from torpor_container.content.plain import Outputs, Unwritable
from torpor_container.content.reading.tensors import DATATYPES, Tensor
from torpor_container.core.protocols.protocol_types import METADATA, MODEL_NAME, TENSORS, TF_SERVING
from torpor_container.errors import BadInput, NotAcceptable
from torpor_container.formats.protocols import named_tensors
from torpor_container.formats.protocols.named_tensors import TensorInputs
from torpor_container.formats.protocols.tensor_codecs import TensorCall, read_call, reply
from torpor_container.invocation import Invocation, Reply

PLATFORM = "script"
UNKNOWN = TensorInputs(lambda tensors, wanted: tensors, tuple, tuple)
"""What a script takes and returns is its own affair: its metadata name no tensors."""

Infer = Callable[[dict[str, Any], Any], Any]
"""`infer_fn(inputs, model)`: arrays by name, elements of BYTES as `bytes`. It returns arrays by name, or one."""


def are_for_script(content_type: str, infer_fn: object) -> bool:
    """Whether a script answers a request here. One that has no `infer_fn` gets a body of this type as it was sent,
    unless a face sends it."""
    kind = media_type(content_type)
    return kind in (METADATA, TF_SERVING) or (
        kind == TENSORS and (infer_fn is not None or MODEL_NAME in parameters(content_type))
    )


def answered(call: Invocation, native: Any, infer_fn: Infer | None, by_json: Callable[[Invocation], Reply]) -> Reply:
    """`by_json` has the script's other functions answer. Raises BadInput, NotAcceptable, and what the script raises."""
    if media_type(call.content_type) == METADATA:
        return named_tensors.metadata(call, UNKNOWN, PLATFORM)
    request = read_call(call, dict)
    if isinstance(request, InferRequest) and request.raw is not None:
        raise BadInput("a script's inputs have no known shapes: send the JSON of the tensors before their data")
    if infer_fn is not None:
        result = infer_fn({name: array_of(tensor) for name, tensor in request.tensors.items()}, native)
        return _written(result, request)
    said = by_json(_in_json(call, request))
    if not 200 <= said.status < 300:
        return said
    if media_type(said.content_type) != JSON:
        return _written([said.body.decode("utf-8", "surrogateescape")], request)
    return _written(json.loads(said.body), request)._replace(custom_attributes=said.custom_attributes)


def array_of(tensor: Tensor) -> Any:
    """The tensor as an array of its datatype; elements of BYTES are `bytes`."""
    if tensor.array is not None:
        return tensor.array
    if tensor.datatype == "BYTES":
        return of_objects([as_bytes(one) for one in tensor.flat]).reshape(tensor.shape)
    return np.array(tensor.flat, DATATYPES[tensor.datatype]).reshape(tensor.shape)


def _in_json(call: Invocation, request: TensorCall) -> Invocation:
    nested = {name: tensor.nested for name, tensor in request.tensors.items()}
    body = next(iter(nested.values())) if len(nested) == 1 else nested
    inner = Invocation(json.dumps(body).encode(), JSON, JSON, call.custom_attributes)
    inner.headers = call.headers
    return inner


def _written(result: Any, request: TensorCall) -> Reply:
    """Raises BadInput for an output that the script did not return, and NotAcceptable."""
    named: Mapping[str, Any] = result if isinstance(result, Mapping) else {PREDICTION: result}
    tensors = {str(name): array_of_values(value) for name, value in Outputs(named).items()}
    if unknown := [name for name in request.outputs if name not in tensors]:
        raise BadInput(f"the script returned no output {', '.join(unknown)}, but {', '.join(tensors)}")
    try:
        return reply({name: tensors[name] for name in request.outputs or tensors}, request)
    except Unwritable as error:
        raise NotAcceptable(str(error)) from None
