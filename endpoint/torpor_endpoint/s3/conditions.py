"""Preconditions and ranges: whether a request goes ahead, and with which bytes; pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate, parsedate_to_datetime
from typing import Final

from torpor_endpoint.s3.errors import Refusal, S3Error

_RANGE: Final = re.compile(r"bytes=(\d{0,19})-(\d{0,19})", re.ASCII)


@dataclass(frozen=True)
class Conditions:
    """The four preconditions of a request, as sent."""

    if_match: str | None = None
    if_none_match: str | None = None
    if_modified_since: str | None = None
    if_unmodified_since: str | None = None

    @property
    def any(self) -> bool:
        return any((self.if_match, self.if_none_match, self.if_modified_since, self.if_unmodified_since))


@dataclass(frozen=True)
class Span:
    """Bytes `first` to `last` of an object, both included."""

    first: int
    last: int

    @property
    def size_bytes(self) -> int:
        return self.last - self.first + 1


class NotModified(Exception):
    """The caller's copy is still good: a 304."""


def conditions(headers: Mapping[str, str], prefix: str = "") -> Conditions:
    """The preconditions in `headers`; those on the source of a copy are named with a prefix."""
    names = ("if-match", "if-none-match", "if-modified-since", "if-unmodified-since")
    return Conditions(*(headers.get(prefix + name) for name in names))


def check_read(wish: Conditions, etag: str, modified_s: float) -> None:
    """Raises NotModified or PreconditionFailed.

    AWS: if If-Match holds and If-Unmodified-Since does not, S3 returns 200; if If-None-Match does not hold and
    If-Modified-Since does, S3 returns 304.
    """
    if wish.if_match is not None:
        if not _names(wish.if_match, etag):
            raise _failed("If-Match")
    elif _date_s(wish.if_unmodified_since, default=modified_s) < int(modified_s):
        raise _failed("If-Unmodified-Since")
    if wish.if_none_match is not None:
        if _names(wish.if_none_match, etag):
            raise NotModified
    elif wish.if_modified_since and _date_s(wish.if_modified_since, default=0) >= int(modified_s):
        raise NotModified


def check_copy(wish: Conditions, etag: str, modified_s: float) -> None:
    """As for a read, except that a copy has no 304."""
    try:
        check_read(wish, etag, modified_s)
    except NotModified as unchanged:
        raise _failed("x-amz-copy-source-if-none-match") from unchanged


def check_write(wish: Conditions, etag: str | None) -> None:
    """Conditional writes and deletes; `etag` is None where there is no such object yet."""
    if wish.if_none_match is not None and etag is not None and _names(wish.if_none_match, etag):
        raise _failed("If-None-Match")
    if wish.if_match is None:
        return
    if etag is None:
        raise S3Error(Refusal.NoSuchKey)
    if not _names(wish.if_match, etag):
        raise _failed("If-Match")


def span(header: str | None, size_bytes: int) -> Span | None:
    """The range asked for, None for the whole object. As S3 does, a malformed or a many-part range is passed over."""
    match = _RANGE.fullmatch((header or "").strip())
    if match is None or not any(match.groups()):
        return None
    first, last = match.groups()
    if not first:
        wish = Span(max(size_bytes - int(last), 0), size_bytes - 1)
    else:
        wish = Span(int(first), min(int(last), size_bytes - 1) if last else size_bytes - 1)
        if last and int(last) < int(first):
            return None
    if wish.size_bytes < 1:
        raise S3Error(Refusal.InvalidRange, RangeRequested=match.group(), ActualObjectSize=str(size_bytes))
    return wish


def http_date(moment_s: float) -> str:
    return formatdate(int(moment_s), usegmt=True)


def _names(header: str, etag: str) -> bool:
    tags = [tag.strip().removeprefix("W/").strip('"') for tag in header.split(",")]
    return "*" in tags or etag in tags


def _date_s(header: str | None, default: float) -> float:
    """An unreadable date is passed over, as RFC 9110 says."""
    try:
        return parsedate_to_datetime(header).timestamp() if header else default
    except ValueError:
        return default


def _failed(condition: str) -> S3Error:
    return S3Error(Refusal.PreconditionFailed, Condition=condition)
