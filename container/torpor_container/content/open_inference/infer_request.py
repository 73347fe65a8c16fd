"""Reads an inference request: JSON, and behind it the data of the tensors that have it in binary.

The content type is that by which Triton's clients send such a body to SageMaker. `json-header-size` is the length of
the JSON; without it the whole body is JSON, and 0 means that the body is the data of the model's one input. The face
adds the name and the version that the caller gave the model.

A body with `outputs` in place of `inputs` is the answer of the container before, in an inference pipeline.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from sys import maxsize
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote

from torpor_container.content.media import parameters
from torpor_container.content.open_inference.known_json import (
    BODY_MAX_BYTES,
    KNOWN_MAX_BYTES,
    JsonPart,
    KnownJson,
    known_input,
    without_id,
)
from torpor_container.content.open_inference.tensor_bytes import BYTES, array_of, of_objects
from torpor_container.content.reading.json_values import parse
from torpor_container.content.reading.tensors import (
    CODECS,
    DATATYPES,
    Tensor,
    are_tensors,
    checked_shape,
    checked_tensor,
)
from torpor_container.core.protocols.protocol_types import HEADER_SIZE, MODEL_NAME, MODEL_VERSION
from torpor_container.errors import BadInput

BINARY_SIZE, BINARY, ALL_BINARY = "binary_data_size", "binary_data", "binary_data_output"
MEMBERS = ("inputs", "outputs", "id", "parameters", "model_name", "model_version")


ALL_OUTPUTS: Mapping[str, bool] = MappingProxyType({})
"""No output is named: all are wanted."""
KNOWN = KnownJson()


class InferRequest(NamedTuple):
    """What a request asks of a model. `raw` is the data of the only input, if the body is nothing else.

    `outputs` are the names of those that are wanted, and whether in binary; empty for all, in binary if `binary`.
    """

    tensors: Mapping[str, Tensor]
    outputs: Mapping[str, bool] = ALL_OUTPUTS
    binary: bool = False
    request_id: str | None = None
    raw: bytes | None = None
    model_name: str = ""
    model_version: str = ""


class _Told(NamedTuple):
    """What the content type tells of a request. `json_bytes` are None where it tells no `size`."""

    model_name: str
    model_version: str
    size: str
    json_bytes: int | None


NOTHING_TOLD = _Told("", "", "", None)


def read_request(body: bytes, content_type: str) -> InferRequest:
    """Raises BadInput, which names the member or the tensor at fault."""
    told = _told(content_type)
    size = len(body) if told.json_bytes is None else told.json_bytes
    if size > len(body):
        raise BadInput(f"{HEADER_SIZE}={told.size[:20]!r} is no length of the JSON in a body of {len(body)} bytes")
    if size == 0:
        return InferRequest({}, ALL_OUTPUTS, True, None, body, told.model_name, told.model_version)
    if size == len(body) or size > KNOWN_MAX_BYTES or len(body) > BODY_MAX_BYTES:
        return _read(body, size, told)[0]
    text, request_id = without_id(body[:size])
    if text is None:
        return _read(body, size, told)[0]
    part = KNOWN.get(text)
    if part is None or part.data_bytes != len(body) - size:
        request, part = _read(body, size, told)
        if part is not None and (request_id is None or _is_its_id(request_id, part, text, body[size:])):
            KNOWN.keep(text, part)
        return request
    if request_id is None:
        request_id = part.request_id
    tensors = part.tensors(body[size:])
    return InferRequest(tensors, part.outputs, part.binary, request_id, None, told.model_name, told.model_version)


def _read(body: bytes, size: int, told: _Told) -> tuple[InferRequest, JsonPart | None]:
    """The request, and what its JSON says, if all its tensors have their data behind it. Raises BadInput."""
    document = parse(body[:size])
    if not isinstance(document, dict):
        raise BadInput("a request of the Open Inference Protocol is a JSON object with inputs")
    if unknown := [key for key in document if key not in MEMBERS]:
        raise BadInput(f"a request of the Open Inference Protocol has no member {', '.join(unknown)}")
    data = _BinaryData(memoryview(body)[size:])
    answers_before = "inputs" not in document and are_tensors(document.get("outputs"))
    described: Any = document.get("outputs" if answers_before else "inputs")
    tensors = _tensors(described, data)
    if answers_before:
        outputs, binary = ALL_OUTPUTS, data.used
    else:
        asked = _parameters(document.get("parameters"), "the request", (ALL_BINARY,))
        binary = _truth(asked, ALL_BINARY, "the request")
        outputs = _outputs(document.get("outputs"), binary)
    request_id = _text(document, "id")
    data.check_end()
    request = InferRequest(tensors, outputs, binary, request_id, None, told.model_name, told.model_version)
    if any(one.array is None for one in tensors.values()):
        return request, None
    inputs = [
        known_input(one.name, one.datatype, one.shape, members["parameters"][BINARY_SIZE])
        for one, members in zip(tensors.values(), described, strict=True)
    ]
    return request, JsonPart(inputs, len(body) - size, outputs, binary, request_id)


def _is_its_id(request_id: str, part: JsonPart, text: bytes, data: bytes) -> bool:
    """Whether this JSON, from which the text was taken, says the same as before but for the id. Not for an empty text,
    which shows nothing."""
    if not request_id or part.request_id != request_id:
        return False
    try:
        _, without = _read(text + data, len(text), NOTHING_TOLD)
    except BadInput:
        return False
    return without == part._replace(request_id="")


@lru_cache(maxsize=256)
def _told(content_type: str) -> _Told:
    given = parameters(content_type)
    name, version = unquote(given.get(MODEL_NAME, "")), unquote(given.get(MODEL_VERSION, ""))
    size = given.get(HEADER_SIZE)
    if size is None:
        return _Told(name, version, "", None)
    is_number = size.isascii() and size.isdecimal() and len(size) <= 10
    return _Told(name, version, size, int(size) if is_number else maxsize)


class _BinaryData:
    """What follows the JSON, taken piece by piece."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0

    @property
    def used(self) -> bool:
        return self._at > 0

    def take(self, name: str, size: object) -> memoryview:
        if type(size) is not int or size < 0:
            raise BadInput(f"tensor {name} has the {BINARY_SIZE} {size!r}: it is a number of bytes")
        if self._at + size > len(self._data):
            left = len(self._data) - self._at
            raise BadInput(f"tensor {name} has a {BINARY_SIZE} of {size}, and {left} bytes are left of the body")
        self._at += size
        return self._data[self._at - size : self._at]

    def check_end(self) -> None:
        if self._at != len(self._data):
            raise BadInput(
                f"{len(self._data) - self._at} bytes follow the last tensor: check the length of the JSON "
                f"(Inference-Header-Content-Length, or {HEADER_SIZE}) and each {BINARY_SIZE}"
            )


