"""S3's operations on access control lists. Here a list always says that the one account may do everything."""

import asyncio

from torpor_account.s3.call import S3Call, xml
from torpor_account.s3.wire.document_schema import check_schema, document_shape
from torpor_account.s3.wire.http_exchange import S3Answer, document_of
from torpor_account.s3.wire.parsing import parsed
from torpor_account.s3.wire.xml_elements import document, node, text


async def get_bucket_acl(call: S3Call) -> S3Answer:
    await asyncio.to_thread(_check, call)
    return xml(_full_control(call))


async def put_bucket_acl(call: S3Call) -> S3Answer:
    """Accept an access control list, without effect. It may be in a header alone."""
    await document_of(call.request, _check_list)
    await asyncio.to_thread(_check, call)
    return S3Answer()


get_object_acl = get_bucket_acl
put_object_acl = put_bucket_acl


def _check_list(body: bytes) -> None:
    """Raises MalformedXML."""
    if body:
        check_schema(parsed(body, "AccessControlPolicy"), document_shape("PutBucketAcl"))


def _check(call: S3Call) -> None:
    """Raises NoSuchBucket, or NoSuchKey if the call names an object."""
    call.store.buckets.get(call.bucket)
    if call.name.key:
        call.store.objects.head(call.name)


def _full_control(call: S3Call) -> bytes:
    kind = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser"'
    owner = text("ID", call.site.owner_id) + text("DisplayName", call.site.account)
    grant = node("Grant", f"<Grantee {kind}>{owner}</Grantee>", text("Permission", "FULL_CONTROL"))
    return document("AccessControlPolicy", call.site.owner(), node("AccessControlList", grant))
