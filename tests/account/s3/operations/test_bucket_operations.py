"""Buckets and their configurations."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.session import Session as BotoSession

from tests.account.helpers.s3_server import Server, client
from torpor_account.s3.bucket_names import legal_constraint

RULE = {"ID": "r", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 1}}
ENCRYPTION = {"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]}
BLOCKED = {"BlockPublicAcls": True, "IgnorePublicAcls": True, "BlockPublicPolicy": True, "RestrictPublicBuckets": True}

# the operation's name, its parameter, a value, and whether S3 lets it be deleted
CONFIGURED = [
    ("cors", "CORSConfiguration", {"CORSRules": [{"AllowedMethods": ["GET"], "AllowedOrigins": ["*"]}]}, True),
    ("tagging", "Tagging", {"TagSet": [{"Key": "a", "Value": "1"}]}, True),
    ("versioning", "VersioningConfiguration", {"Status": "Suspended"}, False),
    ("encryption", "ServerSideEncryptionConfiguration", ENCRYPTION, True),
    ("website", "WebsiteConfiguration", {"IndexDocument": {"Suffix": "index.html"}}, True),
    ("request_payment", "RequestPaymentConfiguration", {"Payer": "Requester"}, False),
    ("accelerate_configuration", "AccelerateConfiguration", {"Status": "Enabled"}, False),
    ("lifecycle_configuration", "LifecycleConfiguration", {"Rules": [RULE]}, False),
]

UNCONFIGURED = {
    "get_bucket_policy": "NoSuchBucketPolicy",
    "get_bucket_cors": "NoSuchCORSConfiguration",
    "get_bucket_website": "NoSuchWebsiteConfiguration",
    "get_bucket_lifecycle_configuration": "NoSuchLifecycleConfiguration",
    "get_bucket_replication": "ReplicationConfigurationNotFoundError",
    "get_bucket_tagging": "NoSuchTagSet",
    "get_bucket_encryption": "ServerSideEncryptionConfigurationNotFoundError",
    "get_bucket_ownership_controls": "OwnershipControlsNotFoundError",
    "get_public_access_block": "NoSuchPublicAccessBlockConfiguration",
    "get_object_lock_configuration": "ObjectLockConfigurationNotFoundError",
    "get_bucket_policy_status": "NoSuchBucketPolicy",
}


def code(error: pytest.ExceptionInfo[ClientError]) -> str:
    text: str = error.value.response["Error"]["Code"]
    return text


def test_a_bucket_is_listed_with_its_time_and_its_region(s3: Any, bucket: str) -> None:
    found = next(one for one in s3.list_buckets()["Buckets"] if one["Name"] == bucket)
    assert found["BucketRegion"] == "us-east-1"
    assert s3.head_bucket(Bucket=bucket)["BucketRegion"] == "us-east-1"


def test_buckets_come_in_pages(s3: Any) -> None:
    for number in range(3):
        s3.create_bucket(Bucket=f"paged-{number}")
    first = s3.list_buckets(Prefix="paged-", MaxBuckets=2)
    rest = s3.list_buckets(Prefix="paged-", MaxBuckets=2, ContinuationToken=first["ContinuationToken"])
    names = [bucket["Name"] for page in (first, rest) for bucket in page["Buckets"]]
    assert names == ["paged-0", "paged-1", "paged-2"]
    assert "ContinuationToken" not in rest


def test_a_bucket_of_another_region_keeps_it(server: Server) -> None:
    west = client(server.url)
    west.create_bucket(Bucket="in-the-west", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    assert west.get_bucket_location(Bucket="in-the-west")["LocationConstraint"] == "us-west-2"
    with pytest.raises(ClientError) as refused:
        west.create_bucket(Bucket="in-the-west", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    assert code(refused) == "BucketAlreadyOwnedByYou"


def test_buckets_are_listed_by_region(server: Server) -> None:
    s3 = client(server.url)
    s3.create_bucket(Bucket="by-region-1", CreateBucketConfiguration={"LocationConstraint": "eu-west-3"})
    s3.create_bucket(Bucket="by-region-2")
    found = s3.list_buckets(Prefix="by-region-", BucketRegion="eu-west-3")["Buckets"]
    assert [one["Name"] for one in found] == ["by-region-1"]


def test_a_bucket_is_made_with_its_tags(s3: Any) -> None:
    tags = [{"Key": "a", "Value": "1"}]
    s3.create_bucket(Bucket="made-with-tags", CreateBucketConfiguration={"Tags": tags})
    assert s3.get_bucket_tagging(Bucket="made-with-tags")["TagSet"] == tags


def test_a_bucket_is_made_with_its_ownership(s3: Any) -> None:
    s3.create_bucket(Bucket="made-with-ownership", ObjectOwnership="BucketOwnerPreferred")
    told = s3.get_bucket_ownership_controls(Bucket="made-with-ownership")
    assert told["OwnershipControls"]["Rules"] == [{"ObjectOwnership": "BucketOwnerPreferred"}]
    with pytest.raises(ClientError) as refused:
        s3.create_bucket(Bucket="made-without", ObjectOwnership="Everybody")
    assert code(refused) == "InvalidArgument"


def test_a_bucket_that_was_to_lock_its_objects_is_not_made(s3: Any) -> None:
    with pytest.raises(ClientError) as refused:
        s3.create_bucket(Bucket="locked", ObjectLockEnabledForBucket=True)
    assert code(refused) == "NotImplemented"


def test_a_bucket_made_twice_in_us_east_1_is_the_same_bucket(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"")
    s3.create_bucket(Bucket=bucket)
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 1


def test_a_bucket_of_another_region_is_not_made_again_in_us_east_1(s3: Any) -> None:
    s3.create_bucket(Bucket="elsewhere-already", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    with pytest.raises(ClientError) as refused:
        s3.create_bucket(Bucket="elsewhere-already")
    assert code(refused) == "BucketAlreadyOwnedByYou"


@pytest.mark.parametrize("name", ["Upper-case", "under_score", "-dash", "dash-", "1.2.3.4", "xn--a", "a-s3alias"])
def test_an_illegal_bucket_name_is_refused(s3: Any, name: str) -> None:
    with pytest.raises(ClientError) as refused:
        s3.create_bucket(Bucket=name)
    assert code(refused) == "InvalidBucketName"


def test_only_an_empty_bucket_can_be_deleted(s3: Any, bucket: str) -> None:
    for key in ("a/b", "a/", "c"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"")
        with pytest.raises(ClientError) as refused:
            s3.delete_bucket(Bucket=bucket)
        assert code(refused) == "BucketNotEmpty"
        s3.delete_object(Bucket=bucket, Key=key)
    s3.delete_bucket(Bucket=bucket)
    with pytest.raises(ClientError) as gone:
        s3.list_objects_v2(Bucket=bucket)
    assert code(gone) == "NoSuchBucket"


@pytest.mark.parametrize(("operation", "expected"), UNCONFIGURED.items())
def test_an_absent_bucket_configuration_has_its_own_error(s3: Any, bucket: str, operation: str, expected: str) -> None:
    with pytest.raises(ClientError) as refused:
        getattr(s3, operation)(Bucket=bucket)
    assert code(refused) == expected


@pytest.mark.parametrize(("name", "parameter", "value", "removable"), CONFIGURED)
def test_a_configuration_is_kept_as_it_was_sent(
    s3: Any, bucket: str, name: str, parameter: str, value: dict[str, Any], removable: bool
) -> None:
    getattr(s3, f"put_bucket_{name}")(Bucket=bucket, **{parameter: value})
    told = getattr(s3, f"get_bucket_{name}")(Bucket=bucket)
    assert value.items() <= (told | told.get(parameter, {})).items()
    if removable:
        getattr(s3, f"delete_bucket_{name}")(Bucket=bucket)
        with pytest.raises(ClientError):
            getattr(s3, f"get_bucket_{name}")(Bucket=bucket)


def test_a_policy_is_kept_as_json(s3: Any, bucket: str) -> None:
    statement = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    s3.put_bucket_policy(Bucket=bucket, Policy=policy)
    assert s3.get_bucket_policy(Bucket=bucket)["Policy"] == policy
    assert s3.get_bucket_policy_status(Bucket=bucket)["PolicyStatus"] == {"IsPublic": True}
    other_bucket = policy.replace(bucket, "other")
    for wrong in ("nonsense", "[]", '{"Statement": []}', policy.replace("Principal", "Principals"), other_bucket):
        with pytest.raises(ClientError) as refused:
            s3.put_bucket_policy(Bucket=bucket, Policy=wrong)
        assert code(refused) == "MalformedPolicy"


def test_public_access_can_be_blocked(s3: Any, bucket: str) -> None:
    s3.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration=BLOCKED)
    assert s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"] == BLOCKED
    statement = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/*"}
    public = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    with pytest.raises(ClientError) as refused:
        s3.put_bucket_policy(Bucket=bucket, Policy=public)
    assert code(refused) == "AccessDenied"
    denying = public.replace("Allow", "Deny")
    s3.put_bucket_policy(Bucket=bucket, Policy=denying)
    assert s3.get_bucket_policy(Bucket=bucket)["Policy"] == denying
    s3.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration={**BLOCKED, "BlockPublicPolicy": False})
    s3.put_bucket_policy(Bucket=bucket, Policy=public)


def test_the_owner_has_full_control(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"", ACL="private")
    for told in (s3.get_bucket_acl(Bucket=bucket), s3.get_object_acl(Bucket=bucket, Key="k")):
        assert [grant["Permission"] for grant in told["Grants"]] == ["FULL_CONTROL"]


def test_every_object_is_its_own_version(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"1")
    version = s3.list_object_versions(Bucket=bucket)["Versions"][0]
    assert (version["Key"], version["VersionId"], version["IsLatest"]) == ("k", "null", True)
    assert s3.get_object(Bucket=bucket, Key="k", VersionId="null")["Body"].read() == b"1"
    with pytest.raises(ClientError) as refused:
        s3.get_object(Bucket=bucket, Key="k", VersionId="other")
    assert code(refused) == "InvalidArgument"


def test_list_objects_names_the_start_of_its_next_page(s3: Any, bucket: str) -> None:
    for key in ("a", "a/b", "c", "d/e", "f"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"")
    first = s3.list_objects(Bucket=bucket, Delimiter="/", MaxKeys=2)
    rest = s3.list_objects(Bucket=bucket, Delimiter="/", Marker=first["NextMarker"])
    assert [prefix["Prefix"] for prefix in first["CommonPrefixes"]] == ["a/"]
    assert [entry["Key"] for entry in rest["Contents"]] == ["c", "f"]
    assert [prefix["Prefix"] for prefix in rest["CommonPrefixes"]] == ["d/"]


@pytest.mark.parametrize(
    "wrong",
    [{"ContinuationToken": "\u20ac"}, {"MaxKeys": -1}, {"EncodingType": "base64"}, {"ContinuationToken": "abc"}],
)
def test_a_list_asked_for_wrongly_is_refused(s3: Any, bucket: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ClientError) as refused:
        s3.list_objects_v2(Bucket=bucket, **wrong)
    assert code(refused) == "InvalidArgument"


@pytest.mark.parametrize("region", ["mars-1", "us-east-1", "us", "eu-west-1 ", "us-moon-1"])
def test_a_bucket_in_no_region_is_not_made(s3: Any, region: str) -> None:
    with pytest.raises(ClientError) as refused:
        s3.create_bucket(Bucket="nowhere", CreateBucketConfiguration={"LocationConstraint": region})
    assert code(refused) == "InvalidLocationConstraint"


@pytest.mark.parametrize("region", BotoSession().get_available_regions("s3"))
def test_every_region_of_aws_is_a_legal_location_except_us_east_1(region: str) -> None:
    assert legal_constraint(region) == (region != "us-east-1")


@pytest.mark.parametrize(
    ("operation", "member", "value"),
    [
        ("put_bucket_cors", "CORSConfiguration", {"CORSRules": []}),
        ("put_bucket_lifecycle_configuration", "LifecycleConfiguration", {"Rules": []}),
        ("put_bucket_encryption", "ServerSideEncryptionConfiguration", {"Rules": []}),
    ],
)
def test_a_configuration_without_a_rule_is_malformed(
    s3: Any, bucket: str, operation: str, member: str, value: dict[str, Any]
) -> None:
    with pytest.raises(ClientError) as refused:
        getattr(s3, operation)(Bucket=bucket, **{member: value})
    assert code(refused) == "MalformedXML"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["a", "a"], "InvalidTag"),
        (["aws:a"], "InvalidTag"),
        (["a?"], "InvalidTag"),
        ([str(number) for number in range(51)], "BadRequest"),
    ],
)
def test_a_buckets_tags_are_checked_wherever_they_come(s3: Any, bucket: str, keys: list[str], expected: str) -> None:
    tags = [{"Key": key, "Value": ""} for key in keys]
    with pytest.raises(ClientError) as refused:
        s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": tags})
    assert code(refused) == expected
    with pytest.raises(ClientError) as refused:
        s3.create_bucket(Bucket="badly-tagged", CreateBucketConfiguration={"Tags": tags})
    assert code(refused) == expected
