"""Turns an inference over gRPC into the protocol's body over REST, with its tensors in binary, and the answer back."""

import json
import struct
from typing import Any

from torpor_endpoint.faces.grpc_face.grpc_messages import message

CONTENTS = {
    "BOOL": ("bool_contents", "?"),
    "INT8": ("int_contents", "b"),
    "INT16": ("int_contents", "h"),
    "INT32": ("int_contents", "i"),
    "INT64": ("int64_contents", "q"),
    "UINT8": ("uint_contents", "B"),
    "UINT16": ("uint_contents", "H"),
    "UINT32": ("uint_contents", "I"),
    "UINT64": ("uint64_contents", "Q"),
    "FP32": ("fp32_contents", "f"),
    "FP64": ("fp64_contents", "d"),
    "BYTES": ("bytes_contents", ""),
}
"""The list of each datatype, and how its elements are written in binary."""


class BadTensor(ValueError):
    """A request that no body stands for. The text says which tensor, and why."""


class BadAnswer(ValueError):
    """An answer of a container that is no response of the protocol. The text says why."""


def body_of(request: Any) -> tuple[int, bytes]:
    """The body of a ModelInferRequest, and the length of its JSON. Raises BadTensor."""
    data = _data_of(request)
    inputs = [
        {
            "name": tensor.name,
            "shape": list(tensor.shape),
            "datatype": tensor.datatype,
            "parameters": {**_values(tensor.parameters), "binary_data_size": len(raw)},
        }
        for tensor, raw in zip(request.inputs, data, strict=True)
    ]
    outputs = [
        {"name": one.name, "parameters": {**_values(one.parameters), "binary_data": True}} for one in request.outputs
    ]
    document = {
        **({"id": request.id} if request.id else {}),
        "inputs": inputs,
        **({"outputs": outputs} if outputs else {}),
        "parameters": {**_values(request.parameters), "binary_data_output": True},
    }
    head = json.dumps(document).encode()
    return len(head), b"".join((head, *data))


def response_of(body: bytes, json_length: int | None) -> Any:
    """The ModelInferResponse of an answer. `json_length` is None for one that is JSON alone, as containers answer that
    write no tensors in binary. Raises BadAnswer."""
    try:
        return _response_of(json.loads(body if json_length is None else body[:json_length]), body, json_length)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, struct.error) as error:
        text = f"{type(error).__name__}: {error}"
        raise BadAnswer(f"the model's answer is no response of the Open Inference Protocol: {text}") from None


def _response_of(document: Any, body: bytes, json_length: int | None) -> Any:
    response = message("ModelInferResponse")(
        model_name=document.get("model_name", ""),
        model_version=document.get("model_version", ""),
        id=document.get("id", ""),
    )
    at = len(body) if json_length is None else json_length
    for output in document["outputs"]:
        response.outputs.add(name=output["name"], datatype=output["datatype"], shape=output["shape"])
        size = output.get("parameters", {}).get("binary_data_size")
        if size is None:
            response.raw_output_contents.append(_in_binary(output["datatype"], _flat(output["data"])))
            continue
        if not 0 <= size <= len(body) - at:
            raise ValueError(f"output {output['name']} has {len(body) - at} bytes left of {size}")
        response.raw_output_contents.append(body[at : at + size])
        at += size
    return response


def _in_binary(datatype: str, values: list[Any]) -> bytes:
    """The elements of a tensor that an answer has in JSON, as those are which it has in binary."""
    if datatype == "BYTES":
        texts = [str(one).encode() for one in values]
        return b"".join(struct.pack("<I", len(one)) + one for one in texts)
    letter = "e" if datatype == "FP16" else CONTENTS[datatype][1]
    return struct.pack(f"<{len(values)}{letter}", *values)


def _flat(values: Any) -> list[Any]:
    """The elements of nested lists, in their order."""
    if not isinstance(values, list):
        return [values]
    return [element for inner in values for element in _flat(inner)]


def _data_of(request: Any) -> list[bytes]:
    """The data of each input, in binary. Raises BadTensor."""
    raw, inputs = list(request.raw_input_contents), list(request.inputs)
    if not raw:
        return [_packed(tensor) for tensor in inputs]
    if len(raw) != len(inputs):
        raise BadTensor(f"raw_input_contents has {len(raw)} elements, and the request {len(inputs)} inputs")
    for tensor in inputs:
        if tensor.HasField("contents") and tensor.contents.ByteSize():  # MLServer's client sends empty ones
            raise BadTensor(f"tensor {tensor.name} has contents, and the request has raw_input_contents")
    return raw


def _packed(tensor: Any) -> bytes:
    """Raises BadTensor."""
    if tensor.datatype not in CONTENTS:
        text = f"{tensor.name}: datatype {tensor.datatype} has no list of contents: send raw_input_contents"
        raise BadTensor(f"tensor {text}")
    member, letter = CONTENTS[tensor.datatype]
    others = [field.name for field, _ in tensor.contents.ListFields() if field.name != member]
    if others:
        raise BadTensor(f"tensor {tensor.name}: datatype {tensor.datatype} belongs into {member}, not {others[0]}")
    values = getattr(tensor.contents, member)
    if not letter:
        return b"".join(struct.pack("<I", len(one)) + one for one in values)
    try:
        return struct.pack(f"<{len(values)}{letter}", *values)
    except struct.error as error:
        raise BadTensor(f"tensor {tensor.name}: {error}") from None


def _values(parameters: Any) -> dict[str, Any]:
    found = ((name, one.WhichOneof("parameter_choice"), one) for name, one in parameters.items())
    return {name: getattr(one, choice) for name, choice, one in found if choice is not None}
