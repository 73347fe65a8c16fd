"""What each operation of S3 needs, by S3's service authorization reference."""

from types import SimpleNamespace
from typing import Any

import pytest

from torpor_account.core.access.needs import AccessNeed, AccessPlace, CallerAccess
from torpor_account.core.access.principals import Principal, PrincipalKind
from torpor_account.s3.bucket_names import ObjectAddress
from torpor_account.s3.operation_rights import _needs
from torpor_account.s3.routes import OPERATIONS
from torpor_account.s3.wire.http_exchange import S3Request

OBJECT = "arn:aws:s3:::models/a/m.tar.gz"


class Untagged:
    """A store without objects."""

    objects = SimpleNamespace(head=lambda name: SimpleNamespace(traits=SimpleNamespace(tags={})))


CALLER = CallerAccess(Principal(PrincipalKind.USER, "123456789012"), AccessPlace("123456789012", "us-east-1"))


def full_needs(
    operation: str, *, key: str | None = "a/m.tar.gz", query: Any = (), headers: Any = ()
) -> list[tuple[str | None, AccessNeed]]:
    address = ObjectAddress(None if operation == "ListBuckets" else "models", key)
    request = S3Request("GET", "", address, dict(query), dict(headers), body=None)  # type: ignore[arg-type]
    return list(_needs(operation, request, CALLER, Untagged()))  # type: ignore[arg-type]


def needs(operation: str, **more: Any) -> list[tuple[Any, ...]]:
    return [(bucket, need.actions, need.resource) for bucket, need in full_needs(operation, **more)]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_needs_something(operation: str) -> None:
    found = needs(operation, headers={"x-amz-copy-source": "/other/k"})
    assert found
    assert all(action.startswith("s3:") for _, actions, _ in found for action in actions)


@pytest.mark.parametrize(
    ("operation", "actions"),
    [
        ("HeadObject", ("s3:GetObject",)),
        ("UploadPart", ("s3:PutObject",)),
        ("CompleteMultipartUpload", ("s3:PutObject",)),
        ("AbortMultipartUpload", ("s3:AbortMultipartUpload",)),
        ("ListParts", ("s3:ListMultipartUploadParts",)),
    ],
)
def test_actions_of_objects(operation: str, actions: tuple[str, ...]) -> None:
    assert needs(operation) == [("models", actions, OBJECT)]


@pytest.mark.parametrize(
    ("operation", "action"),
    [
        ("HeadBucket", "s3:ListBucket"),
        ("ListObjectsV2", "s3:ListBucket"),
        ("ListObjectVersions", "s3:ListBucketVersions"),
        ("DeleteBucketCors", "s3:PutBucketCORS"),
        ("GetBucketEncryption", "s3:GetEncryptionConfiguration"),
        ("PutBucketPolicy", "s3:PutBucketPolicy"),
    ],
)
def test_actions_of_buckets(operation: str, action: str) -> None:
    assert needs(operation, key=None) == [("models", (action,), "arn:aws:s3:::models")]


def test_the_list_of_buckets_is_of_no_bucket() -> None:
    assert needs("ListBuckets", key=None) == [(None, ("s3:ListAllMyBuckets",), "*")]


def test_a_copy_reads_its_source_by_the_policy_of_that_bucket() -> None:
    found = needs("CopyObject", headers={"x-amz-copy-source": "/other/secret%2Fk?versionId=null"})
    assert found[0] == ("models", ("s3:PutObject",), OBJECT)
    assert found[1] == ("other", ("s3:GetObjectVersion", "s3:GetObject"), "arn:aws:s3:::other/secret/k")


def test_tags_and_lists_of_rights_need_rights_of_their_own() -> None:
    found = needs("PutObject", headers={"x-amz-tagging": "a=b", "x-amz-acl": "private"})
    assert [actions for _, actions, _ in found] == [("s3:PutObject",), ("s3:PutObjectTagging",), ("s3:PutObjectAcl",)]


def test_a_version_can_be_denied_by_either_action() -> None:
    assert needs("GetObject", query={"versionId": "null"})[0][1] == ("s3:GetObjectVersion", "s3:GetObject")


def test_attributes_need_both_rights_of_reading() -> None:
    assert [actions for _, actions, _ in needs("GetObjectAttributes")] == [
        ("s3:GetObjectAttributes",),
        ("s3:GetObject",),
    ]


@pytest.mark.parametrize(
    ("operation", "header", "further"),
    [
        ("PutObject", "x-amz-grant-read", "s3:PutObjectAcl"),
        ("CreateMultipartUpload", "x-amz-grant-full-control", "s3:PutObjectAcl"),
        ("CreateBucket", "x-amz-acl", "s3:PutBucketAcl"),
        ("CreateBucket", "x-amz-object-ownership", "s3:PutBucketOwnershipControls"),
    ],
)
def test_a_header_that_lets_others_in_needs_a_right_of_its_own(operation: str, header: str, further: str) -> None:
    assert needs(operation, headers={header: "x"})[1][1] == (further,)
