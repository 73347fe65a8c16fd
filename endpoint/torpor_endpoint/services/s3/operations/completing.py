"""CompleteMultipartUpload: the parts are held against what their writer says of them, and joined to the object."""

import asyncio
from dataclasses import replace

from torpor_endpoint.services.s3.call import S3Call, xml
from torpor_endpoint.services.s3.errors import Refusal, S3Error
from torpor_endpoint.services.s3.operations.upload_operations import mismatch, named, upload_of
from torpor_endpoint.services.s3.storage.entries import ObjectEntry
from torpor_endpoint.services.s3.storage.parts import NamedPart, UploadedPart, chosen, part_number, whole_etag
from torpor_endpoint.services.s3.storage.uploads import Upload
from torpor_endpoint.services.s3.wire.checksums import ALGORITHMS, COMPOSITE, HEADER, said
from torpor_endpoint.services.s3.wire.conditions import conditions
from torpor_endpoint.services.s3.wire.documents import document, text
from torpor_endpoint.services.s3.wire.exchange import S3Answer, document_of
from torpor_endpoint.services.s3.wire.headers import encryption_headers
from torpor_endpoint.services.s3.wire.parsing import Element, parsed, required
from torpor_endpoint.services.s3.wire.patience import soon_or_aloud


async def complete_multipart_upload(call: S3Call) -> S3Answer:
    # Its checksum headers are the object's, not this document's.
    own = {name: value for name, value in call.headers.items() if not name.startswith(HEADER)}
    asked = await document_of(replace(call.request, headers=own), _asked_of)
    return await soon_or_aloud(asyncio.to_thread(_answered, call, asked))


def _asked_of(document: bytes) -> list[NamedPart]:
    asked = [_asked(item) for item in parsed(document, "CompleteMultipartUpload").findall("Part")]
    if not asked:
        raise S3Error(Refusal.MalformedXML)
    return asked


def _answered(call: S3Call, asked: list[NamedPart]) -> S3Answer:
    entry = _completed(call, asked)
    result = [*named(call), text("ETag", f'"{entry.etag}"'), text("Location", call.request.url)]
    checksum = entry.traits.checksum
    if checksum:
        result += [text(checksum.element, checksum.value), text("ChecksumType", checksum.kind)]
    answer = xml(document("CompleteMultipartUploadResult", *result))
    return replace(answer, headers={**answer.headers, **encryption_headers(entry.traits.headers)})


def _completed(call: S3Call, asked: list[NamedPart]) -> ObjectEntry:
    """A client that lost the first answer asks again, and is told of the same object."""
    try:
        return _joined(call, asked)
    except S3Error as error:
        earlier = _earlier(call, asked) if error.refusal is Refusal.NoSuchUpload else None
        if earlier is None:
            raise
        return earlier


def _joined(call: S3Call, asked: list[NamedPart]) -> ObjectEntry:
    upload = upload_of(call)
    if upload.algorithm is None:  # nothing was agreed upon that the parts' checksums could be held against
        asked = [replace(part, checksum=None) for part in asked]
    elif upload.kind == COMPOSITE:
        _check_each(upload.algorithm, asked)
    parts = chosen(asked, {part.number: part for part in call.store.uploads.parts(upload)})
    _check_whole(call, upload, parts)
    return call.store.uploads.complete(upload, parts, conditions(call.headers))


def _earlier(call: S3Call, asked: list[NamedPart]) -> ObjectEntry | None:
    """The object, if it consists of just these parts."""
    try:
        entry = call.store.objects.head(call.name)
        return entry if entry.etag == whole_etag([part.etag for part in asked]) else None
    except (S3Error, ValueError):  # no object, or ETags that are none
        return None


def _check_each(algorithm: str, asked: list[NamedPart]) -> None:
    """A composite checksum is made of those that the caller names."""
    missing = next((part.number for part in asked if part.checksum is None), None)
    if missing is not None:
        text = (
            f"The upload was created using a {algorithm.lower()} checksum. The complete request must include the "
            f"checksum for each part. It was missing for part {missing} in the request."
        )
        raise S3Error(Refusal.InvalidRequest, text)


def _check_whole(call: S3Call, upload: Upload, parts: list[UploadedPart]) -> None:
    """What the caller says of the whole object, held against the parts."""
    checksum = upload.checksum(parts)
    kind = call.headers.get(f"{HEADER}type")
    if kind is not None and checksum is not None and kind.upper() != checksum.kind:
        text = (
            f"The upload was created using the {checksum.kind} checksum mode. The complete request must use the same "
            "checksum mode."
        )
        raise S3Error(Refusal.InvalidRequest, text)
    for algorithm, value in said(call.headers).items():
        if checksum is None or algorithm != checksum.algorithm:
            raise mismatch(upload.algorithm, algorithm)
        if value not in (checksum.value, checksum.digest):
            raise S3Error(Refusal.BadDigest, f"The {algorithm} you specified did not match the calculated checksum.")
    size = call.headers.get("x-amz-mp-object-size")
    if size is not None and size != str(sum(part.size_bytes for part in parts)):
        raise S3Error(
            Refusal.InvalidRequest, "The provided 'x-amz-mp-object-size' header does not match what was computed."
        )


def _asked(item: Element) -> NamedPart:
    checksums = (item.findtext("Checksum" + name) for name in ALGORITHMS)
    number = required(item, "PartNumber").strip()
    return NamedPart(
        part_number(number), required(item, "ETag").strip().strip('"'), next(filter(None, checksums), None)
    )
