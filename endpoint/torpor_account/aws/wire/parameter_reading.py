"""Turns decoded JSON or CBOR into an operation's parameters by botocore's shapes.

It checks types only: `aws.validation` checks lengths, ranges, patterns and required members. A timestamp becomes epoch
seconds (float) in every protocol. As on AWS, null counts as absent, and unknown members are ignored.
"""

import base64
import binascii
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from torpor_account.aws.errors import AwsError, unreadable
from torpor_account.aws.service_models import Shape

INTEGER_BITS = {"integer": 31, "long": 63}


def read(value: Any, shape: Shape) -> Any:
    """The value in the type of its shape. Raises SerializationException."""
    return READERS[shape.type_name](value, shape)


def epoch_s(value: str | float) -> float:
    """Seconds since 1970 from a number or from ISO 8601 text, which is UTC if it names no zone."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise unreadable(f"{value!r} is not a timestamp.") from error
    return float(value)


def _structure(value: Any, shape: Shape) -> Any:
    if not isinstance(value, Mapping):
        raise _unfit(value, "a structure")
    if shape.is_document_type:
        return dict(value)
    members = {name: (member.serialization.get("name", name), member) for name, member in shape.members.items()}
    return {name: read(value[key], member) for name, (key, member) in members.items() if value.get(key) is not None}


def _list(value: Any, shape: Shape) -> list[Any]:
    if not isinstance(value, list):
        raise _unfit(value, "a list")
    return [read(item, shape.member) for item in value]


def _map(value: Any, shape: Shape) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _unfit(value, "a map")
    return {read(key, shape.key): read(item, shape.value) for key, item in value.items() if item is not None}


def _string(value: Any, shape: Shape) -> str:
    if not isinstance(value, str):
        raise _unfit(value, "a String")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise unreadable("A string holds half of a surrogate pair.") from error
    return value


def _integer(value: Any, shape: Shape) -> int:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole:
        raise _unfit(value, "an Integer" if shape.type_name == "integer" else "a Long")
    if not -(1 << INTEGER_BITS[shape.type_name]) <= value < 1 << INTEGER_BITS[shape.type_name]:
        raise unreadable(f"{value} is out of range for the type {shape.type_name}.")
    return int(value)


def _double(value: Any, shape: Shape) -> float:
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _unfit(value, "a Double")
    try:
        return float(value)
    except OverflowError:  # an integer larger than every double
        return math.inf if value > 0 else -math.inf


def _boolean(value: Any, shape: Shape) -> bool:
    if not isinstance(value, bool):
        raise _unfit(value, "a Boolean")
    return value


def _timestamp(value: Any, shape: Shape) -> float:
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _unfit(value, "a Timestamp")
    return epoch_s(value)


def _blob(value: Any, shape: Shape) -> bytes:
    if isinstance(value, bytes):
        return value
    try:
        return base64.b64decode(_string(value, shape), validate=True)
    except binascii.Error as error:
        raise unreadable("A blob is not valid base64.") from error


READERS: dict[str, Callable[[Any, Shape], Any]] = {
    "structure": _structure,
    "list": _list,
    "map": _map,
    "string": _string,
    "character": _string,
    "integer": _integer,
    "long": _integer,
    "double": _double,
    "float": _double,
    "boolean": _boolean,
    "timestamp": _timestamp,
    "blob": _blob,
}


TOKENS: dict[type, str] = {
    str: "STRING_VALUE",
    bool: "BOOLEAN_VALUE",
    int: "NUMBER_VALUE",
    float: "NUMBER_VALUE",
    list: "START_ARRAY",
    dict: "START_OBJECT",
    type(None): "NULL_VALUE",
}


def _unfit(value: Any, expected: str) -> AwsError:
    return unreadable(f"{TOKENS.get(type(value), type(value).__name__)} cannot be converted to {expected}")