def _tensors(given: object, data: _BinaryData) -> dict[str, Tensor]:
    if not isinstance(given, list) or not given or not all(isinstance(one, dict) for one in given):
        raise BadInput("inputs is a list of tensors, each with name, shape, datatype and data")
    read: dict[str, Tensor] = {}
    for members in given:
        tensor = _tensor(members, data)
        if tensor.name in read:
            raise BadInput(f"a tensor's name is there twice: {tensor.name}")
        read[tensor.name] = tensor
    return read


def _tensor(members: Mapping[str, Any], data: _BinaryData) -> Tensor:
    asked = members.get("parameters")
    if not (isinstance(asked, dict) and BINARY_SIZE in asked):
        return checked_tensor(members)
    name = members.get("name")
    if not isinstance(name, str) or not name:
        raise BadInput("each tensor has a name, which is text")
    _parameters(asked, f"tensor {name}", (BINARY_SIZE,))
    if unknown := [member for member in members if member not in ("name", "shape", "datatype", "parameters")]:
        raise BadInput(f"tensor {name} has its data in binary, and no {', '.join(unknown)} beside it")
    datatype, shape = members.get("datatype"), members.get("shape")
    if not isinstance(datatype, str) or datatype not in DATATYPES:
        raise BadInput(f"tensor {name} is of datatype {datatype!r}, and these are known: {', '.join(DATATYPES)}")
    checked = checked_shape(name, shape)
    return Tensor(name, checked, datatype, array=array_of(name, datatype, checked, data.take(name, asked[BINARY_SIZE])))


def _outputs(given: object, binary: bool) -> Mapping[str, bool]:
    if given is None:
        return ALL_OUTPUTS
    if not isinstance(given, list) or not all(
        isinstance(one, dict) and isinstance(one.get("name"), str) for one in given
    ):
        raise BadInput("outputs is a list of objects, each with the name of an output")
    wanted = {}
    for one in given:
        if unknown := [member for member in one if member not in ("name", "parameters")]:
            raise BadInput(f"output {one['name']} has {', '.join(unknown)}, which the protocol does not have")
        asked = _parameters(one.get("parameters"), f"output {one['name']}", (BINARY,))
        wanted[one["name"]] = _truth(asked, BINARY, f"output {one['name']}", binary)
    return wanted


def _parameters(given: object, owner: str, known: Sequence[str]) -> Mapping[str, Any]:
    """Raises BadInput for one that is not known and may change what the request means."""
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise BadInput(f"the parameters of {owner} are a JSON object")
    for name, value in given.items():
        if name not in known and not (name == "content_type" and value in CODECS):
            raise BadInput(f"the parameter {name} of {owner} is not supported: leave it out")
    return given


def _truth(asked: Mapping[str, Any], name: str, owner: str, otherwise: bool = False) -> bool:
    value = asked.get(name, otherwise)
    if not isinstance(value, bool):
        raise BadInput(f"the parameter {name} of {owner} is true or false, and not {str(value)[:40]!r}")
    return value


def _text(document: Mapping[str, Any], member: str) -> str | None:
    value = document.get(member)
    if value is not None and not isinstance(value, str):
        raise BadInput(f"{member} is text")
    return value


def raw_tensor(name: str, datatype: str, shape: Sequence[int], data: bytes) -> Tensor:
    """The tensor of a body that is the data of one input, whose metadata these are. Raises BadInput."""
    if datatype == BYTES:
        return Tensor(name, (1,), datatype, array=of_objects([data]))
    sizes = [1 if place == 0 and size < 0 else size for place, size in enumerate(shape)]
    item = array_of(name, datatype, (0,), memoryview(b"")).dtype.itemsize
    free = [place for place, size in enumerate(sizes) if size < 0]
    if len(free) > 1:
        raise BadInput(f"input {name} has more than one free dimension ({list(shape)}): send its shape, in JSON")
    for place in free:
        rest = item
        for at, size in enumerate(sizes):
            rest *= size if at != place else 1
        sizes[place] = len(data) // rest if rest else 0
    return Tensor(name, tuple(sizes), datatype, array=array_of(name, datatype, sizes, memoryview(data)))
