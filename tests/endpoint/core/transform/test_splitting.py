"""Objects are cut into payloads without a loss: no payload has a part of a record, and none is too large."""

from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.transform.splitting import BatchStrategy, NotSplit, SplitType, payloads

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
