"""What each operation of S3 needs: actions, resources and condition keys, and the bucket's own policy.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazons3.html. Without a row, the action has the
operation's name.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from torpor_endpoint.core.access.conditions import BadPolicy
from torpor_endpoint.core.access.needs import AccessNeed, AccessRefused, CallerAccess, ConditionKeys
from torpor_endpoint.core.access.policies import AccessPolicy, denying_all, read_policy
from torpor_endpoint.services.s3.errors import Refusal, S3Error
from torpor_endpoint.services.s3.names import copy_source
from torpor_endpoint.services.s3.store import ObjectStore
from torpor_endpoint.services.s3.wire.exchange import S3Request

_ACTIONS: Final[Mapping[str, str]] = {
    "ListBuckets": "ListAllMyBuckets",
    "HeadBucket": "ListBucket",
    "ListObjects": "ListBucket",
    "ListObjectsV2": "ListBucket",
    "ListObjectVersions": "ListBucketVersions",
    "ListMultipartUploads": "ListBucketMultipartUploads",
    "ListParts": "ListMultipartUploadParts",
    "DeleteObjects": "DeleteObject",
    "HeadObject": "GetObject",
    "GetObjectAttributes": "GetObject",
    "CopyObject": "PutObject",
    "CreateMultipartUpload": "PutObject",
    "UploadPart": "PutObject",
    "UploadPartCopy": "PutObject",
    "CompleteMultipartUpload": "PutObject",
    "PostObject": "PutObject",
    "GetBucketAccelerateConfiguration": "GetAccelerateConfiguration",
    "PutBucketAccelerateConfiguration": "PutAccelerateConfiguration",
    "GetBucketEncryption": "GetEncryptionConfiguration",
    "PutBucketEncryption": "PutEncryptionConfiguration",
    "DeleteBucketEncryption": "PutEncryptionConfiguration",
    "GetBucketLifecycleConfiguration": "GetLifecycleConfiguration",
    "PutBucketLifecycleConfiguration": "PutLifecycleConfiguration",
    "DeleteBucketLifecycle": "PutLifecycleConfiguration",
    "GetBucketNotificationConfiguration": "GetBucketNotification",
    "PutBucketNotificationConfiguration": "PutBucketNotification",
    "GetBucketReplication": "GetReplicationConfiguration",
    "PutBucketReplication": "PutReplicationConfiguration",
    "DeleteBucketReplication": "PutReplicationConfiguration",
    "GetObjectLockConfiguration": "GetBucketObjectLockConfiguration",
    "PutObjectLockConfiguration": "PutBucketObjectLockConfiguration",
    "GetPublicAccessBlock": "GetBucketPublicAccessBlock",
    "PutPublicAccessBlock": "PutBucketPublicAccessBlock",
    "DeletePublicAccessBlock": "PutBucketPublicAccessBlock",
    "GetBucketCors": "GetBucketCORS",
    "PutBucketCors": "PutBucketCORS",
    "DeleteBucketCors": "PutBucketCORS",
    "DeleteBucketOwnershipControls": "PutBucketOwnershipControls",
    "DeleteBucketTagging": "PutBucketTagging",
}

_OF_VERSIONS: Final[Mapping[str, str]] = {
    "GetObject": "GetObjectVersion",
    "DeleteObject": "DeleteObjectVersion",
    "GetObjectAcl": "GetObjectVersionAcl",
    "PutObjectAcl": "PutObjectVersionAcl",
    "GetObjectTagging": "GetObjectVersionTagging",
    "PutObjectTagging": "PutObjectVersionTagging",
    "DeleteObjectTagging": "DeleteObjectVersionTagging",
}
"""The action where the request names a version. An object here has one, so the other action says as much about it."""

_QUERY_KEYS: Final = ("prefix", "delimiter", "max-keys")
_HEADER_KEYS: Final = (
    *("x-amz-acl", "x-amz-copy-source", "x-amz-metadata-directive", "x-amz-storage-class"),
    *("x-amz-server-side-encryption", "x-amz-server-side-encryption-aws-kms-key-id"),
)

ANY_OBJECT: Final = None
"""DeleteObjects names its objects in its body: a caller must be allowed to delete any, and no Deny may forbid one."""


def check_access(access: CallerAccess, operation: str, request: S3Request, store: ObjectStore) -> None:
    """Raises AccessDenied if the caller may not do what the request asks for. It reads the policies of buckets."""
    for bucket, need in _needs(operation, request):
        policy = None if bucket is None else bucket_policy(store, bucket)
        try:
            access.check((need,), policy)
        except AccessRefused as refused:  # the door notes it
            raise S3Error(Refusal.AccessDenied, refused.message) from None


def bucket_policy(store: ObjectStore, bucket: str) -> AccessPolicy | None:
    """The policy of a bucket. One that cannot be read denies everything: it may hold a Deny."""
    document = store.buckets.configuration(bucket, "policy")
    if document is None:
        return None
    name = f"the policy of bucket {bucket}"
    try:
        return read_policy(document.decode(), name, kind="resource")
    except (BadPolicy, UnicodeDecodeError):
        return denying_all(name)


def _needs(operation: str, request: S3Request) -> Iterator[tuple[str | None, AccessNeed]]:
    """What the request needs, each with the bucket whose policy has a say."""
    bucket, key = request.address.bucket, request.address.key
    action, keys = _ACTIONS.get(operation, operation), _keys(request)
    if bucket is None:
        yield None, AccessNeed((f"s3:{action}",), "*", keys)
        return
    actions = _actions(action, request.query.get("versionId"))
    arn = f"arn:aws:s3:::{bucket}" if key is None else f"arn:aws:s3:::{bucket}/{key}"
    resource = ANY_OBJECT if operation == "DeleteObjects" else arn
    yield bucket, AccessNeed(actions, resource, keys)
    if action == "PutObject":
        for header, further in (("x-amz-tagging", "PutObjectTagging"), ("x-amz-acl", "PutObjectAcl")):
            if header in request.headers:
                yield bucket, AccessNeed((f"s3:{further}",), arn, keys)
    if operation in ("CopyObject", "UploadPartCopy"):
        given = request.headers["x-amz-copy-source"]
        source = copy_source(given)
        reads = _actions("GetObject", given.partition("?versionId=")[2])
        yield source.bucket, AccessNeed(reads, f"arn:aws:s3:::{source.bucket}/{source.key}")


def _actions(action: str, version: str | None) -> tuple[str, ...]:
    of_version = _OF_VERSIONS.get(action) if version else None
    return (f"s3:{action}",) if of_version is None else (f"s3:{of_version}", f"s3:{action}")


def _keys(request: S3Request) -> ConditionKeys:
    found = {f"s3:{name}": request.query[name] for name in _QUERY_KEYS if name in request.query}
    found |= {f"s3:{name}": request.headers[name] for name in _HEADER_KEYS if name in request.headers}
    if request.query.get("versionId"):
        found["s3:versionid"] = request.query["versionId"]
    return {name: (value,) for name, value in found.items()}
