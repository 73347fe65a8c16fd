"""S3's operations on buckets and on the service: each parses its call, calls the store, and answers."""

import asyncio
from typing import Final

from torpor_account.s3.bucket_names import US_EAST_1, legal_constraint, only_version
from torpor_account.s3.call import S3Call, moment, xml
from torpor_account.s3.edge import refusal
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.operation_rights import check_creation, check_deletion
from torpor_account.s3.operations.configurations import tag_pairs
from torpor_account.s3.storage.buckets import Bucket
from torpor_account.s3.storage.entries import ObjectName
from torpor_account.s3.wire.http_exchange import S3Answer, document_of
from torpor_account.s3.wire.parsing import Element, parsed, required
from torpor_account.s3.wire.preconditions import Conditions
from torpor_account.s3.wire.xml_elements import document, node, text

_DELETIONS_MAX: Final = 1000
_BUCKETS_MAX: Final = 10_000
_OF_BUCKETS = frozenset({"LocationConstraint", "Tags"})
_OF_DIRECTORY_BUCKETS = frozenset({"Location", "Bucket"})
"""The elements of CreateBucketConfiguration."""
_OWNERSHIPS: Final = ("BucketOwnerEnforced", "BucketOwnerPreferred", "ObjectWriter")


async def list_buckets(call: S3Call) -> S3Answer:
    """List the buckets, in pages if the caller asks for them. The token is the last name."""
    prefix, after = call.query.get("prefix", ""), call.query.get("continuation-token", "")
    limit = call.count("max-buckets", _BUCKETS_MAX, _BUCKETS_MAX + 1)
    if not 1 <= limit <= _BUCKETS_MAX:
        text_of = f"Argument max-buckets must be an integer between 1 and {_BUCKETS_MAX}"
        raise S3Error(Refusal.InvalidArgument, text_of, ArgumentName="max-buckets", ArgumentValue=str(limit))
    found = await asyncio.to_thread(call.store.buckets.all)
    region = call.query.get("bucket-region")
    matching = [
        bucket
        for bucket in found
        if bucket.name.startswith(prefix)
        and bucket.name > after
        and region in (None, bucket.region or call.site.region)
    ]
    page = matching[:limit]
    return xml(
        document(
            "ListAllMyBucketsResult",
            call.site.owner(),
            node("Buckets", *(_bucket(bucket, call) for bucket in page)),
            text("Prefix", prefix or None),
            text("ContinuationToken", page[-1].name if page and len(matching) > limit else None),
        )
    )


async def create_bucket(call: S3Call) -> S3Answer:
    configuration = await document_of(call.request, _configuration)
    region, tags = configuration.findtext("LocationConstraint") or None, tag_pairs(configuration)
    await asyncio.to_thread(check_creation, call, region, tags)
    if call.headers.get("x-amz-bucket-object-lock-enabled", "").lower() == "true":
        raise S3Error(Refusal.NotImplemented, "This object store has no Object Lock.")
    if call.headers.get("x-amz-bucket-namespace") == "account-regional":
        raise S3Error(Refusal.NotImplemented, "This object store has one namespace of buckets.")
    if region is not None and not legal_constraint(region):
        raise S3Error(Refusal.InvalidLocationConstraint, LocationConstraint=region)
    ownership = call.headers.get("x-amz-object-ownership")
    if ownership not in (None, *_OWNERSHIPS):
        raise S3Error(Refusal.InvalidArgument, f"Invalid x-amz-object-ownership header: {ownership}")

    def created() -> None:
        call.store.buckets.create(call.bucket, region)
        if ownership:
            rule = node("Rule", text("ObjectOwnership", ownership))
            call.store.buckets.configure(call.bucket, "ownershipControls", document("OwnershipControls", rule))
        if tags:
            tag_set = node("TagSet", *(node("Tag", text("Key", key), text("Value", value)) for key, value in tags))
            call.store.buckets.configure(call.bucket, "tagging", document("Tagging", tag_set))

    try:
        await asyncio.to_thread(created)
    except S3Error as error:
        if error.refusal is not Refusal.BucketAlreadyOwnedByYou:
            raise
        # AWS: "returns this error in all AWS Regions except in the North Virginia Region", which answers 200.
        present = await asyncio.to_thread(call.store.buckets.get, call.bucket)
        if {region or call.site.region, present.region or call.site.region} != {US_EAST_1}:
            raise
    return S3Answer(headers={"location": f"/{call.bucket}"})


def _configuration(document: bytes) -> Element:
    """The request's CreateBucketConfiguration; empty without a document.

    Raises MalformedXML for an unknown element, and NotImplemented for one of directory buckets.
    """
    if not document.strip():
        return Element("CreateBucketConfiguration")
    configuration = parsed(document, "CreateBucketConfiguration")
    names = {node.tag for node in configuration}
    if names & _OF_DIRECTORY_BUCKETS:
        raise S3Error(Refusal.NotImplemented, "This object store has no directory buckets.")
    if names - _OF_BUCKETS:
        raise S3Error(Refusal.MalformedXML)
    return configuration


async def head_bucket(call: S3Call) -> S3Answer:
    bucket = await asyncio.to_thread(call.store.buckets.get, call.bucket)
    region = {"x-amz-bucket-region": bucket.region or call.site.region, "x-amz-access-point-alias": "false"}
    return S3Answer(headers={"content-type": "application/xml", **region})


async def delete_bucket(call: S3Call) -> S3Answer:
    await asyncio.to_thread(call.store.delete_bucket, call.bucket)
    return S3Answer(204)


async def get_bucket_location(call: S3Call) -> S3Answer:
    """AWS: "Buckets in Region us-east-1 have a LocationConstraint of null"."""
    bucket = await asyncio.to_thread(call.store.buckets.get, call.bucket)
    region = bucket.region or call.site.region
    return xml(document("LocationConstraint", "" if region == US_EAST_1 else region))


async def delete_objects(call: S3Call) -> S3Answer:
    tree = await document_of(call.request, lambda body: parsed(body, "Delete"))
    items = tree.findall("Object")
    if not 1 <= len(items) <= _DELETIONS_MAX:
        raise S3Error(Refusal.MalformedXML)
    keys = [required(item, "Key") for item in items]  # read all keys before the first object is deleted
    if not all(keys):
        raise S3Error(Refusal.MalformedXML)
    quiet = tree.findtext("Quiet") == "true"

    def deleted() -> list[str]:
        call.store.buckets.get(call.bucket)
        return [_deleted(call, key, item, quiet) for key, item in zip(keys, items, strict=True)]

    return xml(document("DeleteResult", *await asyncio.to_thread(deleted)))


def _deleted(call: S3Call, key: str, item: Element, quiet: bool) -> str:
    """Delete one key, and return its part of the answer. A failure does not stop the other keys."""
    version, etag = item.findtext("VersionId"), item.findtext("ETag")
    try:
        check_deletion(call, key, version, etag)
        if not only_version(version):
            raise S3Error(Refusal.NoSuchVersion)
        call.store.objects.delete(ObjectName(call.bucket, key), Conditions(if_match=etag))
    except (S3Error, PermissionError) as error:
        refused = refusal(error)
        why = text("Code", refused.refusal.name) + text("Message", refused)
        return node("Error", text("Key", key), text("VersionId", version), why)
    return "" if quiet else node("Deleted", text("Key", key), text("VersionId", version))


def _bucket(bucket: Bucket, call: S3Call) -> str:
    region = text("BucketRegion", bucket.region or call.site.region)
    return node("Bucket", text("Name", bucket.name), text("CreationDate", moment(bucket.created_s)), region)
