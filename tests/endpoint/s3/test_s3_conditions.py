"""Preconditions and ranges, as one table each."""

from collections.abc import Callable

import pytest

from torpor_endpoint.s3.conditions import Conditions, NotModified, Span, check_read, check_write, span
from torpor_endpoint.s3.errors import Refusal, S3Error

MODIFIED_S = 1_700_000_000.75
THEN, BEFORE, LATER = (
    "Tue, 14 Nov 2023 22:13:20 GMT",
    "Tue, 14 Nov 2023 22:13:19 GMT",
    "Tue, 14 Nov 2023 22:13:21 GMT",
)

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
    (Conditions(if_unmodified_since=THEN), None),
    (Conditions(if_unmodified_since=BEFORE), FAILS),
    (Conditions(if_match='"e"', if_unmodified_since=BEFORE), None),
    (Conditions(if_none_match='"x"', if_modified_since=LATER), None),
]

RANGES = [
    (None, None),
    ("bytes=0-4", Span(0, 4)),
    ("bytes=5-", Span(5, 9)),
    ("bytes=5-100", Span(5, 9)),
    ("bytes=-3", Span(7, 9)),
    ("bytes=-30", Span(0, 9)),
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
def test_a_read_goes_ahead_fails_or_is_unchanged(wish: Conditions, expected: object) -> None:
    assert outcome(lambda: check_read(wish, "e", MODIFIED_S)) is expected


@pytest.mark.parametrize(("header", "expected"), RANGES)
def test_a_range_is_read_as_s3_reads_it(header: str | None, expected: Span | None) -> None:
    assert span(header, 10) == expected


@pytest.mark.parametrize(("header", "size_bytes"), [("bytes=10-", 10), ("bytes=-0", 10), ("bytes=0-", 0)])
def test_a_range_beyond_the_object_is_refused(header: str, size_bytes: int) -> None:
    with pytest.raises(S3Error) as refused:
        span(header, size_bytes)
    assert refused.value.status == 416


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
def test_a_conditional_write_looks_at_what_is_there(
    wish: Conditions, etag: str | None, refusal: Refusal | None
) -> None:
    assert outcome(lambda: check_write(wish, etag)) is refusal
