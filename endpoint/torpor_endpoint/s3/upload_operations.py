"""S3's operations on multipart uploads: each parses its call, asks the store, and answers."""

import asyncio
from dataclasses import replace
from urllib.parse import quote

from torpor_endpoint.s3.call import Call, moment, xml
from torpor_endpoint.s3.checksums import ALGORITHMS, HEADER, Wanted, known
from torpor_endpoint.s3.conditions import conditions
from torpor_endpoint.s3.copying import copied
from torpor_endpoint.s3.documents import document, flag, node, text
from torpor_endpoint.s3.entries import Entry
from torpor_endpoint.s3.errors import Refusal, S3Error
from torpor_endpoint.s3.exchange import Answer, document_of, taken_in
from torpor_endpoint.s3.headers import traits
from torpor_endpoint.s3.intake import Intake, Promise, Receipt, promised
from torpor_endpoint.s3.paging import PAGE_MAX
from torpor_endpoint.s3.parsing import Element, parsed, required
from torpor_endpoint.s3.parts import NUMBER_MAX, Asked, Part, checksum_kind, chosen, part_number, whole_checksum
from torpor_endpoint.s3.staging import Staged
from torpor_endpoint.s3.uploads import Upload


async def create_multipart_upload(call: Call) -> Answer:
    said = traits(call.headers)
    named = call.headers.get("x-amz-checksum-algorithm")
    algorithm = known(named) if named else None
    kind = checksum_kind(algorithm, call.headers.get("x-amz-checksum-type"))

    def begun() -> Upload:
        call.store.buckets.get(call.bucket)
        return call.store.uploads.begin(call.name, said, algorithm, kind)

    upload = await asyncio.to_thread(begun)
    given = {"x-amz-checksum-algorithm": algorithm, "x-amz-checksum-type": kind}
    answer = xml(document("InitiateMultipartUploadResult", *_named(call), text("UploadId", upload.id)))
    return replace(answer, headers={**answer.headers, **{name: value for name, value in given.items() if value}})


async def upload_part(call: Call) -> Answer:
    number = part_number(call.query.get("partNumber", ""))
    upload = await asyncio.to_thread(_upload, call)
    staged = call.store.staging.new()
    intake = Intake(_part_promise(call, upload), staged)

    def added() -> Receipt:
        receipt = intake.finish()
        _added(call, upload, _part(call, number, staged, receipt), staged)
        return receipt

    try:
        receipt = await taken_in(call.request.body, intake, added)
    except BaseException:  # also when the caller hangs up
        await asyncio.to_thread(staged.discard)
        raise
    checksum = {receipt.checksum.header: receipt.checksum.value} if receipt.checksum else {}
    return Answer(headers={"etag": f'"{receipt.etag}"', **checksum})


async def upload_part_copy(call: Call) -> Answer:
    part = await asyncio.to_thread(_copied_part, call, part_number(call.query.get("partNumber", "")))
    modified = text("LastModified", moment(part.modified_s))
    return xml(document("CopyPartResult", text("ETag", f'"{part.etag}"'), modified))


async def complete_multipart_upload(call: Call) -> Answer:
    # Its checksum headers are the object's, not this document's.
    own = {name: value for name, value in call.headers.items() if not name.startswith(HEADER)}
    tree = parsed(await document_of(replace(call.request, headers=own)), "CompleteMultipartUpload")
    asked = [_asked(item) for item in tree.findall("Part")]
    if not asked:
        raise S3Error(Refusal.MalformedXML)
    entry = await asyncio.to_thread(_completed, call, asked)
    result = [*_named(call), text("ETag", f'"{entry.etag}"'), text("Location", f"/{call.bucket}/{quote(entry.key)}")]
    checksum = entry.traits.checksum
    if checksum:
        result += [text(checksum.element, checksum.value), text("ChecksumType", checksum.kind)]
    return xml(document("CompleteMultipartUploadResult", *result))


async def abort_multipart_upload(call: Call) -> Answer:
    await asyncio.to_thread(lambda: call.store.uploads.abort(_upload(call)))
    return Answer(204)


