"""Encodes AWS's event stream (`application/vnd.amazon.eventstream`): one message for each event or exception.

A message, all numbers in network order:

    length 4 | length of headers 4 | CRC-32 of these 8 bytes 4 | headers | payload | CRC-32 of all before 4

A header is: length of name 1 | name | type 1 (7: text) | length of value 2 | value. botocore reads headers of 128 KiB
and a payload of 24 MiB at most.
"""

import json
from collections.abc import Mapping
from struct import Struct
from zlib import crc32

CONTENT_TYPE = b"application/vnd.amazon.eventstream"
TEXT = 7

_LENGTHS = Struct("!II")
_NUMBER = Struct("!I")
_VALUE = Struct("!BH")
_AROUND_BYTES = _LENGTHS.size + 2 * _NUMBER.size
"""The bytes of a message beside its headers and payload."""


def event(kind: str, payload: bytes, content_type: str = "application/octet-stream") -> bytes:
    """An event whose payload is bytes."""
    return message({":message-type": "event", ":event-type": kind, ":content-type": content_type}, payload)


def exception(kind: str, members: Mapping[str, str]) -> bytes:
    """An exception that the service model has. It is the last message of a stream."""
    headers = {":message-type": "exception", ":exception-type": kind, ":content-type": "application/json"}
    return message(headers, json.dumps(members).encode())


def message(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One message. A header's name has at most 255 bytes, its value 32,767."""
    return _message(_headers(headers), payload)


class PayloadParts:
    """Encodes events that differ only in their payload, such as PayloadPart: their headers are encoded once."""

    def __init__(self, kind: str, content_type: str = "application/octet-stream") -> None:
        self._headers = _headers({":message-type": "event", ":event-type": kind, ":content-type": content_type})

    def encode(self, payload: bytes) -> bytes:
        return _message(self._headers, payload)


def _headers(headers: Mapping[str, str]) -> bytes:
    encoded = bytearray()
    for name, value in headers.items():
        name_bytes, value_bytes = name.encode(), value.encode()
        encoded += bytes((len(name_bytes),)) + name_bytes + _VALUE.pack(TEXT, len(value_bytes)) + value_bytes
    return bytes(encoded)


def _message(headers: bytes, payload: bytes) -> bytes:
    lengths = _LENGTHS.pack(len(headers) + len(payload) + _AROUND_BYTES, len(headers))
    before = b"".join((lengths, _NUMBER.pack(crc32(lengths)), headers, payload))
    return before + _NUMBER.pack(crc32(before))
