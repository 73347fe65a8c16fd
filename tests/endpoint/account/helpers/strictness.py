"""Checks an answer against botocore's model more strictly than botocore: missing, wrong, empty and unknown members."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as Xml

from botocore.model import OperationModel, Shape
from botocore.parsers import RpcV2CBORParser

from torpor_account.aws.validation import violations
from torpor_account.aws.wire.parameter_reading import read


@dataclass(frozen=True)
class Answered:
    """One answer: its raw body, and botocore's parse of it."""

    operation: OperationModel
    body: bytes
    parsed: Mapping[str, Any]


def complaints(answered: Answered, kept: Collection[str] = ()) -> list[str]:
    """`kept` names the optional members that may be empty."""
    shape = answered.operation.output_shape
    if shape is None:
        return []
    parsed = _wired({name: value for name, value in answered.parsed.items() if name != "ResponseMetadata"}, shape)
    found = [*map(str, violations(parsed, shape)), *_empty(parsed, shape, kept, "")]
    payload = shape.serialization.get("payload")
    body = shape if payload is None else shape.members[payload]
    unread = body.type_name in ("blob", "string") or body.serialization.get("eventstream")
    return found if unread else [*found, *_strange(answered, body)]


def _wired(value: Any, shape: Shape) -> Any:
    """The value without botocore's conversions: streams of bytes, dictionaries of policies, None of nothing."""
    if shape.type_name == "structure":
        return {name: _wired(item, shape.members[name]) for name, item in value.items() if item is not None}
    if shape.type_name == "list":
        return [_wired(item, shape.member) for item in value]
    if shape.type_name == "blob":
        return value if isinstance(value, bytes) else b""
    return json.dumps(value) if shape.type_name == "string" and isinstance(value, dict) else value


def _empty(value: Any, shape: Shape, kept: Collection[str], path: str) -> Iterator[str]:
    """Optional members that are present and empty."""
    if shape.type_name == "list":
        for item in value:
            yield from _empty(item, shape.member, kept, path)
    elif shape.type_name == "map":
        for item in value.values():
            yield from _empty(item, shape.value, kept, path)
    elif shape.type_name == "structure":
        for name, item in value.items():
            if item in ({}, []) and name not in {*shape.required_members, *kept}:
                yield f"{path}.{name} is empty"
            else:
                yield from _empty(item, shape.members[name], kept, f"{path}.{name}")


# -- members that the shape lacks, and values of another type --------------------------------------------------------


def _strange(answered: Answered, shape: Shape) -> Iterator[str]:
    protocol = answered.operation.service_model.resolved_protocol
    if protocol in DECODERS and answered.body:
        decoded = DECODERS[protocol](answered.body)
        yield from _strange_json(decoded, shape, "")
        read(decoded, shape)  # raises, where a value is not of its member's type
    elif answered.body:
        yield from _strange_xml(_root(Xml.fromstring(answered.body), shape), shape, "")


def _root(root: Xml.Element, shape: Shape) -> Xml.Element:
    """The element whose children are the shape's members."""
    wrapper = shape.serialization.get("resultWrapper")
    return next((node for node in root if _tag(node) == wrapper), root)


def _cbor(body: bytes) -> Any:
    parser = RpcV2CBORParser()
    return parser.parse_data_item(parser.get_peekable_stream_from_bytes(body))


DECODERS: dict[str, Callable[[bytes], Any]] = {
    "json": json.loads,
    "rest-json": json.loads,
    "smithy-rpc-v2-cbor": _cbor,
}


def _strange_json(value: Any, shape: Shape, path: str) -> Iterator[str]:
    if shape.type_name == "list":
        for item in value:
            yield from _strange_json(item, shape.member, path)
    elif shape.type_name == "map":
        for item in value.values():
            yield from _strange_json(item, shape.value, path)
    elif shape.type_name == "structure":
        members = {member.serialization.get("name", name): member for name, member in shape.members.items()}
        for name, item in value.items():
            if name not in members:
                yield f"{path}.{name} is not in the model"
            elif item is None:
                yield f"{path}.{name} is null"
            else:
                yield from _strange_json(item, members[name], f"{path}.{name}")


def _strange_xml(node: Xml.Element, shape: Shape, path: str) -> Iterator[str]:
    if shape.type_name == "list":
        wanted = shape.member.serialization.get("name", "member")
        for item in node:
            if _tag(item) != wanted:
                yield f"{path} has an item called {_tag(item)}, not {wanted}"
            yield from _strange_xml(item, shape.member, path)
    elif shape.type_name == "structure":
        members = {_xml_name(name, member): member for name, member in shape.members.items()}
        for item in node:
            member = members.get(_tag(item))
            if member is None:
                yield f"{path}.{_tag(item)} is not in the model"
            else:
                flat = member.type_name == "list" and member.serialization.get("flattened")
                yield from _strange_xml(item, member.member if flat else member, f"{path}.{_tag(item)}")


def _xml_name(name: str, member: Shape) -> str:
    return str(member.serialization.get("name", name))


def _tag(node: Xml.Element) -> str:
    return node.tag.rpartition("}")[2]
