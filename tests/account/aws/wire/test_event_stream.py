"""The event stream against botocore's own parser of it."""

from collections.abc import Sequence

import pytest
from botocore.eventstream import ChecksumMismatch, EventStreamBuffer
from hypothesis import given
from hypothesis import strategies as st

from torpor_account.aws.wire.event_stream import PayloadParts, event, exception, message

NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=255)
HEADERS = st.dictionaries(NAMES, st.text(max_size=200), max_size=5)


def read(data: bytes, size: int | None = None) -> list[tuple[dict[str, str], bytes]]:
    """The messages, as botocore reads them from pieces of `size` bytes."""
    buffer = EventStreamBuffer()
    found = []
    for at in range(0, len(data), size or max(1, len(data))):
        buffer.add_data(data[at : at + (size or len(data))])
        found += [(dict(come.headers), bytes(come.payload)) for come in buffer]
    return found


@given(st.lists(st.tuples(HEADERS, st.binary(max_size=300)), max_size=4), st.integers(1, 50))
def test_botocore_reads_every_message_whatever_its_pieces(
    messages: Sequence[tuple[dict[str, str], bytes]], size: int
) -> None:
    data = b"".join(message(headers, payload) for headers, payload in messages)
    assert read(data, size) == list(messages)


@given(st.binary(max_size=2000))
def test_parts_with_shared_headers_are_the_same_as_single_events(payload: bytes) -> None:
    assert PayloadParts("PayloadPart").encode(payload) == event("PayloadPart", payload)


@given(st.binary(max_size=100), st.data())
def test_a_bit_that_flips_is_noticed(payload: bytes, data: st.DataObject) -> None:
    whole = bytearray(event("PayloadPart", payload))
    at = data.draw(st.integers(8, len(whole) - 1), label="after the lengths")
    whole[at] ^= 1
    with pytest.raises(ChecksumMismatch):
        read(bytes(whole))


def test_an_exception_names_its_kind_and_has_its_members_as_json() -> None:
    ((headers, payload),) = read(exception("ModelStreamError", {"Message": "no more", "ErrorCode": "StreamBroken"}))
    assert (headers[":message-type"], headers[":exception-type"]) == ("exception", "ModelStreamError")
    assert payload == b'{"Message": "no more", "ErrorCode": "StreamBroken"}'
