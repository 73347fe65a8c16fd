"""S3's operations on multipart uploads: each parses its call, calls the store, and answers."""

import asyncio
from contextlib import ExitStack
from dataclasses import replace

from torpor_account.s3.call import S3Call, moment, xml
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.operations.copying import copied
from torpor_account.s3.storage.key_pages import PAGE_MAX
from torpor_account.s3.storage.staging import Staged
from torpor_account.s3.storage.upload_parts import NUMBER_MAX, UploadedPart, checksum_kind, part_number
from torpor_account.s3.storage.uploads import Upload
from torpor_account.s3.wire.checksums import RequestedChecksum, known, requested_checksum
from torpor_account.s3.wire.headers import encryption_headers, traits
from torpor_account.s3.wire.http_exchange import S3Answer, taken_in
from torpor_account.s3.wire.intake import Intake, Promise, Receipt, promised_bytes
from torpor_account.s3.wire.patience import soon_or_aloud
from torpor_account.s3.wire.xml_elements import document, flag, node, text


async def create_multipart_upload(call: S3Call) -> S3Answer:
    described = traits(call.headers)
    requested = call.headers.get("x-amz-checksum-algorithm")
    algorithm = known(requested) if requested else None
    kind = checksum_kind(algorithm, call.headers.get("x-amz-checksum-type"))

    def begun() -> Upload:
        call.store.buckets.get(call.bucket)
        return call.store.uploads.begin(call.name, described, algorithm, kind)

    upload = await asyncio.to_thread(begun)
    given = {"x-amz-checksum-algorithm": algorithm, "x-amz-checksum-type": kind}
    answer = xml(document("InitiateMultipartUploadResult", *named(call), text("UploadId", upload.id)))
    headers = {name: value for name, value in given.items() if value} | encryption_headers(described.headers)
    return replace(answer, headers={**answer.headers, **headers})


async def upload_part(call: S3Call) -> S3Answer:
    number = part_number(call.query.get("partNumber", ""))
    upload = await asyncio.to_thread(upload_of, call)
    async with call.store.staging.receiving() as staged:
        intake = Intake(_part_promise(call, upload), staged)

        def added() -> Receipt:
            receipt = intake.finish()
            call.store.uploads.add(upload, _part(call, upload, number, staged, receipt), staged)
            return receipt

        receipt = await taken_in(call.request.body, intake, added)
    # AWS: "This will only be present if the checksum was provided in the request."
    shown = receipt.checksum if upload.algorithm or requested_checksum(call.headers) else None
    checksum = {shown.header: shown.value} if shown else {}
    return S3Answer(headers={"etag": f'"{receipt.etag}"', **checksum, **encryption_headers(upload.traits.headers)})


async def upload_part_copy(call: S3Call) -> S3Answer:
    number = part_number(call.query.get("partNumber", ""))
    return await soon_or_aloud(asyncio.to_thread(_upload_part_copy, call, number))


def _upload_part_copy(call: S3Call, number: int) -> S3Answer:
    upload, part = _copied_part(call, number)
    modified = text("LastModified", moment(part.modified_s))
    return xml(document("CopyPartResult", text("ETag", f'"{part.etag}"'), modified, _checksum(part, upload)))


async def abort_multipart_upload(call: S3Call) -> S3Answer:
    await asyncio.to_thread(lambda: call.store.uploads.abort(upload_of(call)))
    return S3Answer(204)


async def list_parts(call: S3Call) -> S3Answer:
    after, limit = call.count("part-number-marker", 0, NUMBER_MAX), call.count("max-parts", PAGE_MAX, PAGE_MAX)

    def found() -> tuple[Upload, list[UploadedPart]]:
        upload = upload_of(call)
        return upload, call.store.uploads.parts(upload, after, limit + 1)

    upload, parts = await asyncio.to_thread(found)
    page = parts[:limit]
    return xml(
        document(
            "ListPartsResult",
            *named(call),
            text("UploadId", upload.id),
            call.site.owner("Initiator"),
            call.site.owner(),
            text("StorageClass", upload.traits.storage_class),
            text("PartNumberMarker", after),
            text("NextPartNumberMarker", page[-1].number if page else 0),
            text("MaxParts", limit),
            flag("IsTruncated", len(parts) > limit),
            text("ChecksumAlgorithm", upload.algorithm),
            text("ChecksumType", upload.kind),
            *(_listed(part, upload) for part in page),
        )
    )


def upload_of(call: S3Call) -> Upload:
    call.store.buckets.get(call.bucket)
    return call.store.uploads.get(call.name, call.query.get("uploadId", ""))


def _part_promise(call: S3Call, upload: Upload) -> Promise:
    """AWS: every part has a checksum by the upload's algorithm, beside any other that the caller gives."""
    promise = promised_bytes(call.headers)
    if promise.checksum is None:
        return replace(promise, checksum=RequestedChecksum(upload.part_algorithm))
    if upload.algorithm not in (None, promise.checksum.algorithm):
        raise mismatch(upload.algorithm, promise.checksum.algorithm)
    same = promise.checksum.algorithm == upload.part_algorithm
    return promise if same else replace(promise, beside=upload.part_algorithm)


def mismatch(expected: str | None, actual: str) -> S3Error:
    kinds = f"expected checksum Type: {expected or 'null'}, actual checksum Type: {actual}"
    return S3Error(Refusal.InvalidRequest, f"Checksum Type mismatch occurred, {kinds}")


def _part(call: S3Call, upload: Upload, number: int, staged: Staged, receipt: Receipt) -> UploadedPart:
    """The part, with the checksum that the whole object's is calculated from."""
    checksum = receipt.beside or receipt.checksum
    value = checksum.value if checksum else None
    return UploadedPart(number, staged.path.name, receipt.size_bytes, receipt.etag, value, call.store.clock())


def _copied_part(call: S3Call, number: int) -> tuple[Upload, UploadedPart]:
    upload = upload_of(call)
    staged = call.store.staging.new()
    with ExitStack() as unfinished:
        unfinished.callback(staged.discard)
        part = _part(call, upload, number, staged, copied(call, staged, upload.part_algorithm).receipt)
        call.store.uploads.add(upload, part, staged)
        unfinished.pop_all()
    return upload, part


def named(call: S3Call) -> tuple[str, str]:
    return text("Bucket", call.bucket), text("Key", call.name.key)


def _listed(part: UploadedPart, upload: Upload) -> str:
    return node(
        "Part",
        text("PartNumber", part.number),
        text("LastModified", moment(part.modified_s)),
        text("ETag", f'"{part.etag}"'),
        text("Size", part.size_bytes),
        _checksum(part, upload),
    )


def _checksum(part: UploadedPart, upload: Upload) -> str:
    return text(f"Checksum{upload.algorithm}", part.checksum) if upload.algorithm else ""
