"""S3's operations that list objects, in three forms, and uploads. Each answer is one page."""

import asyncio
from base64 import b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from torpor_account.s3.call import S3Call, moment, xml
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.storage.entries import ObjectEntry
from torpor_account.s3.storage.key_pages import PAGE_MAX, KeyPage, KeyQuery
from torpor_account.s3.storage.uploads import Upload
from torpor_account.s3.wire.http_exchange import S3Answer
from torpor_account.s3.wire.xml_elements import document, flag, node, text


@dataclass(frozen=True)
class _ListRequest:
    """What every listing takes: prefix, delimiter and limit, and how the answer writes names."""

    query: KeyQuery
    written: Callable[[str], str]

    def echo(self, call: S3Call, *names: str) -> list[str]:
        """The given parameters, which the answer repeats."""
        given = {"Delimiter": "delimiter", "StartAfter": "start-after", "KeyMarker": "key-marker"}
        return [text(name, self.written(call.query[given[name]])) for name in names if call.query.get(given[name])]

    def prefixes(self, page: KeyPage[ObjectEntry] | KeyPage[Upload]) -> list[str]:
        return [node("CommonPrefixes", text("Prefix", self.written(prefix))) for prefix in page.prefixes]


async def list_objects(call: S3Call) -> S3Answer:
    request = _list_request(call, call.query.get("marker", ""), "max-keys")
    page = await asyncio.to_thread(_page, call, request.query)
    # AWS: "This element is returned only if you have the delimiter request parameter specified."
    following = page.truncated and bool(request.query.delimiter)
    return xml(
        document(
            "ListBucketResult",
            *_opening(call, request, page, "max-keys"),
            text("Marker", request.written(call.query.get("marker", ""))),
            text("NextMarker", request.written(page.last) if following else None),
            *(_contents(entry, request, call.site.owner()) for entry in page.items),
            *request.prefixes(page),
        )
    )


async def list_objects_v2(call: S3Call) -> S3Answer:
    token = call.query.get("continuation-token")
    after = call.query.get("start-after", "") if token is None else _token_read(token)
    request = _list_request(call, after, "max-keys")
    page = await asyncio.to_thread(_page, call, request.query)
    owner = call.site.owner() if call.query.get("fetch-owner") == "true" else ""
    return xml(
        document(
            "ListBucketResult",
            *_opening(call, request, page, "max-keys"),
            text("KeyCount", len(page.items) + len(page.prefixes)),
            text("ContinuationToken", token),
            text("NextContinuationToken", _token(page.last) if page.truncated else None),
            *request.echo(call, "StartAfter"),
            *(_contents(entry, request, owner) for entry in page.items),
            *request.prefixes(page),
        )
    )


async def list_object_versions(call: S3Call) -> S3Answer:
    """List the objects. Without versioning each object is its own latest version, with the id "null"."""
    request = _list_request(call, call.query.get("key-marker", ""), "max-keys")
    page = await asyncio.to_thread(_page, call, request.query)
    version = text("VersionId", "null") + flag("IsLatest", True) + call.site.owner()
    return xml(
        document(
            "ListVersionsResult",
            *_opening(call, request, page, "max-keys"),
            text("KeyMarker", request.written(call.query.get("key-marker", ""))),
            text("VersionIdMarker", ""),
            text("NextKeyMarker", request.written(page.last) if page.truncated else None),
            text("NextVersionIdMarker", "null" if page.truncated else None),
            *(_contents(entry, request, version, "Version") for entry in page.items),
            *request.prefixes(page),
        )
    )


async def list_multipart_uploads(call: S3Call) -> S3Answer:
    """AWS: "If key-marker is not specified, the upload-id-marker parameter is ignored"."""
    after = call.query.get("key-marker", "")
    after_id = call.query.get("upload-id-marker", "") if after else ""
    request = _list_request(call, after, "max-uploads")

    def page_of_uploads() -> KeyPage[Upload]:
        call.store.buckets.get(call.bucket)
        return call.store.uploads.page(call.bucket, request.query, after_id)

    page = await asyncio.to_thread(page_of_uploads)
    last = page.items[-1].id if page.items and page.items[-1].key == page.last else None
    return xml(
        document(
            "ListMultipartUploadsResult",
            text("Bucket", call.bucket),
            text("KeyMarker", request.written(after)),
            text("UploadIdMarker", after_id),
            text("NextKeyMarker", request.written(page.last) if page.truncated else None),
            text("NextUploadIdMarker", last if page.truncated else None),
            text("Prefix", request.written(request.query.prefix)),
            *request.echo(call, "Delimiter"),
            text("MaxUploads", request.query.limit),
            text("EncodingType", call.query.get("encoding-type") or None),
            flag("IsTruncated", page.truncated),
            *(_upload(upload, request, call) for upload in page.items),
            *request.prefixes(page),
        )
    )


def _list_request(call: S3Call, after: str, limit: str) -> _ListRequest:
    encoding = call.query.get("encoding-type")
    if encoding not in (None, "", "url"):
        raise S3Error(Refusal.InvalidArgument, "Invalid Encoding Method specified in Request")
    query = KeyQuery(
        prefix=call.query.get("prefix", ""),
        delimiter=call.query.get("delimiter", ""),
        after=after,
        limit=call.count(limit, PAGE_MAX, PAGE_MAX),
    )
    return _ListRequest(query, quote if encoding == "url" else str)


def _page(call: S3Call, query: KeyQuery) -> KeyPage[ObjectEntry]:
    call.store.buckets.get(call.bucket)
    return call.store.listing.page(call.bucket, query)


def _opening(call: S3Call, request: _ListRequest, page: KeyPage[ObjectEntry], limit: str) -> list[str]:
    return [
        text("Name", call.bucket),
        text("Prefix", request.written(request.query.prefix)),
        *request.echo(call, "Delimiter"),
        text("MaxKeys", request.query.limit),
        text("EncodingType", call.query.get("encoding-type") or None),
        flag("IsTruncated", page.truncated),
    ]


def _contents(entry: ObjectEntry, request: _ListRequest, more: str, element: str = "Contents") -> str:
    """One object of the listing. A page has a thousand, so this is one formatted string."""
    return (
        f"<{element}>{text('Key', request.written(entry.key))}<LastModified>{moment(entry.modified_s)}</LastModified>"
        f"<ETag>&quot;{entry.etag}&quot;</ETag><Size>{entry.size_bytes}</Size>"
        f"<StorageClass>{entry.traits.storage_class}</StorageClass>{_checksum(entry)}{more}</{element}>"
    )


def _checksum(entry: ObjectEntry) -> str:
    checksum = entry.traits.checksum
    if checksum is None:
        return ""
    return f"<ChecksumAlgorithm>{checksum.algorithm}</ChecksumAlgorithm><ChecksumType>{checksum.kind}</ChecksumType>"


def _upload(upload: Upload, request: _ListRequest, call: S3Call) -> str:
    return node(
        "Upload",
        text("Key", request.written(upload.key)),
        text("UploadId", upload.id),
        call.site.owner("Initiator"),
        call.site.owner(),
        text("StorageClass", upload.traits.storage_class),
        text("Initiated", moment(upload.started_s)),
        text("ChecksumAlgorithm", upload.algorithm),
        text("ChecksumType", upload.kind),
    )


def _token(last: str) -> str:
    return urlsafe_b64encode(last.encode()).decode()


def _token_read(token: str) -> str:
    try:
        last = b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except (NotBase64, ValueError):
        last = ""
    if not last:
        raise S3Error(Refusal.InvalidArgument, "The continuation token provided is incorrect")
    return last
