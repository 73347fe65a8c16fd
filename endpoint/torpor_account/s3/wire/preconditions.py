"""Checks the preconditions of requests. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from email.utils import formatdate, parsedate_to_datetime

from torpor_account.s3.errors import Refusal, S3Error
from torpor_container.frozen_class import frozen


@frozen
class Conditions:
    """The four preconditions of a request, as sent, and the prefix of their names."""

    if_match: str | None = None
    if_none_match: str | None = None
    if_modified_since: str | None = None
    if_unmodified_since: str | None = None
    prefix: str = ""

    @property
    def any(self) -> bool:
        return any((self.if_match, self.if_none_match, self.if_modified_since, self.if_unmodified_since))


class NotModified(Exception):
    """The caller's copy is up to date: the answer is a 304. The text is the name of the condition."""


def conditions(headers: Mapping[str, str], prefix: str = "") -> Conditions:
    """The preconditions in `headers`. Those on the source of a copy have a prefix."""
    return Conditions(
        headers.get(f"{prefix}if-match"),
        headers.get(f"{prefix}if-none-match"),
        headers.get(f"{prefix}if-modified-since"),
        headers.get(f"{prefix}if-unmodified-since"),
        prefix,
    )


def check_read(preconditions: Conditions, etag: str, modified_s: float) -> None:
    """Check a read. Raises NotModified or PreconditionFailed.

    AWS: if If-Match holds and If-Unmodified-Since does not, S3 returns 200; if If-None-Match does not hold and
    If-Modified-Since does, S3 returns 304.
    """
    if preconditions.if_match is not None:
        if not _names(preconditions.if_match, etag):
            raise _failed(preconditions, "If-Match")
    elif _date_s(preconditions.if_unmodified_since, default=modified_s) < int(modified_s):
        raise _failed(preconditions, "If-Unmodified-Since")
    if preconditions.if_none_match is not None:
        if _names(preconditions.if_none_match, etag):
            raise NotModified("If-None-Match")
    elif preconditions.if_modified_since and _date_s(preconditions.if_modified_since, default=0) >= int(modified_s):
        raise NotModified("If-Modified-Since")


def ranges(if_range: str | None, etag: str, modified_s: float) -> bool:
    """Whether a Range header applies. RFC 9110: a server "MUST ignore the Range header field if the If-Range
    condition" is false."""
    if if_range is None:
        return True
    return if_range.strip().strip('"') == etag or _date_s(if_range, default=-1) == int(modified_s)


def check_copy(preconditions: Conditions, etag: str, modified_s: float, now_s: float) -> None:
    """Check the source of a copy. Unlike a read it has no 304, and AWS ignores a time in the future."""
    if _date_s(preconditions.if_modified_since, default=0) > now_s:
        preconditions = replace(preconditions, if_modified_since=None)
    try:
        check_read(preconditions, etag, modified_s)
    except NotModified as unchanged:
        raise _failed(preconditions, str(unchanged)) from unchanged


def check_write(preconditions: Conditions, etag: str | None) -> None:
    """Check a conditional write or delete. `etag` is None if there is no such object yet."""
    if preconditions.if_none_match is not None and etag is not None and _names(preconditions.if_none_match, etag):
        raise _failed(preconditions, "If-None-Match")
    if preconditions.if_match is None:
        return
    if etag is None:
        raise S3Error(Refusal.NoSuchKey)
    if not _names(preconditions.if_match, etag):
        raise _failed(preconditions, "If-Match")


def http_date(moment_s: float) -> str:
    return formatdate(int(moment_s), usegmt=True)


def _names(header: str, etag: str) -> bool:
    tags = [tag.strip().removeprefix("W/").strip('"') for tag in header.split(",")]
    return "*" in tags or etag in tags


def _date_s(header: str | None, default: float) -> float:
    """The date in epoch seconds. RFC 9110: an invalid date is ignored."""
    try:
        return parsedate_to_datetime(header).timestamp() if header else default
    except ValueError:
        return default


def _failed(preconditions: Conditions, condition: str) -> S3Error:
    return S3Error(Refusal.PreconditionFailed, Condition=preconditions.prefix + condition)
