"""Reads a request of TensorFlow Serving's REST API to named tensors, typed by the model's inputs.

{"instances": [[1, 2], [3, 4]]}, {"instances": [{"a": 1, "b": "x"}]}     a tensor's rows, or an object for each
{"inputs": [[1, 2]]}, {"inputs": {"a": [1], "b": ["x"]}}                 the one tensor, or each by name
{"examples": [{"a": 1, "b": "x"}]}                                       to classify or regress: features by name

The texts of the errors are the server's own (tensorflow/serving, util/json_tensor.cc).
"""

import json
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from torpor_container.content.media import parameters
from torpor_container.content.open_inference.tensor_bytes import BYTES, as_bytes, of_objects
from torpor_container.content.reading.tensors import Tensor
from torpor_container.core.protocols.protocol_types import METHOD, PREDICT
from torpor_container.errors import BadInput
from torpor_container.frozen_class import frozen

INSTANCES, INPUTS, EXAMPLES, CONTEXT = "instances", "inputs", "examples", "context"
SIGNATURE, SERVING_DEFAULT = "signature_name", "serving_default"
B64 = "b64"
SHOWN_MAX = 200
WHOLE_LIMITS = {"FP16": 2**11, "FP32": 2**24, "FP64": 2**53}
"""From here on a float cannot hold every whole number."""
TYPES = {"FP16": "half", "FP32": "float", "FP64": "double", "BOOL": "bool", BYTES: "string"}
"""TensorFlow's names of the protocol's datatypes; the others are written in lower case there too."""
RANK_MAX = 32


@frozen
class TfsRequest:
    """`rows`: whether the answer is a value for each row. Signatures name no outputs: all are answered."""

    tensors: Mapping[str, Tensor]
    method: str = PREDICT
    rows: bool = True
    outputs: Mapping[str, bool] = field(default_factory=dict)


def read_request(body: bytes, content_type: str, datatypes: Mapping[str, str]) -> TfsRequest:
    """`datatypes` are those of the model's inputs by name. Raises BadInput with the server's own text."""
    document = _parsed(body)
    signature = document.get(SIGNATURE, "")
    if not isinstance(signature, str):
        raise BadInput(
            f"JSON Value: {_shown(document)} not formatted correctly. 'signature_name' key must be a string value."
        )
    if signature not in ("", SERVING_DEFAULT):
        raise BadInput(f'Serving signature key "{signature}" not found.')
    method = parameters(content_type).get(METHOD, PREDICT)
    if method != PREDICT:
        return TfsRequest(_of_examples(document, datatypes), method)
    if INSTANCES in document and INPUTS in document:
        raise BadInput(
            f"JSON Value: {_shown(document)} Not formatted correctly expecting only one of 'inputs' or 'instances' "
            "keys to exist "
        )
    if INSTANCES in document:
        return TfsRequest(_of_instances(document, datatypes))
    if INPUTS in document:
        return TfsRequest(_of_inputs(document[INPUTS], datatypes), rows=False)
    raise BadInput("Missing 'inputs' or 'instances' key")


def _parsed(body: bytes) -> dict[str, Any]:
    if not body:
        raise BadInput("JSON Parse error: The document is empty")
    try:
        document = json.loads(body)
    except json.JSONDecodeError as error:
        raise BadInput(f"JSON Parse error: {error.msg} at offset: {error.pos}") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"JSON Parse error: {error}") from None
    if not isinstance(document, dict):
        raise BadInput(f"JSON Value: {_shown(document)} Is not object")
    return document


# -- the three forms ---------------------------------------------------------------------------------------------------
def _of_instances(document: Mapping[str, Any], datatypes: Mapping[str, str]) -> dict[str, Tensor]:
    instances = document[INSTANCES]
    if not isinstance(instances, list):
        raise BadInput(f"JSON Value: {_shown(document)} Excepting '{INSTANCES}' to be an list/array")
    if not instances:
        raise BadInput(f"JSON Value: {_shown(document)} No values in '{INSTANCES}' array")
    if not _is_object(instances[0]):
        if len(datatypes) > 1:
            raise BadInput(
                "instances is a plain list, but expecting list of objects as multiple input tensors required as per "
                "tensorinfo_map"
            )
        for place, one in enumerate(instances):
            if _is_object(one):
                raise BadInput(f"Expecting value/list but got object at item {place} of input list")
        name = next(iter(datatypes), "input")
        return {name: _tensor(name, instances, datatypes.get(name))}
    names = set(instances[0])
    for place, one in enumerate(instances):
        if not _is_object(one):
            raise BadInput(f"Expecting object but got list at item {place} of input list")
        if set(one) != names:
            raise BadInput(
                f"Failed to process element: {place} of '{INSTANCES}' list. JSON object: {_shown(one)} must only have "
                f"keys: {','.join(sorted(names))}"
            )
    return {name: _tensor(name, [one[name] for one in instances], datatypes.get(name)) for name in instances[0]}


