"""CompleteMultipartUpload: checks the parts against the caller's list of them, and joins them to the object."""

import asyncio
from dataclasses import replace

from torpor_account.s3.call import S3Call, xml
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.operations.upload_operations import mismatch, named, upload_of
from torpor_account.s3.storage.entries import ObjectEntry
from torpor_account.s3.storage.upload_parts import NamedPart, UploadedPart, chosen, part_number, whole_etag
from torpor_account.s3.storage.uploads import Upload
from torpor_account.s3.wire.checksums import ALGORITHMS, COMPOSITE, HEADER, given_checksums
from torpor_account.s3.wire.headers import encryption_headers
from torpor_account.s3.wire.http_exchange import S3Answer, document_of
from torpor_account.s3.wire.parsing import Element, parsed, required
from torpor_account.s3.wire.patience import soon_or_aloud
from torpor_account.s3.wire.preconditions import conditions
from torpor_account.s3.wire.xml_elements import document, text


async def complete_multipart_upload(call: S3Call) -> S3Answer:
    # Its checksum headers are the object's, not this document's.
    own = {name: value for name, value in call.headers.items() if not name.startswith(HEADER)}
    named_parts = await document_of(replace(call.request, headers=own), _named_parts)
    return await soon_or_aloud(asyncio.to_thread(_answered, call, named_parts))


def _named_parts(document: bytes) -> list[NamedPart]:
    named_parts = [_named_part(item) for item in parsed(document, "CompleteMultipartUpload").findall("Part")]
    if not named_parts:
        raise S3Error(Refusal.MalformedXML)
    return named_parts


def _answered(call: S3Call, named_parts: list[NamedPart]) -> S3Answer:
    entry = _completed(call, named_parts)
    result = [*named(call), text("ETag", f'"{entry.etag}"'), text("Location", call.request.url)]
    checksum = entry.traits.checksum
    if checksum:
        result += [text(checksum.element, checksum.value), text("ChecksumType", checksum.kind)]
    answer = xml(document("CompleteMultipartUploadResult", *result))
    return replace(answer, headers={**answer.headers, **encryption_headers(entry.traits.headers)})


def _completed(call: S3Call, named_parts: list[NamedPart]) -> ObjectEntry:
    """Join the parts. A client that lost the first answer sends the call again, and gets the same object."""
    try:
        return _joined(call, named_parts)
    except S3Error as error:
        earlier = _earlier(call, named_parts) if error.refusal is Refusal.NoSuchUpload else None
        if earlier is None:
            raise
        return earlier


def _joined(call: S3Call, named_parts: list[NamedPart]) -> ObjectEntry:
    upload = upload_of(call)
    if upload.algorithm is None:  # the upload has no algorithm, so the parts' checksums are not checked
        named_parts = [replace(part, checksum=None) for part in named_parts]
    elif upload.kind == COMPOSITE:
        _check_each(upload.algorithm, named_parts)
    parts = chosen(named_parts, {part.number: part for part in call.store.uploads.parts(upload)})
    _check_whole(call, upload, parts)
    return call.store.uploads.complete(upload, parts, conditions(call.headers))


def _earlier(call: S3Call, named_parts: list[NamedPart]) -> ObjectEntry | None:
    """The object, if it consists of exactly these parts."""
    try:
        entry = call.store.objects.head(call.name)
        return entry if entry.etag == whole_etag([part.etag for part in named_parts]) else None
    except (S3Error, ValueError):  # no object, or malformed ETags
        return None


def _check_each(algorithm: str, named_parts: list[NamedPart]) -> None:
    """Raises InvalidRequest if a part has no checksum: a composite checksum needs all of them."""
    missing = next((part.number for part in named_parts if part.checksum is None), None)
    if missing is not None:
        text = (
            f"The upload was created using a {algorithm.lower()} checksum. The complete request must include the "
            f"checksum for each part. It was missing for part {missing} in the request."
        )
        raise S3Error(Refusal.InvalidRequest, text)


def _check_whole(call: S3Call, upload: Upload, parts: list[UploadedPart]) -> None:
    """Check the caller's checksum and size of the whole object against the parts."""
    checksum = upload.checksum(parts)
    kind = call.headers.get(f"{HEADER}type")
    if kind is not None and checksum is not None and kind.upper() != checksum.kind:
        text = (
            f"The upload was created using the {checksum.kind} checksum mode. The complete request must use the same "
            "checksum mode."
        )
        raise S3Error(Refusal.InvalidRequest, text)
    for algorithm, value in given_checksums(call.headers).items():
        if checksum is None or algorithm != checksum.algorithm:
            raise mismatch(upload.algorithm, algorithm)
        if value not in (checksum.value, checksum.digest):
            raise S3Error(Refusal.BadDigest, f"The {algorithm} you specified did not match the calculated checksum.")
    size = call.headers.get("x-amz-mp-object-size")
    if size is not None and size != str(sum(part.size_bytes for part in parts)):
        raise S3Error(
            Refusal.InvalidRequest, "The provided 'x-amz-mp-object-size' header does not match what was computed."
        )


def _named_part(item: Element) -> NamedPart:
    checksums = (item.findtext("Checksum" + name) for name in ALGORITHMS)
    number = required(item, "PartNumber").strip()
    return NamedPart(
        part_number(number), required(item, "ETag").strip().strip('"'), next(filter(None, checksums), None)
    )
