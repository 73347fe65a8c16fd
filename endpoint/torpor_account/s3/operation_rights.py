"""What each operation of S3 needs: actions, resources and condition keys, and the bucket's own policy.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazons3.html. Without a row, the action has the
operation's name.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Final

from torpor_account.core.access.conditions import BadPolicy
from torpor_account.core.access.needs import NO_KEYS, AccessNeed, AccessRefused, CallerAccess, ConditionKeys
from torpor_account.core.access.policy_statements import AccessPolicy, denying_all, read_policy
from torpor_account.core.access.principals import PrincipalKind
from torpor_account.s3.access.bucket_policies import is_public
from torpor_account.s3.access.public_access import PublicAccess, blocks
from torpor_account.s3.access.request_keys import (
    COPIES,
    CREATIONS,
    keys_of,
    keys_of_bucket,
    keys_of_every,
    keys_of_object,
    keys_of_tags,
    keys_of_version,
)
from torpor_account.s3.bucket_names import copy_source
from torpor_account.s3.call import S3Call
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.object_store import ObjectStore
from torpor_account.s3.storage.entries import ObjectName
from torpor_account.s3.wire.http_exchange import S3Request

_ACTIONS: Final[Mapping[str, str]] = {
    "ListBuckets": "ListAllMyBuckets",
    "HeadBucket": "ListBucket",
    "ListObjects": "ListBucket",
    "ListObjectsV2": "ListBucket",
    "ListObjectVersions": "ListBucketVersions",
    "ListMultipartUploads": "ListBucketMultipartUploads",
    "ListParts": "ListMultipartUploadParts",
    "HeadObject": "GetObject",
    **dict.fromkeys(CREATIONS, "PutObject"),
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
    "GetObjectAttributes": "GetObjectVersionAttributes",
    "DeleteObject": "DeleteObjectVersion",
    "GetObjectAcl": "GetObjectVersionAcl",
    "PutObjectAcl": "PutObjectVersionAcl",
    "GetObjectTagging": "GetObjectVersionTagging",
    "PutObjectTagging": "PutObjectVersionTagging",
    "DeleteObjectTagging": "DeleteObjectVersionTagging",
}
"""The action where the request names a version. An object here has one, so the other action says as much about it."""

_FURTHER: Final[Mapping[str, Mapping[str, str]]] = {
    "PutObject": {"x-amz-tagging": "PutObjectTagging", "x-amz-acl": "PutObjectAcl", "x-amz-grant-": "PutObjectAcl"},
    "CreateBucket": {
        "x-amz-acl": "PutBucketAcl",
        "x-amz-grant-": "PutBucketAcl",
        "x-amz-object-ownership": "PutBucketOwnershipControls",
    },
}
"""The actions that a request needs as well, by its own action and the beginning of a header."""

IN_BODIES: Final = ("CreateBucket", "DeleteObjects", "PutObjectTagging")
"""The operations whose bodies say what they need. They ask when they have read them."""

POLICY_IDS: Final = "policy-ids"
"""The configuration that has the unique ids of the users and roles that a bucket's policy names, by ARN."""

_READS: Final = ("GetObject", "HeadObject", "GetObjectAttributes")


def check_access(access: CallerAccess, operation: str, request: S3Request, store: ObjectStore) -> None:
    """Raises AccessDenied if the caller may not do what the request asks for. It reads the policies of buckets."""
    _check(access, _needs(operation, request, access, store), store)


def check_deletion(call: S3Call, key: str, version: str | None, etag: str | None) -> None:
    """Raises AccessDenied if the caller may not delete the object of this key, which the body of a request names."""
    request, store = call.request, call.store
    if request.access is not None:
        keys = {**keys_of("DeleteObjects", request, request.access.now_s), **keys_of_version(version)}
        keys |= {} if etag is None else {"s3:if-match": (etag,)}
        need = AccessNeed(_actions("DeleteObject", version), _arn(call.bucket, key), keys)
        _check(request.access, [(call.bucket, need)], store)


def check_creation(call: S3Call, region: str | None, tags: Iterable[tuple[str, str]]) -> None:
    """Raises AccessDenied if the caller may not make a bucket with this region and these tags, which a body names."""
    request, store = call.request, call.store
    if request.access is not None:
        needs = _needs("CreateBucket", request, request.access, store, keys_of_bucket(region, tags))
        _check(request.access, needs, store)


def check_tagging(call: S3Call, tags: Mapping[str, str]) -> None:
    """Raises AccessDenied if the caller may not give these tags, which the body of a request names, to its object."""
    request, store = call.request, call.store
    if request.access is not None:
        needs = _needs("PutObjectTagging", request, request.access, store, keys_of_tags(tags))
        _check(request.access, needs, store)


