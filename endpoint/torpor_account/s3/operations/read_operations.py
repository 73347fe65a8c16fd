"""GetObject and HeadObject: check preconditions, choose ranges and parts, and send the bytes in pieces."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from dataclasses import replace
from io import FileIO
from typing import Final

from torpor_account.s3.call import S3Call
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.storage.entries import ObjectEntry
from torpor_account.s3.storage.upload_parts import part_number
from torpor_account.s3.wire.headers import checksum_headers, object_headers, overrides
from torpor_account.s3.wire.http_exchange import BATCH_BYTES, S3Answer
from torpor_account.s3.wire.preconditions import NotModified, check_read, conditions, ranges
from torpor_account.s3.wire.ranges import ByteSpan, span

_UNCHANGED: Final = ("etag", "last-modified", "cache-control", "expires")  # RFC 9110: what a 304 repeats


async def get_object(call: S3Call) -> S3Answer:
    return await asyncio.to_thread(_answered, call, True)


async def head_object(call: S3Call) -> S3Answer:
    return await asyncio.to_thread(_answered, call, False)


def _answered(call: S3Call, with_bytes: bool) -> S3Answer:
    """The answer with its first piece, so that a small object takes only one call in a worker thread."""
    call.store.buckets.get(call.bucket)
    with ExitStack() as held:
        opened = call.store.objects.open(call.name)
        held.callback(opened.file.close)
        entry = opened.entry
        try:
            check_read(conditions(call.headers), entry.etag or "", entry.modified_s)
        except NotModified:
            given = object_headers(entry)
            return S3Answer(304, {name: given[name] for name in _UNCHANGED if name in given})
        head, part = _head(call, entry)
        if not with_bytes:
            return head
        opened.file.seek(part.first)
        first = opened.file.read(min(BATCH_BYTES, part.size_bytes))
        if len(first) == part.size_bytes:
            return replace(head, body=first)
        held.pop_all()
        return replace(head, body=_pieces(opened.file, first, part.size_bytes - len(first)))


async def _pieces(file: FileIO, first: bytes, left_bytes: int) -> AsyncGenerator[bytes, None]:
    """The pieces of a file. If the file was truncated meanwhile, the body ends early: the caller sees a broken body."""
    with file:
        yield first
        while left_bytes and (piece := await asyncio.to_thread(file.read, min(BATCH_BYTES, left_bytes))):
            left_bytes -= len(piece)
            yield piece


def _head(call: S3Call, entry: ObjectEntry) -> tuple[S3Answer, ByteSpan]:
    part = _part(call, entry)
    found = part or ByteSpan(0, entry.size_bytes - 1)
    headers = {**object_headers(entry), **overrides(call.query), "content-length": str(found.size_bytes)}
    if "partNumber" in call.query and entry.traits.parts:
        headers["x-amz-mp-parts-count"] = str(len(entry.traits.parts))
    if part is not None and part.size_bytes:  # no range can say that it is empty
        headers["content-range"] = f"bytes {part.first}-{part.last}/{entry.size_bytes}"
        return S3Answer(206, headers), found
    whole = found.size_bytes == entry.size_bytes
    if whole and call.headers.get("x-amz-checksum-mode", "").upper() == "ENABLED":
        headers |= checksum_headers(entry)
    return S3Answer(200, headers), found


def _part(call: S3Call, entry: ObjectEntry) -> ByteSpan | None:
    """The requested bytes, by range or by part number; None for all of them."""
    number = call.query.get("partNumber")
    if number is None:
        applies = ranges(call.headers.get("if-range"), entry.etag or "", entry.modified_s)
        return span(call.headers.get("range"), entry.size_bytes) if applies else None
    if "range" in call.headers:
        raise S3Error(Refusal.InvalidRequest, "Cannot specify both Range header and partNumber query parameter")
    sizes = entry.traits.parts or (entry.size_bytes,)
    at = part_number(number)
    if at > len(sizes):
        raise S3Error(Refusal.InvalidPartNumber, PartNumberRequested=number, ActualPartCount=str(len(sizes)))
    first = sum(sizes[: at - 1])
    return ByteSpan(first, first + sizes[at - 1] - 1)
