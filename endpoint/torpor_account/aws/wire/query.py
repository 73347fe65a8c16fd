"""Speaks the query protocol of older SDKs: reads form fields such as `MetricData.member.1.Value`, and writes XML."""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl
from xml.etree import ElementTree as Xml

from torpor_account.aws.bounds import FORM_DEPTH_MAX, FORM_FIELDS_MAX, form_fields
from torpor_account.aws.errors import AwsError, unreadable
from torpor_account.aws.service_models import OperationModel, ServiceModel, Shape
from torpor_account.aws.wire.asgi import AwsRequest, Response
from torpor_account.aws.wire.parameter_reading import epoch_s, read
from torpor_account.core.written_numbers import decimal_of, whole_of

NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Tree = dict[str, Any]
"""Form fields by the parts of their names. The text of a field has the empty name."""


@dataclass(frozen=True)
class Query:
    def operation(self, request: AwsRequest) -> str:
        return dict(fields_of(request)).get("Action", "")

    def params(self, request: AwsRequest, shape: Shape) -> dict[str, Any]:
        return _structure(_tree(fields_of(request)), shape)

    def answer(self, operation: OperationModel, answer: dict[str, Any], request_id: str) -> Response:
        root = Xml.Element(f"{operation.name}Response", xmlns=operation.service_model.metadata["xmlNamespace"])
        shape = operation.output_shape
        if shape is not None:
            wrapper = shape.serialization.get("resultWrapper")
            _write(root if wrapper is None else Xml.SubElement(root, wrapper), answer, shape)
        Xml.SubElement(Xml.SubElement(root, "ResponseMetadata"), "RequestId").text = request_id
        return _response(200, root, request_id)

    def error(self, error: AwsError, service: ServiceModel, request_id: str) -> Response:
        root = Xml.Element("ErrorResponse", xmlns=service.metadata.get("xmlNamespace", ""))
        node = Xml.SubElement(root, "Error")
        fault = {"Type": "Sender" if error.senders_fault else "Receiver", "Code": error.code, "Message": error.message}
        for name, value in {**fault, **error.members}.items():
            Xml.SubElement(node, name).text = _clean(str(value))
        Xml.SubElement(root, "RequestId").text = request_id
        return _response(error.status, root, request_id)

    def unknown(self, message: str) -> AwsError:
        return AwsError("InvalidAction", 400, message)


# -- reading ---------------------------------------------------------------------------------------------------------


def fields_of(request: AwsRequest) -> list[tuple[str, str]]:
    """The names and values of the form: of the body, else of the query. Of one name, the last value is read."""
    try:
        form = (request.body.decode() if request.method == "POST" else "") or request.query
        if form_fields(form) > FORM_FIELDS_MAX:
            raise unreadable(f"The form has more than {FORM_FIELDS_MAX} fields.")
        return parse_qsl(form, keep_blank_values=True, errors="strict")
    except ValueError as error:
        raise unreadable("The form is not valid UTF-8.") from error


def _tree(fields: list[tuple[str, str]]) -> Tree:
    root: Tree = {}
    for name, text in fields:
        node, parts = root, name.split(".", FORM_DEPTH_MAX)
        if len(parts) > FORM_DEPTH_MAX:
            raise unreadable(f"The name of a field of the form has more than {FORM_DEPTH_MAX} parts.")
        for part in parts:
            node = node.setdefault(part, {})
        node[""] = text
    return root


def _read(node: Tree, shape: Shape) -> Any:
    if shape.type_name in CONTAINERS:
        return CONTAINERS[shape.type_name](node, shape)
    text = node.get("", "")
    if shape.type_name in SCALARS:
        try:
            return read(SCALARS[shape.type_name](text), shape)
        except (ValueError, KeyError, AwsError) as error:
            raise AwsError("MalformedInput", 400, f"{text!r} is not a valid {shape.type_name}.") from error
    return read(text, shape)