def check_missing(access: CallerAccess, operation: str, request: S3Request, store: ObjectStore) -> None:
    """Raises AccessDenied if the caller may not know that the object is not there.

    AWS: without `s3:ListBucket` the answer is "an HTTP status code 403 (Access Denied) error", and not a 404.
    """
    bucket = request.address.bucket
    if operation in COPIES:
        bucket = copy_source(request.headers["x-amz-copy-source"]).bucket
    elif operation not in _READS:
        return
    need = AccessNeed(("s3:ListBucket",), _arn(bucket), keys_of("HeadBucket", request, access.now_s))
    _check(access, [(bucket, need)], store)


def tags_of_object(store: ObjectStore, bucket: str | None, key: str | None) -> Mapping[str, str]:
    """The tags of an object; none of one that is not there."""
    try:
        return store.objects.head(ObjectName(bucket or "", key or "")).traits.tags
    except (S3Error, OSError):
        return {}


def _check(access: CallerAccess, needs: Iterable[tuple[str | None, AccessNeed]], store: ObjectStore) -> None:
    for bucket, need in needs:
        policy = None if bucket is None else _policy_for(access, bucket, store)
        try:
            access.check((need,), policy)
        except AccessRefused as refused:  # the door notes it
            raise S3Error(Refusal.AccessDenied, refused.message) from None


def _policy_for(access: CallerAccess, bucket: str, store: ObjectStore) -> AccessPolicy | None:
    """The policy of a bucket, unless the caller is nobody and the bucket keeps the public out."""
    policy = bucket_policy(store, bucket)
    if policy is None or access.principal.kind is not PrincipalKind.ANONYMOUS or not is_public(policy):
        return policy
    return None if blocks(store.buckets, bucket, PublicAccess.ANONYMOUS) else policy


def bucket_policy(store: ObjectStore, bucket: str) -> AccessPolicy | None:
    """The policy of a bucket. One that cannot be read denies everything: it may hold a Deny."""
    document = store.buckets.configuration(bucket, "policy")
    if document is None:
        return None
    return _read(bucket, document, store.buckets.configuration(bucket, POLICY_IDS) or b"{}")


@lru_cache(maxsize=64)
def _read(bucket: str, document: bytes, ids: bytes) -> AccessPolicy:
    """Keeps the policies that were read last: a request may ask them for each of a thousand keys."""
    name = f"the policy of bucket {bucket}"
    try:
        return read_policy(document.decode(), name, kind="resource", ids=json.loads(ids))
    except (BadPolicy, UnicodeDecodeError):
        return denying_all(name)


def _needs(
    operation: str, request: S3Request, access: CallerAccess, store: ObjectStore, more: ConditionKeys = NO_KEYS
) -> Iterator[tuple[str | None, AccessNeed]]:
    """What the request needs, each with the bucket whose policy has a say. `more` are condition keys of its body."""
    bucket, key, version = request.address.bucket, request.address.key, request.query.get("versionId")
    action = _ACTIONS.get(operation, operation)
    keys = {**keys_of(operation, request, access.now_s), **more}
    if bucket is None:
        yield None, AccessNeed((f"s3:{action}",), "*", keys)
        return
    read_tags = partial(tags_of_object, store, bucket, key)

    def need(action: str) -> AccessNeed:
        of_version = keys_of_version(version) if action in _OF_VERSIONS else NO_KEYS
        known = keys_of_object(action, {**keys, **of_version}, read_tags)
        return AccessNeed(_actions(action, version), _arn(bucket, key), known)

    yield bucket, need(action)
    if operation == "GetObjectAttributes":
        yield bucket, need("GetObject")
    for beginning, further in _FURTHER.get(action, {}).items():
        if any(header.startswith(beginning) for header in request.headers):
            yield bucket, need(further)
    if operation in COPIES:
        yield _source(request, keys_of_every(operation, request, access.now_s), store)


def _source(request: S3Request, keys: ConditionKeys, store: ObjectStore) -> tuple[str | None, AccessNeed]:
    """The reading of a copy's source."""
    given = request.headers["x-amz-copy-source"]
    source, version = copy_source(given), given.partition("?versionId=")[2]
    known = keys_of_object(
        "GetObject", {**keys, **keys_of_version(version)}, partial(tags_of_object, store, source.bucket, source.key)
    )
    return source.bucket, AccessNeed(_actions("GetObject", version), _arn(source.bucket, source.key), known)


def _arn(bucket: str | None, key: str | None = None) -> str:
    return f"arn:aws:s3:::{bucket}" if key is None else f"arn:aws:s3:::{bucket}/{key}"


def _actions(action: str, version: str | None) -> tuple[str, ...]:
    of_version = _OF_VERSIONS.get(action) if version else None
    return (f"s3:{action}",) if of_version is None else (f"s3:{of_version}", f"s3:{action}")
