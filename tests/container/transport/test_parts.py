"""The records of a streamed answer, and what a reader makes of broken ones."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.invocation import PART_MAX_BYTES
from torpor_container.transport.parts import END, RECORD, BadRecord, RecordReader, StreamFault, encoded, fault

PARTS = st.lists(st.binary(max_size=100), max_size=6)


def fed(reader: RecordReader, data: bytes, size: int) -> list[bytes]:
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return [part for piece in pieces for part in reader.feed(piece)]


@given(PARTS, st.integers(1, 40))
def test_each_part_is_read_whatever_the_pieces_it_comes_in(parts: Sequence[bytes], size: int) -> None:
    reader = RecordReader()
    assert fed(reader, encoded(parts) + END, size) == parts
    assert reader.ended
    assert reader.failure is None


@given(PARTS, st.integers(1, 40), st.text(max_size=50), st.booleans())
def test_a_fault_comes_after_the_parts_before_it(
    parts: Sequence[bytes], size: int, message: str, timed_out: bool
) -> None:
    reader = RecordReader()
    failure = StreamFault(message, timed_out)
    assert fed(reader, encoded(parts) + fault(failure), size) == parts
    assert reader.failure == failure
    assert not reader.ended


def test_a_body_that_is_cut_off_has_not_ended() -> None:
    reader = RecordReader()
    assert reader.feed(encoded([b"whole", b"cut"])[:-1]) == [b"whole"]
    assert not reader.ended


@pytest.mark.parametrize("record", [RECORD.pack(0, PART_MAX_BYTES + 1), RECORD.pack(7, 0), RECORD.pack(2, 2) + b"[]"])
def test_a_record_that_no_instance_sends_is_refused(record: bytes) -> None:
    with pytest.raises(BadRecord):
        RecordReader().feed(record)
