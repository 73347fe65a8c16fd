"""The tables of S3's operations: each is served under its own name, or refused at once."""

import urllib.error
import urllib.request
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.loaders import Loader
from botocore.model import ServiceModel

from tests.account.helpers.s3_server import Server
from torpor_account.s3.bucket_names import ObjectAddress
from torpor_account.s3.differences import DIFFERENCES
from torpor_account.s3.errors import S3Error
from torpor_account.s3.routes import OPERATIONS, operation
from torpor_account.s3.wire.http_exchange import S3Request

# A client of S3 takes the bucket out of the paths of the model that its session has, and sessions share one here.
S3 = ServiceModel(Loader().load_service_model("s3", "service-2"), "s3")
OLD_NAMES = {
    "GetBucketLifecycle": "GetBucketLifecycleConfiguration",
    "PutBucketLifecycle": "PutBucketLifecycleConfiguration",
    "GetBucketNotification": "GetBucketNotificationConfiguration",
    "PutBucketNotification": "PutBucketNotificationConfiguration",
    "ListDirectoryBuckets": "ListBuckets",
}


def asked(name: str) -> S3Request:
    """The least that botocore's own model says of a request for the operation."""
    model = S3.operation_model(name)
    path, _, literal = model.http["requestUri"].partition("?")
    query = dict(part.partition("=")[::2] for part in literal.split("&") if part)
    headers: dict[str, str] = {}
    shape = model.input_shape
    for member in shape.required_members if shape else ():
        where = shape.members[member].serialization
        if where.get("location") == "querystring":
            query[where["name"]] = "1"
        elif where.get("location") == "header":
            headers[where["name"].lower()] = "x"
    address = ObjectAddress("bucket" if "Bucket" in path else None, "key" if "Key" in path else None)
    return S3Request(model.http["method"], "", address, query, headers, body=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", S3.operation_names)
def test_each_operation_of_s3_is_answered_by_its_own_function_or_refused(name: str) -> None:
    ours = OPERATIONS.get(OLD_NAMES.get(name, name))
    if ours is not None:
        assert operation(asked(name)) == (OLD_NAMES.get(name, name), ours.operation)
        return
    with pytest.raises(S3Error) as refused:
        operation(asked(name))
    assert 400 <= refused.value.status < 500


def test_every_operation_that_is_claimed_exists() -> None:
    assert set(OPERATIONS) <= set(S3.operation_names)
    assert set(DIFFERENCES) <= set(OPERATIONS)


@pytest.mark.parametrize("resource", ["analytics", "metrics&id=x", "a-new-one", "versioning"])
def test_a_delete_of_an_unknown_subresource_deletes_no_bucket(
    server: Server, s3: Any, bucket: str, resource: str
) -> None:
    request = urllib.request.Request(f"{server.url}/{bucket}?{resource}", method="DELETE")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    with refused.value as answer:
        assert 400 <= answer.code < 500
        assert b"NotImplemented" in (body := answer.read()) or b"MethodNotAllowed" in body
    assert s3.head_bucket(Bucket=bucket)


@pytest.mark.parametrize("name", ["get_object_retention", "get_object_legal_hold"])
def test_without_object_lock_there_is_nothing_to_hold(s3: Any, bucket: str, name: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"")
    with pytest.raises(ClientError, match="missing Object Lock Configuration"):
        getattr(s3, name)(Bucket=bucket, Key="k")
