"""Which operation a request asks for: a table of method and sub-resource for the service, buckets and objects."""

from collections.abc import Mapping
from typing import Final

from torpor_endpoint.s3 import (
    acl_operations,
    bucket_operations,
    configurations,
    list_operations,
    object_operations,
    reading,
)
from torpor_endpoint.s3 import upload_operations as uploads
from torpor_endpoint.s3.call import Operation
from torpor_endpoint.s3.configurations import CONFIGURATIONS
from torpor_endpoint.s3.errors import Refusal, S3Error
from torpor_endpoint.s3.exchange import Request

Routes = Mapping[tuple[str, str], Operation]
"""(method, sub-resource) to operation; the sub-resource '' is the bucket or object itself."""

SERVICE: Final[Routes] = {("GET", ""): bucket_operations.list_buckets}

BUCKET: Final[Routes] = {
    ("GET", ""): list_operations.list_objects,
    ("GET", "acl"): acl_operations.get_bucket_acl,
    ("GET", "list-type"): list_operations.list_objects_v2,
    ("GET", "location"): bucket_operations.get_bucket_location,
    ("GET", "policyStatus"): configurations.get_bucket_policy_status,
    ("GET", "uploads"): list_operations.list_multipart_uploads,
    ("GET", "versions"): list_operations.list_object_versions,
    ("HEAD", ""): bucket_operations.head_bucket,
    ("PUT", ""): bucket_operations.create_bucket,
    ("PUT", "acl"): acl_operations.put_bucket_acl,
    ("POST", "delete"): bucket_operations.delete_objects,
    ("DELETE", ""): bucket_operations.delete_bucket,
    **{("GET", name): configurations.get_configuration(name) for name in CONFIGURATIONS},
    **{("PUT", name): configurations.put_configuration(name) for name in CONFIGURATIONS},
    **{("DELETE", name): configurations.delete_configuration(name) for name in CONFIGURATIONS},
}

# COPY stands for a PUT that names a source.
OBJECT: Final[Routes] = {
    ("GET", ""): reading.get_object,
    ("GET", "acl"): acl_operations.get_object_acl,
    ("GET", "attributes"): object_operations.get_object_attributes,
    ("GET", "tagging"): object_operations.get_object_tagging,
    ("GET", "uploadId"): uploads.list_parts,
    ("HEAD", ""): reading.head_object,
    ("PUT", ""): object_operations.put_object,
    ("PUT", "acl"): acl_operations.put_object_acl,
    ("PUT", "tagging"): object_operations.put_object_tagging,
    ("PUT", "uploadId"): uploads.upload_part,
    ("COPY", ""): object_operations.copy_object,
    ("COPY", "uploadId"): uploads.upload_part_copy,
    ("POST", "uploads"): uploads.create_multipart_upload,
    ("POST", "uploadId"): uploads.complete_multipart_upload,
    ("DELETE", ""): object_operations.delete_object,
    ("DELETE", "tagging"): object_operations.delete_object_tagging,
    ("DELETE", "uploadId"): uploads.abort_multipart_upload,
}

# Sub-resources that S3 has and this store has not: without this list, DELETE ?analytics would delete the bucket.
UNSUPPORTED: Final = frozenset(
    (
        *("abac", "analytics", "annotation", "intelligent-tiering", "inventory", "metadataConfiguration"),
        *("metadataInventoryTable", "metadataJournalTable", "metadataTable", "metrics", "session"),
        *("legal-hold", "renameObject", "restore", "retention", "select", "torrent"),
    )
)


_NAMES: Final = frozenset(name for _, name in BUCKET.keys() | OBJECT.keys()) | UNSUPPORTED


def operation(request: Request) -> Operation:
    """Raises NotImplemented for what S3 has and this store has not, MethodNotAllowed for what S3 has not either."""
    routes = SERVICE if request.address.bucket is None else BUCKET if request.address.key is None else OBJECT
    named = next((name for name in request.query if name in _NAMES), "")
    method = "COPY" if request.method == "PUT" and "x-amz-copy-source" in request.headers else request.method
    found = routes.get((method, named))
    if found is None:
        raise S3Error(Refusal.NotImplemented if named else Refusal.MethodNotAllowed, Method=request.method)
    return found
