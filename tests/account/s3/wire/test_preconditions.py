"""Preconditions and ranges, as a table each."""

from collections.abc import Callable

import pytest

from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.wire.preconditions import (
    Conditions,
    NotModified,
    check_copy,
    check_read,
    check_write,
    ranges,
)
from torpor_account.s3.wire.ranges import ByteSpan, copied_span, span

MODIFIED_S = 1_700_000_000.75
THEN, BEFORE, LATER = (
    "Tue, 14 Nov 2023 22:13:20 GMT",
    "Tue, 14 Nov 2023 22:13:19 GMT",
    "Tue, 14 Nov 2023 22:13:21 GMT",
)
NOW_S = MODIFIED_S + 1
TO_COME = "Tue, 14 Nov 2023 22:13:22 GMT"

FAILS = Refusal.PreconditionFailed

READS = [
    (Conditions(), None),
    (Conditions(if_match='"e"'), None),
    (Conditions(if_match="*"), None),
    (Conditions(if_match='"x", "e"'), None),
    (Conditions(if_match='"x"'), FAILS),
    (Conditions(if_none_match='"e"'), NotModified),
    (Conditions(if_none_match='W/"e"'), NotModified),
    (Conditions(if_none_match='"x"'), None),
    (Conditions(if_modified_since=THEN), NotModified),
    (Conditions(if_modified_since=BEFORE), None),
    (Conditions(if_modified_since="yesterday"), None),
    (Conditions(if_modified_since=TO_COME), NotModified),
    (Conditions(if_unmodified_since=THEN), None),
    (Conditions(if_unmodified_since=BEFORE), FAILS),
    (Conditions(if_match='"e"', if_unmodified_since=BEFORE), None),
    (Conditions(if_none_match='"x"', if_modified_since=LATER), None),
]

RANGES = [
    (None, None),
    ("bytes=0-4", ByteSpan(0, 4)),
    ("bytes=5-", ByteSpan(5, 9)),
    ("bytes=5-100", ByteSpan(5, 9)),
    ("bytes=-3", ByteSpan(7, 9)),
    ("bytes=-30", ByteSpan(0, 9)),
    ("bytes=4-2", None),
    ("bytes=-", None),
    ("bytes=0-1,3-4", None),
    ("items=0-1", None),
]


def outcome(check: Callable[[], None]) -> object:
    """None, the error's code, or NotModified."""
    try:
        check()
    except NotModified:
        return NotModified
    except S3Error as error:
        return error.refusal
    return None


@pytest.mark.parametrize(("wish", "expected"), READS)
def test_a_conditional_read_proceeds_fails_or_is_unchanged(wish: Conditions, expected: object) -> None:
    assert outcome(lambda: check_read(wish, "e", MODIFIED_S)) is expected


@pytest.mark.parametrize(
    ("wish", "condition"),
    [
        (Conditions(if_match='"x"', prefix="copy-"), "copy-If-Match"),
        (Conditions(if_none_match='"e"', prefix="copy-"), "copy-If-None-Match"),
        (Conditions(if_modified_since=THEN, prefix="copy-"), "copy-If-Modified-Since"),
        (Conditions(if_unmodified_since=BEFORE, prefix="copy-"), "copy-If-Unmodified-Since"),
    ],
)
def test_a_copy_that_is_refused_names_the_condition(wish: Conditions, condition: str) -> None:
    with pytest.raises(S3Error) as refused:
        check_copy(wish, "e", MODIFIED_S, NOW_S)
    assert refused.value.elements == {"Condition": condition}


def test_a_copy_is_made_whatever_its_source_will_be() -> None:
    check_copy(Conditions(if_modified_since=TO_COME), "e", MODIFIED_S, NOW_S)


@pytest.mark.parametrize(
    ("if_range", "heeded"),
    [(None, True), ('"e"', True), ('"x"', False), ('W/"e"', False), (THEN, True), (BEFORE, False), (LATER, False)],
)
def test_the_range_of_a_changed_object_is_ignored(if_range: str | None, heeded: bool) -> None:
    assert ranges(if_range, "e", MODIFIED_S) is heeded


@pytest.mark.parametrize(("header", "expected"), RANGES)
def test_a_range_is_read_as_s3_reads_it(header: str | None, expected: ByteSpan | None) -> None:
    assert span(header, 10) == expected


@pytest.mark.parametrize(("header", "size_bytes"), [("bytes=10-", 10), ("bytes=-0", 10), ("bytes=0-", 0)])
def test_a_range_beyond_the_object_is_refused(header: str, size_bytes: int) -> None:
    with pytest.raises(S3Error) as refused:
        span(header, size_bytes)
    assert refused.value.status == 416


@pytest.mark.parametrize(
    ("header", "refusal"),
    [
        ("bytes=0-10", Refusal.InvalidArgument),
        ("bytes=10-20", Refusal.InvalidRequest),
        ("bytes=2-", Refusal.InvalidArgument),
        ("bytes=-2", Refusal.InvalidArgument),
        ("bytes=4-2", Refusal.InvalidArgument),
        ("bytes=0-1,3-4", Refusal.InvalidArgument),
        ("0-4", Refusal.InvalidArgument),
        ("", Refusal.InvalidArgument),
    ],
)
def test_a_copy_takes_bytes_that_are_all_there(header: str, refusal: Refusal) -> None:
    assert (copied_span(None, 10), copied_span("bytes=9-9", 10)) == (ByteSpan(0, 9), ByteSpan(9, 9))
    with pytest.raises(S3Error) as refused:
        copied_span(header, 10)
    assert refused.value.refusal is refusal


@pytest.mark.parametrize(
    ("wish", "etag", "refusal"),
    [
        (Conditions(if_none_match="*"), None, None),
        (Conditions(if_none_match="*"), "e", Refusal.PreconditionFailed),
        (Conditions(if_match='"e"'), "e", None),
        (Conditions(if_match='"x"'), "e", Refusal.PreconditionFailed),
        (Conditions(if_match='"e"'), None, Refusal.NoSuchKey),
    ],
)
def test_a_conditional_write_depends_on_the_existing_object(
    wish: Conditions, etag: str | None, refusal: Refusal | None
) -> None:
    assert outcome(lambda: check_write(wish, etag)) is refusal