async def list_parts(call: Call) -> Answer:
    after, limit = call.count("part-number-marker", 0, NUMBER_MAX), call.count("max-parts", PAGE_MAX, PAGE_MAX)

    def found() -> tuple[Upload, list[Part]]:
        upload = _upload(call)
        return upload, call.store.uploads.parts(upload, after, limit + 1)

    upload, parts = await asyncio.to_thread(found)
    page = parts[:limit]
    return xml(
        document(
            "ListPartsResult",
            *_named(call),
            text("UploadId", upload.id),
            call.site.owner("Initiator"),
            call.site.owner(),
            text("StorageClass", "STANDARD"),
            text("PartNumberMarker", after),
            text("NextPartNumberMarker", page[-1].number if page else None),
            text("MaxParts", limit),
            flag("IsTruncated", len(parts) > limit),
            text("ChecksumAlgorithm", upload.algorithm),
            text("ChecksumType", upload.kind),
            *(_listed(part, upload) for part in page),
        )
    )


def _upload(call: Call) -> Upload:
    call.store.buckets.get(call.bucket)
    return call.store.uploads.get(call.name, call.query.get("uploadId", ""))


def _part_promise(call: Call, upload: Upload) -> Promise:
    """AWS: every part has a checksum by the algorithm that the upload was begun with."""
    promise = promised(call.headers)
    if upload.algorithm is None:
        return promise
    if promise.checksum is None:
        return replace(promise, checksum=Wanted(upload.algorithm))
    if promise.checksum.algorithm != upload.algorithm:
        kinds = f"expected checksum Type: {upload.algorithm}, actual checksum Type: {promise.checksum.algorithm}"
        raise S3Error(Refusal.InvalidRequest, f"Checksum Type mismatch occurred, {kinds}")
    return promise


def _part(call: Call, number: int, staged: Staged, receipt: Receipt) -> Part:
    checksum = receipt.checksum.value if receipt.checksum else None
    return Part(number, staged.path.name, receipt.size_bytes, receipt.etag, checksum, call.store.clock())


def _added(call: Call, upload: Upload, part: Part, staged: Staged) -> Part:
    call.store.uploads.add(upload, part, staged)
    return part


def _copied_part(call: Call, number: int) -> Part:
    upload = _upload(call)
    staged = call.store.staging.new()
    try:
        receipt = copied(call, staged, upload.algorithm).receipt
        return _added(call, upload, _part(call, number, staged, receipt), staged)
    except BaseException:
        staged.discard()
        raise


def _completed(call: Call, asked: list[Asked]) -> Entry:
    upload = _upload(call)
    parts = chosen(asked, {part.number: part for part in call.store.uploads.parts(upload)})
    _check_whole(call, upload, parts)
    return call.store.uploads.complete(upload, parts, conditions(call.headers))


def _check_whole(call: Call, upload: Upload, parts: list[Part]) -> None:
    """What the caller says of the whole object, held against the parts."""
    checksum = whole_checksum(upload.algorithm, upload.kind, parts)
    if checksum and call.headers.get(checksum.header, checksum.value).partition("-")[0] != checksum.digest:
        raise S3Error(
            Refusal.BadDigest, f"The {checksum.algorithm} you specified did not match the calculated checksum."
        )
    size = call.headers.get("x-amz-mp-object-size")
    if size is not None and size != str(sum(part.size_bytes for part in parts)):
        raise S3Error(
            Refusal.InvalidRequest, "The provided 'x-amz-mp-object-size' header does not match what was computed."
        )


def _asked(item: Element) -> Asked:
    checksums = (item.findtext("Checksum" + name) for name in ALGORITHMS)
    number = required(item, "PartNumber").strip()
    return Asked(part_number(number), required(item, "ETag").strip(), next(filter(None, checksums), None))


def _named(call: Call) -> tuple[str, str]:
    return text("Bucket", call.bucket), text("Key", call.name.key)


def _listed(part: Part, upload: Upload) -> str:
    checksum = text(f"Checksum{upload.algorithm}", part.checksum) if upload.algorithm else ""
    return node(
        "Part",
        text("PartNumber", part.number),
        text("LastModified", moment(part.modified_s)),
        text("ETag", f'"{part.etag}"'),
        text("Size", part.size_bytes),
        checksum,
    )
