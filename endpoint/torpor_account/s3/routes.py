"""Finds the operation of a request: a table of S3's operations, and one of those that are refused."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from torpor_account.s3.bucket_names import ObjectAddress
from torpor_account.s3.call import Operation
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.operations import (
    acl_operations,
    bucket_operations,
    completing,
    configurations,
    list_operations,
    object_operations,
    posting,
    read_operations,
)
from torpor_account.s3.operations import upload_operations as uploads
from torpor_account.s3.operations.configurations import CONFIGURATIONS
from torpor_account.s3.wire.http_exchange import S3Request


class Subject(Enum):
    """What a request acts on."""

    SERVICE = auto()
    BUCKET = auto()
    OBJECT = auto()


@dataclass(frozen=True)
class OperationRoute:
    """The request line of an operation. The sub-resource '' is the bucket or object itself; COPY is a PUT with a
    source."""

    place: Subject
    method: str
    resource: str
    operation: Operation


def _service(method: str, resource: str, operation: Operation) -> OperationRoute:
    return OperationRoute(Subject.SERVICE, method, resource, operation)


def _bucket(method: str, resource: str, operation: Operation) -> OperationRoute:
    return OperationRoute(Subject.BUCKET, method, resource, operation)


def _object(method: str, resource: str, operation: Operation) -> OperationRoute:
    return OperationRoute(Subject.OBJECT, method, resource, operation)


def _configured() -> dict[str, OperationRoute]:
    """The operations on the configurations of buckets."""
    found: dict[str, OperationRoute] = {}
    for name, rule in CONFIGURATIONS.items():
        found[f"Get{rule.named}"] = _bucket("GET", name, configurations.get_configuration(name))
        found[f"Put{rule.named}"] = _bucket("PUT", name, configurations.put_configuration(name))
        if rule.deletion:
            found[rule.deletion] = _bucket("DELETE", name, configurations.delete_configuration(name))
    return found


OPERATIONS: Final[Mapping[str, OperationRoute]] = {
    "ListBuckets": _service("GET", "", bucket_operations.list_buckets),
    "CreateBucket": _bucket("PUT", "", bucket_operations.create_bucket),
    "HeadBucket": _bucket("HEAD", "", bucket_operations.head_bucket),
    "DeleteBucket": _bucket("DELETE", "", bucket_operations.delete_bucket),
    "GetBucketLocation": _bucket("GET", "location", bucket_operations.get_bucket_location),
    "GetBucketAcl": _bucket("GET", "acl", acl_operations.get_bucket_acl),
    "PutBucketAcl": _bucket("PUT", "acl", acl_operations.put_bucket_acl),
    "GetBucketPolicyStatus": _bucket("GET", "policyStatus", configurations.get_bucket_policy_status),
    **_configured(),
    "ListObjects": _bucket("GET", "", list_operations.list_objects),
    "ListObjectsV2": _bucket("GET", "list-type", list_operations.list_objects_v2),
    "ListObjectVersions": _bucket("GET", "versions", list_operations.list_object_versions),
    "ListMultipartUploads": _bucket("GET", "uploads", list_operations.list_multipart_uploads),
    "DeleteObjects": _bucket("POST", "delete", bucket_operations.delete_objects),
    "PutObject": _object("PUT", "", object_operations.put_object),
    "GetObject": _object("GET", "", read_operations.get_object),
    "HeadObject": _object("HEAD", "", read_operations.head_object),
    "CopyObject": _object("COPY", "", object_operations.copy_object),
    "DeleteObject": _object("DELETE", "", object_operations.delete_object),
    "GetObjectAttributes": _object("GET", "attributes", object_operations.get_object_attributes),
    "GetObjectAcl": _object("GET", "acl", acl_operations.get_object_acl),
    "PutObjectAcl": _object("PUT", "acl", acl_operations.put_object_acl),
    "GetObjectTagging": _object("GET", "tagging", object_operations.get_object_tagging),
    "PutObjectTagging": _object("PUT", "tagging", object_operations.put_object_tagging),
    "DeleteObjectTagging": _object("DELETE", "tagging", object_operations.delete_object_tagging),
    "CreateMultipartUpload": _object("POST", "uploads", uploads.create_multipart_upload),
    "UploadPart": _object("PUT", "uploadId", uploads.upload_part),
    "UploadPartCopy": _object("COPY", "uploadId", uploads.upload_part_copy),
    "CompleteMultipartUpload": _object("POST", "uploadId", completing.complete_multipart_upload),
    "AbortMultipartUpload": _object("DELETE", "uploadId", uploads.abort_multipart_upload),
    "ListParts": _object("GET", "uploadId", uploads.list_parts),
}

# Only browsers send it: it is no operation of AWS's model.
_FORM: Final = _bucket("POST", "", posting.post_object)

FORM: Final = "PostObject"

_BY_ROUTE: Final = {
    (route.place, route.method, route.resource): (name, route.operation)
    for name, route in {**OPERATIONS, FORM: _FORM}.items()
}

_NO_LOCK: Final = (Refusal.InvalidRequest, "Bucket is missing Object Lock Configuration")
_NOT_HERE: Final = (Refusal.NotImplemented, "This object store does not implement what the request asks for.")

# Sub-resources that S3 has and this store lacks: without this table, DELETE ?analytics would delete the bucket.
REFUSED: Final[Mapping[str, tuple[Refusal, str]]] = {
    "legal-hold": _NO_LOCK,
    "retention": _NO_LOCK,
    **dict.fromkeys(("abac", "analytics", "annotation", "intelligent-tiering", "inventory", "metrics"), _NOT_HERE),
    **dict.fromkeys(("metadataConfiguration", "metadataTable", "metadataAnnotationTable"), _NOT_HERE),
    **dict.fromkeys(("metadataInventoryTable", "metadataJournalTable", "session"), _NOT_HERE),
    **dict.fromkeys(("renameObject", "restore", "select", "torrent"), _NOT_HERE),
}

_NAMES: Final = frozenset(route.resource for route in OPERATIONS.values()) | REFUSED.keys()

# Parameters that may have no value in a query, but are no sub-resources.
_PARAMETERS: Final = frozenset(
    (
        *("prefix", "delimiter", "marker", "key-marker", "version-id-marker", "upload-id-marker", "start-after"),
        *("continuation-token", "encoding-type", "max-keys", "max-uploads", "max-buckets", "bucket-region"),
        *("fetch-owner", "versionId", "partNumber"),
    )
)


def operation(request: S3Request) -> tuple[str, Operation]:
    """The name and the operation. Raises NotImplemented if this store lacks it, MethodNotAllowed if S3 does too."""
    place = _place(request.address)
    method = "COPY" if request.method == "PUT" and "x-amz-copy-source" in request.headers else request.method
    resource = _resource(request, place)
    found = _BY_ROUTE.get((place, method, resource))
    if found is None:
        raise _refusal(place, method, resource)
    return found


def _place(address: ObjectAddress) -> Subject:
    if address.bucket is None:
        return Subject.SERVICE
    return Subject.BUCKET if address.key is None else Subject.OBJECT


def _resource(request: S3Request, place: Subject) -> str:
    """The sub-resource in the query, also an unknown one: otherwise DELETE ?new would delete the whole bucket."""
    known = next((name for name in request.query if name in _NAMES), "")
    if known or (place is Subject.OBJECT and request.method in ("GET", "HEAD")):
        return known
    bare = (name for name, value in request.query.items() if not value and not name.lower().startswith("x-"))
    return next((name for name in bare if name not in _PARAMETERS), "")


def _refusal(place: Subject, method: str, resource: str) -> S3Error:
    if resource in REFUSED:
        return S3Error(*REFUSED[resource], ResourceType=resource)
    if resource and resource not in _NAMES:
        return S3Error(Refusal.NotImplemented, ResourceType=resource)
    return S3Error(Refusal.MethodNotAllowed, Method=method, ResourceType=resource or place.name)
