"""Copies objects, or ranges of them, within the store. Synchronous, for a worker thread."""

from dataclasses import dataclass

from torpor_account.s3.bucket_names import copy_source
from torpor_account.s3.call import S3Call
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.storage.entries import ObjectEntry, ObjectName
from torpor_account.s3.storage.objects import Opened
from torpor_account.s3.storage.staging import Staged
from torpor_account.s3.wire.checksums import DEFAULT, RequestedChecksum
from torpor_account.s3.wire.http_exchange import BATCH_BYTES
from torpor_account.s3.wire.intake import OBJECT_MAX_BYTES, Intake, Promise, Receipt
from torpor_account.s3.wire.preconditions import check_copy, conditions
from torpor_account.s3.wire.ranges import ByteSpan, copied_span


@dataclass(frozen=True)
class Copy:
    """The source of a copy, and the size and checksums of the copy."""

    source: ObjectEntry
    receipt: Receipt


def source_name(call: S3Call) -> ObjectName:
    source = copy_source(call.headers["x-amz-copy-source"])
    return ObjectName(source.bucket or "", source.key or "")


def copied(call: S3Call, staged: Staged, algorithm: str | None = None) -> Copy:
    """Copy the source in the headers into a staged file, by the headers' preconditions and range.

    The copy has a checksum by `algorithm`, else by the source's algorithm, else by the default one.
    """
    name = source_name(call)
    call.store.buckets.get(name.bucket)
    opened = call.store.objects.open(name)
    with opened.file:
        entry = opened.entry
        check_copy(
            conditions(call.headers, "x-amz-copy-source-"), entry.etag or "", entry.modified_s, call.store.clock()
        )
        chosen = algorithm or (entry.traits.checksum.algorithm if entry.traits.checksum else DEFAULT)
        intake = Intake(Promise(checksum=RequestedChecksum(chosen)), staged)
        _fed(intake, opened, _span(call, entry))
    return Copy(entry, intake.finish())


def _span(call: S3Call, entry: ObjectEntry) -> ByteSpan:
    found = copied_span(call.headers.get("x-amz-copy-source-range"), entry.size_bytes)
    if found.size_bytes > OBJECT_MAX_BYTES:
        text = f"The specified copy source is larger than the maximum allowable size for a copy: {OBJECT_MAX_BYTES}"
        raise S3Error(Refusal.InvalidRequest, text)
    return found


def _fed(intake: Intake, opened: Opened, part: ByteSpan) -> None:
    opened.file.seek(part.first)
    left_bytes = part.size_bytes
    while left_bytes > 0 and (piece := opened.file.read(min(BATCH_BYTES, left_bytes))):
        intake.feed(piece)
        left_bytes -= len(piece)
    if left_bytes:
        raise S3Error(Refusal.InternalError, "The source was cut short while it was being copied.")
