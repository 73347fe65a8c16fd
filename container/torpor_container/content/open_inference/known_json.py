"""What requests with tensors in binary say in their JSON, known by its bytes: clients send the same again and again.

Only an id differs from one request to the next. So JSON is known without the value of its id, if that is a text of
plain characters: whatever such a text is, it ends where its quote stands, and all around it says the same. That it is
the id, and no member of another object, is shown before the JSON becomes known: without the text it is read once more,
and must say the same but for the id.

Only JSON that was read, and whose tensors all have their data behind it, is known. A known request is refused as if it
were not known: JSON whose data are too short or too long is read anew.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from torpor_container.content.open_inference.tensor_bytes import BYTES, Array, array_of
from torpor_container.content.reading.tensors import DATATYPES, Tensor

KNOWN_MAX = 256
KNOWN_MAX_BYTES = 4096
"""So much JSON is known, each of at most so many bytes."""
BODY_MAX_BYTES = 64 * 1024
"""A larger body is read each time: reading its JSON is a small part of its work."""

ID = re.compile(rb'"id"[ \t\r\n]*:[ \t\r\n]*(?:"([ !#-\[\]-~]*)")?')


class KnownInput(NamedTuple):
    """A tensor whose data are so many bytes behind the JSON. `dtype` is None for BYTES."""

    name: str
    datatype: str
    shape: tuple[int, ...]
    dtype: Any
    data_bytes: int

    def array(self, data: bytes) -> Array:
        """The array of these data. Raises BadInput for elements of BYTES that are not what the shape says."""
        if self.dtype is None:
            return array_of(self.name, self.datatype, self.shape, memoryview(data))
        array: Array = np.ndarray(self.shape, self.dtype, bytearray(data))  # as `array_of` copies
        return array if self.dtype.isnative else array.astype(DATATYPES[self.datatype])


class JsonPart(NamedTuple):
    """What the JSON of a request says: its inputs, in the order of their data, and what `InferRequest` has of it."""

    inputs: Sequence[KnownInput]
    data_bytes: int
    outputs: Mapping[str, bool]
    binary: bool
    request_id: str | None

    def tensors(self, data: bytes) -> dict[str, Tensor]:
        """The tensors with these data, which are `data_bytes` long. Raises BadInput, as reading the JSON anew would."""
        at, found = 0, {}
        for one in self.inputs:
            until = at + one.data_bytes
            found[one.name] = Tensor(one.name, one.shape, one.datatype, None, one.array(data[at:until]))
            at = until
        return found


def known_input(name: str, datatype: str, shape: tuple[int, ...], data_bytes: int) -> KnownInput:
    dtype = None if datatype == BYTES else np.dtype(DATATYPES[datatype]).newbyteorder("<")
    return KnownInput(name, datatype, shape, dtype, data_bytes)


class KnownJson(dict[bytes, JsonPart]):
    """By what `without_id` leaves of it."""

    def keep(self, text: bytes, part: JsonPart) -> None:
        if len(self) >= KNOWN_MAX:
            self.clear()
        self[text] = part


def without_id(text: bytes) -> tuple[bytes | None, str | None]:
    """The JSON without what may be the value of its id, and that value. In place of the value None, if there is no id;
    in place of the JSON too, if the id is anything but plain text."""
    if b'"id"' not in text or (found := ID.search(text)) is None:
        return text, None
    start, end = found.span(1)
    if start < 0:
        return None, None
    return text[:start] + text[end:], text[start:end].decode()
