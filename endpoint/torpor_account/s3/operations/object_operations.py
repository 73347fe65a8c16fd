"""S3's operations on one object: each parses its call, calls the store, and answers."""

import asyncio
from dataclasses import replace
from typing import Final

from torpor_account.s3.call import S3Call, moment, xml
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.operation_rights import check_tagging
from torpor_account.s3.operations.copying import Copy, copied, source_name
from torpor_account.s3.storage.entries import ObjectEntry, ObjectTraits
from torpor_account.s3.storage.objects import Draft
from torpor_account.s3.wire.checksums import known
from torpor_account.s3.wire.headers import (
    PLACED,
    checked_tags,
    checksum_headers,
    copied_headers,
    encryption_headers,
    header_tags,
    replaces,
    traits,
)
from torpor_account.s3.wire.http_exchange import S3Answer, document_of, taken_in
from torpor_account.s3.wire.intake import Intake, promised_bytes, summed
from torpor_account.s3.wire.parsing import parsed, required
from torpor_account.s3.wire.patience import soon_or_aloud
from torpor_account.s3.wire.preconditions import conditions, http_date
from torpor_account.s3.wire.xml_elements import document, node, text

_ATTRIBUTES: Final = frozenset(("ETag", "Checksum", "ObjectParts", "ObjectSize", "StorageClass"))

_TO_ITSELF: Final = (
    "This copy request is illegal because it is trying to copy an object to itself without changing the object's "
    "metadata, storage class, website redirect location or encryption attributes."
)


async def put_object(call: S3Call) -> S3Answer:
    described, preconditions = traits(call.headers), conditions(call.headers)
    await asyncio.to_thread(call.store.buckets.get, call.bucket)
    async with call.store.staging.receiving() as staged:
        intake = Intake(summed(promised_bytes(call.headers)), staged)

        def stored() -> ObjectEntry:
            receipt = intake.finish()
            draft = Draft(staged, receipt.etag, replace(described, checksum=receipt.checksum))
            return call.store.objects.put(call.name, draft, preconditions)

        entry = await taken_in(call.request.body, intake, stored)
    return S3Answer(
        headers={"etag": f'"{entry.etag}"', **checksum_headers(entry), **encryption_headers(described.headers)}
    )


async def copy_object(call: S3Call) -> S3Answer:
    return await soon_or_aloud(asyncio.to_thread(_copy_object, call))


async def delete_object(call: S3Call) -> S3Answer:
    def deleted() -> None:
        call.store.buckets.get(call.bucket)
        call.store.objects.delete(call.name, conditions(call.headers))

    await asyncio.to_thread(deleted)
    return S3Answer(204)


async def get_object_tagging(call: S3Call) -> S3Answer:
    entry = await asyncio.to_thread(_head, call)
    tags = [node("Tag", text("Key", key), text("Value", value)) for key, value in entry.traits.tags.items()]
    return xml(document("Tagging", node("TagSet", *tags)))


async def put_object_tagging(call: S3Call) -> S3Answer:
    tags = await document_of(call.request, document_tags)
    await asyncio.to_thread(check_tagging, call, tags)
    await asyncio.to_thread(_tag, call, tags)
    return S3Answer()


async def delete_object_tagging(call: S3Call) -> S3Answer:
    await asyncio.to_thread(_tag, call, {})
    return S3Answer(204)


async def get_object_attributes(call: S3Call) -> S3Answer:
    requested = {name.strip() for name in call.headers.get("x-amz-object-attributes", "").split(",")}
    if not requested - {""} or not requested - {""} <= _ATTRIBUTES:
        raise S3Error(Refusal.InvalidArgument, "Invalid attribute name specified.")
    entry = await asyncio.to_thread(_head, call)
    checksum = entry.traits.checksum
    parts = len(entry.traits.parts)
    values = {
        "ETag": text("ETag", entry.etag),
        "StorageClass": text("StorageClass", entry.traits.storage_class),
        "ObjectSize": text("ObjectSize", entry.size_bytes),
    }
    if checksum:
        values["Checksum"] = node(
            "Checksum", text(checksum.element, checksum.value), text("ChecksumType", checksum.kind)
        )
    if parts:
        values["ObjectParts"] = node("ObjectParts", text("PartsCount", parts))
    answer = xml(document("GetObjectAttributesResponse", *(values[name] for name in values if name in requested)))
    return replace(answer, headers={**answer.headers, "last-modified": http_date(entry.modified_s)})


def document_tags(body: bytes) -> dict[str, str]:
    """The tags in a `Tagging` document."""
    tree = parsed(body, "Tagging")
    if tree.find("TagSet") is None:
        raise S3Error(Refusal.MalformedXML)
    return checked_tags([(required(tag, "Key"), required(tag, "Value")) for tag in tree.iter("Tag")])


def _copy_object(call: S3Call) -> S3Answer:
    preconditions = conditions(call.headers)
    call.store.buckets.get(call.bucket)
    # A storage class counts as a change even if the object has it already, as on AWS.
    changed = replaces(call.headers, "metadata") or not call.headers.keys().isdisjoint(PLACED)
    if source_name(call) == call.name and not changed:
        raise S3Error(Refusal.InvalidRequest, _TO_ITSELF)
    algorithm = call.headers.get("x-amz-checksum-algorithm")
    staged = call.store.staging.new()
    try:
        copy = copied(call, staged, known(algorithm) if algorithm else None)
        entry = call.store.objects.put(
            call.name, Draft(staged, copy.receipt.etag, _copied_traits(call, copy)), preconditions
        )
    finally:
        staged.discard()
    checksum = entry.traits.checksum
    result = [text("ETag", f'"{entry.etag}"'), text("LastModified", moment(entry.modified_s))]
    if checksum:
        result += [text(checksum.element, checksum.value), text("ChecksumType", checksum.kind)]
    answer = xml(document("CopyObjectResult", *result))
    return replace(answer, headers={**answer.headers, **encryption_headers(entry.traits.headers)})


def _copied_traits(call: S3Call, copy: Copy) -> ObjectTraits:
    """The copy's traits. AWS: by default the source's metadata and tags are copied; each may be replaced."""
    own, own_tags = replaces(call.headers, "metadata"), replaces(call.headers, "tagging")
    return ObjectTraits(
        headers=traits(call.headers).headers if own else copied_headers(call.headers, copy.source),
        tags=header_tags(call.headers) if own_tags else copy.source.traits.tags,
        checksum=copy.receipt.checksum,
    )


def _head(call: S3Call) -> ObjectEntry:
    call.store.buckets.get(call.bucket)
    return call.store.objects.head(call.name)


def _tag(call: S3Call, tags: dict[str, str]) -> None:
    call.store.buckets.get(call.bucket)
    call.store.objects.tag(call.name, tags)