def _of_inputs(inputs: Any, datatypes: Mapping[str, str]) -> dict[str, Tensor]:
    if _is_object(inputs):
        return {name: _tensor(name, value, datatypes.get(name)) for name, value in inputs.items()}
    if len(datatypes) > 1:
        raise BadInput(
            "inputs is a plain value/list, but expecting an object as multiple input tensors required as per "
            "tensorinfo_map"
        )
    name = next(iter(datatypes), "input")
    return {name: _tensor(name, inputs, datatypes.get(name))}


def _of_examples(document: Mapping[str, Any], datatypes: Mapping[str, str]) -> dict[str, Tensor]:
    """A feature is a value, or a list of them; those of the context hold for every example."""
    examples, context = document.get(EXAMPLES), document.get(CONTEXT, {})
    if EXAMPLES not in document:
        raise BadInput(
            f"JSON Value: {_shown(document)} When method is classify, key '{EXAMPLES}' is expected and was not found"
        )
    if not isinstance(examples, list):
        raise BadInput(f"JSON Value: {_shown(document)} Expecting '{EXAMPLES}' value to be an list/array")
    if not examples:
        raise BadInput(f"JSON Value: {_shown(document)} '{EXAMPLES}' value is an empty array")
    for one in (*examples, context):
        if not isinstance(one, dict):
            raise BadInput(f"Example must be JSON object but got JSON {_kind(one)}")
    return _of_instances({INSTANCES: [{**context, **one} for one in examples]}, datatypes)


# -- tensors -----------------------------------------------------------------------------------------------------------
def _tensor(name: str, value: Any, datatype: str | None) -> Tensor:
    """A dense tensor. Without a datatype its values tell it, as those of a script's inputs do."""
    shape = _shape(value)
    flat: list[Any] = []
    _fill(value, 0, shape, flat)
    known = datatype or _guessed(flat)
    if known == BYTES:
        array = of_objects([_text(one) for one in flat]).reshape(shape)
        return Tensor(name, tuple(shape), BYTES, array=array)
    for one in flat:
        _check(one, known)
    return Tensor(name, tuple(shape), known, values=flat)


def _shape(value: Any) -> list[int]:
    shape: list[int] = []
    while isinstance(value, list):
        shape.append(len(value))
        if not value or len(shape) > RANK_MAX:
            break
        value = value[0]
    return shape


def _fill(value: Any, level: int, shape: Sequence[int], flat: list[Any]) -> None:
    if not isinstance(value, list):
        if level != len(shape):
            raise BadInput(
                f"JSON Value: {_shown(value)} found at incorrect level: {level + 1} in the JSON DOM. Expected at "
                f"level: {len(shape)}"
            )
        flat.append(value)
        return
    if level >= len(shape):
        raise BadInput(f"Encountered list at unexpected level: {level} expected < {len(shape)}")
    if len(value) != shape[level]:
        raise BadInput(
            f"Encountered list at unexpected size: {len(value)} at level: {level} expected size: {shape[level]}"
        )
    for one in value:
        _fill(one, level + 1, shape, flat)


def _guessed(flat: Sequence[Any]) -> str:
    if all(isinstance(one, bool) for one in flat):
        return "BOOL"
    if all(isinstance(one, int) and not isinstance(one, bool) for one in flat):
        return "INT64"
    return "FP64" if all(isinstance(one, int | float) for one in flat) else BYTES


def _check(value: Any, datatype: str) -> None:
    """Raise BadInput for a value that a tensor of this type cannot hold."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if datatype in WHOLE_LIMITS:
        if not is_number:
            raise _wrong_type(value, datatype)
        if isinstance(value, int) and abs(value) > WHOLE_LIMITS[datatype]:
            text = f"{_shown(value)} to {TYPES[datatype]} without loss of precision."
            raise BadInput(f"Cannot convert JSON value: {text}")
    elif datatype == "BOOL":
        if not isinstance(value, bool):
            raise _wrong_type(value, datatype)
    elif not (is_number and isinstance(value, int) and _holds(datatype, value)):
        raise _wrong_type(value, datatype)


def _holds(datatype: str, value: int) -> bool:
    limits = np.iinfo(datatype.lower())
    return bool(limits.min <= value <= limits.max)


def _text(value: Any) -> bytes:
    """An element of text: as it is, or in base64 where it is bytes."""
    if isinstance(value, str):
        return as_bytes(value)
    if not isinstance(value, dict):
        raise _wrong_type(value, BYTES)
    if list(value) != [B64] or not isinstance(value[B64], str):
        raise BadInput(f"JSON Value: {_shown(value)} not formatted correctly for base64 data")
    try:
        return b64decode(value[B64], validate=True)
    except (NotBase64, ValueError):
        raise BadInput("Unable to base64 decode") from None


def _wrong_type(value: Any, datatype: str) -> BadInput:
    expected = TYPES.get(datatype, datatype.lower())
    return BadInput(f"JSON Value: {_shown(value)} Type: {_kind(value)} is not of expected type: {expected}")


def _is_object(value: Any) -> bool:
    """Whether it is an object of tensors: bytes in base64 are a value."""
    return isinstance(value, dict) and list(value) != [B64]


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "Null" if value is None else str(value)
    if isinstance(value, str):
        return "String"
    if isinstance(value, dict):
        return "Object"
    return "Array" if isinstance(value, list) else "Number"


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"
