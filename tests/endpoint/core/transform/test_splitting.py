"""Objects are cut into payloads without a loss: no payload has a part of a record, and none is too large."""

from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.transform.splitting import BatchStrategy, NotSplit, SplitType, payloads, records_in

MULTI, SINGLE = BatchStrategy.MULTI_RECORD, BatchStrategy.SINGLE_RECORD
LINES = st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=30)


def in_parts(body: bytes, sizes: list[int]) -> Iterator[bytes]:
    """The body in parts of these sizes, again and again."""
    at = 0
    while at < len(body):
        for size in sizes:
            yield body[at : at + size]
            at += size


def record_io(content: bytes) -> bytes:
    return pack("<II", 0xCED7230A, len(content)) + content + b"\0" * (-len(content) % 4)


def tf_record(content: bytes) -> bytes:
    return pack("<QI", len(content), 7) + content + b"sum!"


@given(LINES, st.booleans(), st.lists(st.integers(1, 9), min_size=1), st.integers(13, 40))
def test_lines_stay_whole_and_in_order(lines: list[bytes], ends: bool, sizes: list[int], max_bytes: int) -> None:
    body = b"\n".join(lines) + (b"\n" if ends else b"")
    together = list(payloads(in_parts(body, sizes), SplitType.LINE, MULTI, max_bytes))
    alone = list(payloads(in_parts(body, sizes), SplitType.LINE, SINGLE, max_bytes))
    assert b"".join(together) == b"".join(alone) == body
    assert all(len(payload) <= max_bytes for payload in together)
    assert all(payload.endswith(b"\n") for payload in together[:-1])
    assert all(payload.count(b"\n") <= 1 for payload in alone)
    for one, following in pairwise(together):
        assert len(one) + len(BytesIO(following).readline()) > max_bytes, "the next line had room"


@pytest.mark.parametrize(("split", "framed"), [(SplitType.RECORD_IO, record_io), (SplitType.TF_RECORD, tf_record)])
@given(contents=st.lists(st.binary(max_size=20), max_size=20), sizes=st.lists(st.integers(1, 9), min_size=1))
def test_records_stay_whole_and_lose_their_frame_alone(
    split: SplitType, framed: "type[bytes]", contents: list[bytes], sizes: list[int]
) -> None:
    body = b"".join(map(framed, contents))
    assert list(payloads(in_parts(body, sizes), split, SINGLE, 20)) == contents
    together = list(payloads(in_parts(body, sizes), split, MULTI, 100))
    assert b"".join(together) == body
    assert all(len(payload) <= 100 for payload in together)


@pytest.mark.parametrize("strategy", BatchStrategy)
@pytest.mark.parametrize(
    ("split", "body", "why"),
    [
        (SplitType.NONE, b"x" * 11, "the object, which is not split, has more than 10 bytes"),
        (SplitType.LINE, b"short\n" + b"x" * 11 + b"\n", "a line has more than 10 bytes"),
        (SplitType.RECORD_IO, record_io(b"x" * 11), "a record has more than 10 bytes"),
        (SplitType.RECORD_IO, b"this is no RecordIO", "does not begin with its magic number"),
        (SplitType.TF_RECORD, tf_record(b"x" * 11), "a record has more than 10 bytes"),
        (SplitType.TF_RECORD, tf_record(b"x")[:-1], "ends within a TFRecord record"),
    ],
)
def test_what_cannot_be_cut_is_refused(split: SplitType, strategy: BatchStrategy, body: bytes, why: str) -> None:
    with pytest.raises(NotSplit, match=why):
        list(payloads([body], split, strategy, 10))


def test_an_object_that_is_not_split_is_one_payload() -> None:
    assert list(payloads([b"a", b"b"], SplitType.NONE, MULTI, 10)) == [b"ab"]
    assert list(payloads([], SplitType.NONE, MULTI, 10)) == []


@pytest.mark.parametrize(
    ("split", "strategy", "payload", "count"),
    [
        (SplitType.NONE, MULTI, b"1\n2\n", 1),
        (SplitType.LINE, SINGLE, b"1\n", 1),
        (SplitType.LINE, MULTI, b"1\n2\n", 2),
        (SplitType.LINE, MULTI, b"1\n2\n3", 3),
        (SplitType.RECORD_IO, MULTI, record_io(b"a") + record_io(b"bcdef"), 2),
        (SplitType.RECORD_IO, SINGLE, b"a", 1),
        (SplitType.TF_RECORD, MULTI, tf_record(b"a") + tf_record(b"bcdef") + tf_record(b""), 3),
    ],
)
def test_the_records_of_a_payload_are_counted(
    split: SplitType, strategy: BatchStrategy, payload: bytes, count: int
) -> None:
    assert records_in(payload, split, strategy) == count


def test_a_payload_may_be_as_large_as_the_limit_and_no_larger() -> None:
    assert list(payloads([b"12", b"34"], SplitType.NONE, MULTI, 4)) == [b"1234"]
    assert list(payloads([b"123\n4567"], SplitType.LINE, SINGLE, 4)) == [b"123\n", b"4567"]
    record = record_io(b"abcd")
    assert list(payloads([record * 3], SplitType.RECORD_IO, MULTI, 2 * len(record))) == [record * 2, record]
    assert list(payloads([record * 2], SplitType.RECORD_IO, MULTI, len(record))) == [record, record]
    assert list(payloads([record * 4], SplitType.RECORD_IO, MULTI, 2 * len(record))) == [record * 2, record * 2]
    for split, strategy, body, most in (
        (SplitType.NONE, MULTI, b"12345", 4),
        (SplitType.LINE, SINGLE, b"1234\n", 4),
        (SplitType.LINE, SINGLE, b"1\n12345", 4),
        (SplitType.RECORD_IO, MULTI, record, len(record) - 1),
    ):
        with pytest.raises(NotSplit, match=f"more than {most} bytes"):
            list(payloads([body], split, strategy, most))


def test_a_record_in_several_parts_is_refused() -> None:
    with pytest.raises(NotSplit, match="in several parts"):
        list(payloads([pack("<II", 0xCED7230A, 1 << 29 | 4) + b"abcd"], SplitType.RECORD_IO, MULTI, 100))


def test_an_object_that_ends_too_early_is_named_by_its_format() -> None:
    with pytest.raises(NotSplit, match="within a RecordIO record"):
        list(payloads([record_io(b"abcd")[:-1]], SplitType.RECORD_IO, MULTI, 100))
