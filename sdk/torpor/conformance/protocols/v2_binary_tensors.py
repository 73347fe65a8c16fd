"""The Open Inference Protocol: tensors in binary, for a server that has `binary_tensor_data` among its extensions."""

import json
import struct
from typing import Any

from torpor.conformance.container import CheckedContainer, UseCase
from torpor.conformance.container_client import ContainerAnswer
from torpor.conformance.judging import RuleBroken, expect, expect_success, skip
from torpor.conformance.protocols.served_model import Json, flattened, model_of, sent
from torpor.conformance.protocols.v2_inference import described_by, inferred, outputs_of, request_of
from torpor.conformance.rule import Level, Source, rule

V2 = frozenset({UseCase.V2})
EXTENSION = "binary_tensor_data"
CODES = {
    "BOOL": "?", "UINT8": "B", "UINT16": "H", "UINT32": "I", "UINT64": "Q", "INT8": "b", "INT16": "h", "INT32": "i",
    "INT64": "q", "FP16": "e", "FP32": "f", "FP64": "d",
}  # fmt: skip
LENGTH = "Inference-Header-Content-Length"
ADDRESSES = 8
"""The most that a number of the protocol wants its address to be divisible by."""


@rule(
    "v2-binary-inputs",
    Level.MUST,
    says="Binary tensors follow the JSON in the order in which it names them; Inference-Header-Content-Length is the "
    "length of the JSON, and the parameter binary_data_size that of a tensor. They are little-endian.",
    source=Source.BINARY_TENSORS,
    mend="Read inputs with binary_data_size from the bytes behind the JSON, or leave the extension out.",
    uses=V2,
    needs=("v2-infer",),
)
def binary_inputs_are_the_same_tensors(container: CheckedContainer) -> None:
    request = _binary_request(container)
    plain = outputs_of(inferred(container, request_of(container)))
    answer = _sent(container, *request)
    for one, other in zip(plain, outputs_of(answer), strict=False):
        same = flattened(one["data"]) == flattened(other["data"])
        expect(same, f"output {one['name']} differs from that of the same inputs in JSON", answer)


@rule(
    "v2-binary-any-length",
    Level.MUST,
    says="Inference-Header-Content-Length is the length of the JSON, whatever it is: tensors begin right behind it.",
    source=Source.BINARY_TENSORS,
    mend="Copy a tensor whose bytes begin at an address that its numbers may not have.",
    uses=V2,
    needs=("v2-binary-inputs",),
)
def tensors_behind_json_of_any_length_are_read(container: CheckedContainer) -> None:
    head, tail = _binary_request(container)
    for spaces in range(ADDRESSES):
        answer = _sent(container, head, tail, b" " * spaces)
        expect_success(answer, f" with {spaces} spaces behind its JSON")


@rule(
    "v2-binary-outputs",
    Level.MUST,
    says="With the parameter binary_data_output all outputs come in binary, each with binary_data_size.",
    source=Source.BINARY_TENSORS,
    mend="Send outputs in binary where binary_data_output or binary_data asks for it, or leave the extension out.",
    uses=V2,
    needs=("v2-binary-inputs",),
)
def binary_outputs_are_the_same_tensors(container: CheckedContainer) -> None:
    head, tail = _binary_request(container)
    answer = _sent(container, {**head, "parameters": {"binary_data_output": True}}, tail)
    expect_success(answer)
    size = answer.headers.get(LENGTH.lower(), "")
    expect(size.isdecimal(), f"the answer has no {LENGTH}", answer)
    try:
        found = json.loads(answer.body[: int(size)])["outputs"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise RuleBroken(f"the first {size} bytes of the answer are no JSON with outputs", answer.shown) from None
    plain = {one["name"]: one for one in outputs_of(inferred(container, request_of(container)))}
    at = int(size)
    for one in found:
        taken = (one.get("parameters") or {}).get("binary_data_size")
        if not isinstance(taken, int):
            raise RuleBroken(f"output {one.get('name')} has no binary_data_size", answer.shown)
        raw, at = answer.body[at : at + taken], at + taken
        if (code := CODES.get(one["datatype"])) is not None and one["name"] in plain:
            values = _values(raw, code, one["name"])
            same = _close(values, flattened(plain[one["name"]]["data"]))
            expect(same, f"output {one['name']} in binary differs from that in JSON")
    expect(at == len(answer.body), f"the answer has {len(answer.body)} bytes, and its tensors end at {at}", answer)


def _binary_request(container: CheckedContainer) -> tuple[Json, bytes]:
    """The request with all its inputs in binary. Raises RuleSkipped."""
    if EXTENSION not in described_by(container).get("extensions", ()):
        skip(f"the server has no extension {EXTENSION}")
    request, tail, inputs = request_of(container), b"", []
    for one in request["inputs"]:
        if one["datatype"] not in CODES or "data" not in one:
            skip(f"the checks write no {one['datatype']} in binary")
        values = flattened(one["data"])
        raw = struct.pack(f"<{len(values)}{CODES[one['datatype']]}", *values)
        kept = {name: value for name, value in one.items() if name != "data"}
        inputs.append({**kept, "parameters": {"binary_data_size": len(raw)}})
        tail += raw
    return {**request, "inputs": inputs}, tail


def _sent(container: CheckedContainer, head: Json, tail: bytes, spaces: bytes = b"") -> ContainerAnswer:
    text = json.dumps(head).encode() + spaces
    headers = {"Content-Type": "application/octet-stream", LENGTH: str(len(text))}
    path = f"/v2/models/{model_of(container)}/infer"
    return sent(container, "POST", path, text + tail, headers)


def _values(raw: bytes, code: str, name: str) -> list[Any]:
    each = struct.calcsize(f"<{code}")
    expect(len(raw) % each == 0, f"output {name}: {len(raw)} bytes are no whole number of values")
    return list(struct.unpack(f"<{len(raw) // each}{code}", raw))


def _close(values: list[Any], others: list[Any]) -> bool:
    """Whether they are the same, but for what JSON rounds."""
    if len(values) != len(others):
        return False
    return all(
        abs(one - other) <= 1e-4 * max(1.0, abs(one)) if isinstance(one, float) else one == other
        for one, other in zip(values, others, strict=True)
    )
