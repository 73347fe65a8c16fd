"""S3's operations on multipart uploads: each parses its call, asks the store, and answers."""

import asyncio
from dataclasses import replace

from torpor_endpoint.s3.call import Call, moment, xml
from torpor_endpoint.s3.checksums import ALGORITHMS, Checksum, Wanted, known, wanted
from torpor_endpoint.s3.conditions import conditions
from torpor_endpoint.s3.copying import copied
from torpor_endpoint.s3.documents import document, flag, node, text
from torpor_endpoint.s3.entries import Entry
from torpor_endpoint.s3.errors import Refusal, S3Error
from torpor_endpoint.s3.exchange import Answer, document_of, taken_in
from torpor_endpoint.s3.headers import checksum_headers, traits
from torpor_endpoint.s3.intake import Intake, Promise, Receipt, promised
from torpor_endpoint.s3.paging import PAGE_MAX
from torpor_endpoint.s3.parsing import Element, parsed, required
from torpor_endpoint.s3.parts import Asked, Part, checksum_kind, chosen, part_number
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
    try:
        part = await taken_in(call.request.body, intake, lambda: _added(call, upload, number, staged, intake.finish()))
    except BaseException:  # also when the caller hangs up
        await asyncio.to_thread(staged.discard)
        raise
    checksum = Checksum(upload.algorithm, part.checksum) if upload.algorithm and part.checksum else None
    return Answer(headers={"etag": f'"{part.etag}"', **({checksum.header: checksum.value} if checksum else {})})


async def upload_part_copy(call: Call) -> Answer:
    number = part_number(call.query.get("partNumber", ""))

    def copy() -> Part:
        upload = _upload(call)
        staged = call.store.staging.new()
        try:
            return _added(call, upload, number, staged, copied(call, staged, upload.algorithm).receipt)
        except BaseException:
            staged.discard()
            raise

    part = await asyncio.to_thread(copy)
    times = text("LastModified", moment(part.modified_s))
    return xml(document("CopyPartResult", text("ETag", f'"{part.etag}"'), times))


async def complete_multipart_upload(call: Call) -> Answer:
    tree = parsed(await document_of(replace(call.request, headers={})), "CompleteMultipartUpload")
    asked = [_asked(item) for item in tree.findall("Part")]
    if not asked:
        raise S3Error(Refusal.MalformedXML)
    entry = await asyncio.to_thread(_completed, call, asked)
    checksum = entry.traits.checksum
    result = [*_named(call), text("ETag", f'"{entry.etag}"'), text("Location", _location(call))]
    if checksum:
        result += [text(checksum.element, checksum.value), text("ChecksumType", checksum.kind)]
    return xml(document("CompleteMultipartUploadResult", *result))


async def abort_multipart_upload(call: Call) -> Answer:
    await asyncio.to_thread(lambda: call.store.uploads.abort(_upload(call)))
    return Answer(204)


async def list_parts(call: Call) -> Answer:
    after, limit = call.count("part-number-marker", 0 if False else 10_000), call.count("max-parts", PAGE_MAX)
    raise NotImplementedError