def _structure(node: Tree, shape: Shape) -> dict[str, Any]:
    named = {name: _name(member, name) for name, member in shape.members.items()}
    return {name: _read(node[key], shape.members[name]) for name, key in named.items() if key in node}


def _name(shape: Shape, default: str) -> str:
    if shape.type_name == "list" and shape.serialization.get("flattened"):
        default = shape.member.serialization.get("name", default)
    return str(shape.serialization.get("name", default))


def _list(node: Tree, shape: Shape) -> list[Any]:
    if not shape.serialization.get("flattened"):
        node = node.get(shape.member.serialization.get("name", "member"), {})
    return [_read(item, shape.member) for item in _numbered(node)]


def _map(node: Tree, shape: Shape) -> dict[str, Any]:
    if not shape.serialization.get("flattened"):
        node = node.get("entry", {})
    key, value = shape.key.serialization.get("name", "key"), shape.value.serialization.get("name", "value")
    return {_read(e.get(key, {}), shape.key): _read(e.get(value, {}), shape.value) for e in _numbered(node)}


def _numbered(node: Tree) -> list[Tree]:
    """The items in the order of their numbers. As on AWS, a number may be missing."""
    return [node[number] for number in sorted(filter(str.isdecimal, node), key=lambda number: (len(number), number))]


CONTAINERS: dict[str, Callable[[Tree, Shape], Any]] = {"structure": _structure, "list": _list, "map": _map}


def _double(text: str) -> float:
    return float(text) if text in ("NaN", "Infinity", "-Infinity") else decimal_of(text)


SCALARS: dict[str, Callable[[str], Any]] = {
    "integer": whole_of,
    "long": whole_of,
    "double": _double,
    "float": _double,
    "boolean": {"true": True, "false": False}.__getitem__,
    "timestamp": lambda text: float(text) if re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII) else epoch_s(text),
    "blob": lambda text: base64.b64decode(text, validate=True),
}


# -- writing -----------------------------------------------------------------------------------------------------------


def _write(node: Xml.Element, value: Any, shape: Shape) -> None:
    match shape.type_name:
        case "structure":
            for name, item in value.items():
                _write_member(node, _name(shape.members[name], name), item, shape.members[name])
        case "list":
            for item in value:
                _write(Xml.SubElement(node, shape.member.serialization.get("name", "member")), item, shape.member)
        case "map":
            for key, item in value.items():
                _write_entry(Xml.SubElement(node, "entry"), key, item, shape)
        case kind:
            node.text = _clean(WRITERS.get(kind, str)(value))


def _write_member(node: Xml.Element, name: str, value: Any, shape: Shape) -> None:
    if not shape.serialization.get("flattened"):
        _write(Xml.SubElement(node, name), value, shape)
    elif shape.type_name == "list":
        for item in value:
            _write(Xml.SubElement(node, name), item, shape.member)
    else:
        for key, item in value.items():
            _write_entry(Xml.SubElement(node, name), key, item, shape)


def _write_entry(entry: Xml.Element, key: str, value: Any, shape: Shape) -> None:
    _write(Xml.SubElement(entry, shape.key.serialization.get("name", "key")), key, shape.key)
    _write(Xml.SubElement(entry, shape.value.serialization.get("name", "value")), value, shape.value)


def _iso(value: float | datetime) -> str:
    moment = value if isinstance(value, datetime) else datetime.fromtimestamp(value, UTC)
    precision = "milliseconds" if moment.microsecond else "seconds"
    return moment.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")


WRITERS: dict[str, Callable[[Any], str]] = {
    "boolean": lambda value: "true" if value else "false",
    "timestamp": _iso,
    "blob": lambda value: base64.b64encode(value).decode(),
}


def _clean(text: str) -> str:
    """The text without the control characters that XML forbids even as escapes."""
    return NOT_XML.sub("\ufffd", text)


def _response(status: int, root: Xml.Element, request_id: str) -> Response:
    body = Xml.tostring(root, encoding="utf-8", xml_declaration=False)
    return Response(status, body, {"x-amzn-RequestId": request_id, "content-type": "text/xml"})
