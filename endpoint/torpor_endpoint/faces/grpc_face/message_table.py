"""Messages of protobuf that a table describes, in place of what protoc would generate.

A table has a row for each message: `repeated string names = 1; map Value members = 2; bool yes = 3 in choice`. A type
is a scalar, a message of the table, or with a dot before it one of another file that `imports` names.
"""

import re
from collections.abc import Mapping
from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

_FIELD = re.compile(r"(?:(repeated|map) )?([\w.]+) (\w+) = (\d+)(?: in (\w+))?")
_TYPES = {
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "string": FieldDescriptorProto.TYPE_STRING,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "int64": FieldDescriptorProto.TYPE_INT64,
    "uint32": FieldDescriptorProto.TYPE_UINT32,
    "uint64": FieldDescriptorProto.TYPE_UINT64,
    "float": FieldDescriptorProto.TYPE_FLOAT,
    "double": FieldDescriptorProto.TYPE_DOUBLE,
}


def file_of(package: str, name: str, messages: Mapping[str, str], imports: tuple[str, ...] = ()) -> FileDescriptorProto:
    """The description of a file with these messages."""
    file = FileDescriptorProto(name=name, package=package, syntax="proto3", dependency=imports)
    found: dict[str, Any] = {}
    for message, fields in messages.items():
        outer, _, own = message.rpartition(".")
        found[message] = (found[outer].nested_type if outer else file.message_type).add(name=own)
        for text in filter(None, fields.split("; ")):
            _add_field(found[message], package, message, text)
    return file


def _add_field(owner: Any, package: str, owner_name: str, text: str) -> None:
    parsed = _FIELD.fullmatch(text)
    assert parsed is not None, f"the table has {text!r} in {owner_name}"
    kind, typed, name, number, choice = parsed.groups()
    field = owner.field.add(name=name, number=int(number), label=FieldDescriptorProto.LABEL_OPTIONAL)
    if kind is not None:
        field.label = FieldDescriptorProto.LABEL_REPEATED
    if kind == "map":
        typed = f"{owner_name}.{_add_entry(owner, package, name, typed)}"
    if typed in _TYPES:
        field.type = _TYPES[typed]
    else:
        field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, _typed(package, typed)
    if choice is not None:
        if not owner.oneof_decl:
            owner.oneof_decl.add(name=choice)
        field.oneof_index = 0


def _add_entry(owner: Any, package: str, name: str, values: str) -> str:
    """The message of a map's entries, whose keys are strings. Its name."""
    entry = owner.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
    entry.options.map_entry = True
    single = FieldDescriptorProto.LABEL_OPTIONAL
    entry.field.add(name="key", number=1, label=single, type=FieldDescriptorProto.TYPE_STRING)
    whole = FieldDescriptorProto.TYPE_MESSAGE
    entry.field.add(name="value", number=2, label=single, type=whole, type_name=_typed(package, values))
    return str(entry.name)


def _typed(package: str, name: str) -> str:
    return name if name.startswith(".") else f".{package}.{name}"
