"""Objects through boto3: promises of S3 that the oracle does not cover."""

import http.client
import io
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from hashlib import md5
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.account.helpers.s3_server import client
from tests.helpers.example_counts import tries

STRANGE = [
    "pp",
    "pp/q",
    "/x",
    "x/",
    "a//b",
    ".",
    "..",
    "a/../b",
    "é ü+%25",
    "a%2Fb",
    "x?y&z=1",
    "n\0ul",
    "tab\tnew\nline",
]
STRANGE += [".torpor/objects/x", "\U0001f600", "a" * 300, "~!@#$^*()_-={}[]|;'<>,", "k" * 1024]


def code(error: pytest.ExceptionInfo[ClientError]) -> tuple[str, int]:
    return error.value.response["Error"]["Code"], error.value.response["ResponseMetadata"]["HTTPStatusCode"]


def keys(s3: Any, bucket: str, **query: Any) -> list[str]:
    return [entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket, **query).get("Contents", [])]


def test_a_key_may_be_anything(s3: Any, bucket: str) -> None:
    for key in STRANGE:
        s3.put_object(Bucket=bucket, Key=key, Body=key.encode())
    assert keys(s3, bucket) == sorted(STRANGE)
    for key in STRANGE:
        assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == key.encode()
        s3.delete_object(Bucket=bucket, Key=key)
    assert keys(s3, bucket) == []


@given(key=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30))
@settings(max_examples=tries(16), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_object_of_any_key_is_stored_listed_and_deleted(s3: Any, bucket: str, key: str) -> None:
    s3.put_object(Bucket=bucket, Key=key, Body=b"x")
    assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == b"x"
    assert keys(s3, bucket) == [key]
    s3.delete_object(Bucket=bucket, Key=key)


@pytest.mark.parametrize("order", [("pp", "pp/q"), ("pp/q", "pp")])
def test_a_key_and_a_key_below_it_live_side_by_side(s3: Any, bucket: str, order: tuple[str, str]) -> None:
    for key in order:
        s3.put_object(Bucket=bucket, Key=key, Body=key.encode())
    s3.delete_object(Bucket=bucket, Key=order[0])
    assert keys(s3, bucket) == [order[1]]
    assert s3.get_object(Bucket=bucket, Key=order[1])["Body"].read() == order[1].encode()


def test_a_key_that_is_too_long_is_refused(s3: Any, bucket: str) -> None:
    with pytest.raises(ClientError) as refused:
        s3.put_object(Bucket=bucket, Key="k" * 1025, Body=b"")
    assert code(refused) == ("KeyTooLongError", 400)


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
def test_a_checksum_is_kept_and_given_back(s3: Any, bucket: str, algorithm: str) -> None:
    put = s3.put_object(Bucket=bucket, Key="k", Body=b"hello", ChecksumAlgorithm=algorithm)
    got = s3.get_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert got["Body"].read() == b"hello"  # boto3 holds it against the checksum
    assert got[f"Checksum{algorithm}"] == put[f"Checksum{algorithm}"]


def test_an_object_put_without_a_checksum_has_the_default_one(server: Any, bucket: str) -> None:
    plain = client(server.url, request_checksum_calculation="when_required")
    put = plain.put_object(Bucket=bucket, Key="k", Body=b"123456789")
    head = plain.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    for told in (put, head):
        assert (told["ChecksumCRC64NVME"], told["ChecksumType"]) == ("rosUhgp5mIg=", "FULL_OBJECT")
    assert "ChecksumCRC64NVME" not in plain.head_object(Bucket=bucket, Key="k")


def test_a_part_of_an_object_comes_without_the_checksum_of_the_whole(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"hello", ChecksumAlgorithm="SHA256")
    part = s3.get_object(Bucket=bucket, Key="k", Range="bytes=1-2", ChecksumMode="ENABLED")
    assert part["Body"].read() == b"el"
    assert not [name for name in part["ResponseMetadata"]["HTTPHeaders"] if "checksum" in name]


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"ChecksumCRC32": "AAAAAA=="}, "BadDigest"),
        ({"ChecksumSHA256": "A" * 43 + "="}, "BadDigest"),
        ({"ChecksumCRC32": "nonsense"}, "InvalidRequest"),
        ({"ContentMD5": "AAAAAAAAAAAAAAAAAAAAAA=="}, "BadDigest"),
        ({"ContentMD5": "nonsense"}, "InvalidDigest"),
    ],
)
def test_a_body_that_differs_from_its_checksums_is_not_kept(
    s3: Any, bucket: str, wrong: dict[str, str], expected: str
) -> None:
    with pytest.raises(ClientError) as refused:
        s3.put_object(Bucket=bucket, Key="k", Body=b"hello", **wrong)
    assert code(refused) == (expected, 400)
    assert keys(s3, bucket) == []


def test_the_wrong_expected_owner_is_denied(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"", ExpectedBucketOwner="123456789012")
    with pytest.raises(ClientError) as refused:
        s3.get_object(Bucket=bucket, Key="k", ExpectedBucketOwner="999999999999")
    assert code(refused) == ("AccessDenied", 403)


def test_a_conditional_write_happens_only_if_its_condition_holds(s3: Any, bucket: str) -> None:
    first = s3.put_object(Bucket=bucket, Key="k", Body=b"1", IfNoneMatch="*")
    with pytest.raises(ClientError) as refused:
        s3.put_object(Bucket=bucket, Key="k", Body=b"2", IfMatch='"other"')
    assert code(refused) == ("PreconditionFailed", 412)
    s3.put_object(Bucket=bucket, Key="k", Body=b"3", IfMatch=first["ETag"])
    with pytest.raises(ClientError) as missing:
        s3.put_object(Bucket=bucket, Key="none", Body=b"", IfMatch=first["ETag"])
    assert code(missing) == ("NoSuchKey", 404)
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"3"


def test_exactly_one_of_many_conditional_writers_is_first(s3: Any, bucket: str) -> None:
    def write(number: int) -> int:
        try:
            s3.put_object(Bucket=bucket, Key="lock", Body=str(number).encode(), IfNoneMatch="*")
        except ClientError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(16))) == 1


def test_writers_of_one_key_never_leave_a_mixture(s3: Any, bucket: str) -> None:
    bodies = [bytes([number]) * (200_000 + number) for number in range(8)]

    def write(body: bytes) -> None:
        s3.put_object(Bucket=bucket, Key="k", Body=body, Metadata={"size": str(len(body))})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, bodies * 2))
    got = s3.get_object(Bucket=bucket, Key="k")
    body = got["Body"].read()
    assert body in bodies
    assert got["ETag"] == f'"{md5(body).hexdigest()}"'
    assert got["Metadata"] == {"size": str(len(body))}


@pytest.mark.parametrize(
    "wish", [{"CopySourceIfMatch": '"other"'}, {"CopySourceIfNoneMatch": "*"}, {"IfNoneMatch": "*"}]
)
def test_a_copy_keeps_to_its_preconditions(s3: Any, bucket: str, wish: dict[str, str]) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"hello")
    s3.put_object(Bucket=bucket, Key="target", Body=b"old")
    with pytest.raises(ClientError) as refused:
        s3.copy_object(Bucket=bucket, Key="target", CopySource={"Bucket": bucket, "Key": "k"}, **wish)
    assert code(refused) == ("PreconditionFailed", 412)
    assert s3.get_object(Bucket=bucket, Key="target")["Body"].read() == b"old"


def test_a_copy_has_its_sources_checksum_or_the_one_asked_for(s3: Any, bucket: str) -> None:
    put = s3.put_object(Bucket=bucket, Key="k + é", Body=b"hello", ChecksumAlgorithm="SHA1")
    source = {"Bucket": bucket, "Key": "k + é"}
    same = s3.copy_object(Bucket=bucket, Key="same", CopySource=source)["CopyObjectResult"]
    other = s3.copy_object(Bucket=bucket, Key="other", CopySource=source, ChecksumAlgorithm="CRC64NVME")
    assert same["ChecksumSHA1"] == put["ChecksumSHA1"]
    assert "ChecksumCRC64NVME" in other["CopyObjectResult"]


KMS = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "alias/k", "StorageClass": "STANDARD_IA"}


def test_how_an_object_is_kept_is_shown_and_never_copied_along(s3: Any, bucket: str) -> None:
    put = s3.put_object(Bucket=bucket, Key="k", Body=b"x", Metadata={"a": "1"}, WebsiteRedirectLocation="/z", **KMS)
    assert (put["ServerSideEncryption"], put["SSEKMSKeyId"]) == ("aws:kms", "alias/k")
    assert KMS.items() <= s3.head_object(Bucket=bucket, Key="k").items()
    assert s3.list_objects_v2(Bucket=bucket)["Contents"][0]["StorageClass"] == "STANDARD_IA"
    source = {"Bucket": bucket, "Key": "k"}
    copied = s3.copy_object(Bucket=bucket, Key="copy", CopySource=source, ServerSideEncryption="AES256")
    head = s3.head_object(Bucket=bucket, Key="copy")
    assert copied["ServerSideEncryption"] == head["ServerSideEncryption"] == "AES256"
    assert head["Metadata"] == {"a": "1"}
    assert not {"SSEKMSKeyId", "StorageClass", "WebsiteRedirectLocation"} & set(head)


def test_a_copy_to_itself_must_change_something(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    source = {"Bucket": bucket, "Key": "k"}
    with pytest.raises(ClientError, match="illegal"):
        s3.copy_object(Bucket=bucket, Key="k", CopySource=source)
    for directive in ("MetadataDirective", "TaggingDirective"):
        with pytest.raises(ClientError, match=r"Unknown (metadata|tagging) directive"):
            s3.copy_object(Bucket=bucket, Key="l", CopySource=source, **{directive: "KEEP"})
    s3.copy_object(Bucket=bucket, Key="k", CopySource=source, StorageClass="STANDARD")  # as it is already
    s3.copy_object(Bucket=bucket, Key="k", CopySource=source, StorageClass="GLACIER")
    assert s3.head_object(Bucket=bucket, Key="k")["StorageClass"] == "GLACIER"


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"StorageClass": "COLDER"}, "InvalidStorageClass"),
        ({"ServerSideEncryption": "rot13"}, "InvalidEncryptionAlgorithmError"),
        ({"ObjectLockLegalHoldStatus": "ON"}, "InvalidRequest"),
    ],
)
def test_how_an_object_cannot_be_kept_is_refused(s3: Any, bucket: str, wrong: dict[str, str], expected: str) -> None:
    with pytest.raises(ClientError) as refused:
        s3.put_object(Bucket=bucket, Key="k", Body=b"", **wrong)
    assert code(refused) == (expected, 400)


def test_an_objects_time_is_the_same_in_every_operation(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"")
    told = s3.head_object(Bucket=bucket, Key="k")["LastModified"]
    assert s3.list_objects_v2(Bucket=bucket)["Contents"][0]["LastModified"] == told
    assert s3.list_object_versions(Bucket=bucket)["Versions"][0]["LastModified"] == told
    copied = s3.copy_object(Bucket=bucket, Key="l", CopySource={"Bucket": bucket, "Key": "k"})
    assert s3.head_object(Bucket=bucket, Key="l")["LastModified"] == copied["CopyObjectResult"]["LastModified"]


def test_a_thousand_objects_are_deleted_by_one_call(s3: Any, bucket: str, server: Any) -> None:
    names = [f"models/{number}" for number in range(1000)]
    (server.root / bucket / "models").mkdir()
    for name in names:
        (server.root / bucket / name).touch()
    told = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": name} for name in names], "Quiet": True})
    assert not {"Deleted", "Errors"} & set(told)
    assert keys(s3, bucket) == []
    with pytest.raises(ClientError) as refused:
        s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": name} for name in [*names, "more"]]})
    assert code(refused) == ("MalformedXML", 400)


def test_an_unknown_version_is_neither_read_nor_deleted(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"")
    for call in (s3.delete_object, s3.get_object):
        with pytest.raises(ClientError, match="Invalid version id specified") as refused:
            call(Bucket=bucket, Key="k", VersionId="other")
        assert code(refused) == ("InvalidArgument", 400)
    with pytest.raises(ClientError, match="Invalid version id specified"):
        s3.copy_object(Bucket=bucket, Key="l", CopySource={"Bucket": bucket, "Key": "k", "VersionId": "other"})
    told = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "k", "VersionId": "other"}]})
    assert told["Errors"][0]["Code"] == "NoSuchVersion"
    assert keys(s3, bucket) == ["k"]
    told = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "k", "VersionId": "null"}]})
    assert told["Deleted"] == [{"Key": "k", "VersionId": "null"}]


def test_metadata_beyond_two_kilobytes_is_refused(s3: Any, bucket: str) -> None:
    with pytest.raises(ClientError) as refused:
        s3.put_object(Bucket=bucket, Key="k", Body=b"", Metadata={"a": "x" * 2048})
    assert code(refused) == ("MetadataTooLarge", 400)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ([("a", "1")] * 2, "InvalidTag"),
        ([(str(n), "") for n in range(11)], "BadRequest"),
        ([("k" * 129, "")], "InvalidTag"),
        ([("a", "v" * 257)], "InvalidTag"),
        ([("aws:a", "")], "InvalidTag"),
        ([("a&b", "")], "InvalidTag"),
        ([("a", "<b>")], "InvalidTag"),
        ([("a", "b\tc")], "InvalidTag"),
    ],
)
def test_tags_that_s3_does_not_take_are_refused(
    s3: Any, bucket: str, tags: list[tuple[str, str]], expected: str
) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"")
    tag_set = [{"Key": key, "Value": value} for key, value in tags]
    with pytest.raises(ClientError) as refused:
        s3.put_object_tagging(Bucket=bucket, Key="k", Tagging={"TagSet": tag_set})
    assert code(refused) == (expected, 400)


def test_tags_may_have_letters_of_any_kind_and_some_signs(s3: Any, bucket: str) -> None:
    tags = [{"Key": "größe 日本", "Value": "a+b-c=d.e_f:g/h@i 9\u3000"}, {"Key": "empty", "Value": ""}]
    s3.put_object(Bucket=bucket, Key="k", Body=b"")
    s3.put_object_tagging(Bucket=bucket, Key="k", Tagging={"TagSet": tags})
    assert s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == tags


@pytest.mark.parametrize("tagging", ["a=1&a=2", "a=%ff"])
def test_tags_in_a_header_are_a_query_that_names_each_once(s3: Any, bucket: str, tagging: str) -> None:
    with pytest.raises(ClientError, match="shall be encoded as UTF-8") as refused:
        s3.put_object(Bucket=bucket, Key="k", Body=b"", Tagging=tagging)
    assert code(refused) == ("InvalidArgument", 400)


def test_an_object_has_its_attributes(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"hello", ChecksumAlgorithm="SHA256")
    told = s3.get_object_attributes(
        Bucket=bucket, Key="k", ObjectAttributes=["ETag", "ObjectSize", "Checksum", "StorageClass"]
    )
    assert (told["ETag"], told["ObjectSize"]) == ("5d41402abc4b2a76b9719d911017c592", 5)
    assert told["Checksum"]["ChecksumSHA256"] == "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="


@pytest.mark.parametrize("attributes", [["ETag", "Colour"], ["etag"]])
def test_an_attribute_that_no_object_has_is_refused(s3: Any, bucket: str, attributes: list[str]) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"")
    with pytest.raises(ClientError, match="Invalid attribute name") as refused:
        s3.get_object_attributes(Bucket=bucket, Key="k", ObjectAttributes=attributes)
    assert code(refused) == ("InvalidArgument", 400)


def test_a_presigned_link_reads_and_writes(s3: Any, server: Any, bucket: str) -> None:
    for version in ("s3v4", "s3"):
        signer = client(server.url, signature_version=version)
        into = signer.generate_presigned_url("put_object", Params={"Bucket": bucket, "Key": f"a b/{version}"})
        urllib.request.urlopen(urllib.request.Request(into, data=b"hello", method="PUT")).close()
        out = signer.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": f"a b/{version}"})
        with urllib.request.urlopen(out) as answer:
            assert answer.read() == b"hello"


def test_a_presigned_link_brings_the_headers_that_it_was_signed_with(s3: Any, server: Any, bucket: str) -> None:
    said = {"ContentType": "text/x", "Metadata": {"a": "1"}, "Tagging": "b=2", "StorageClass": "STANDARD_IA"}
    signer = client(server.url, signature_version="s3")  # these it writes into the link
    into = signer.generate_presigned_url("put_object", Params={"Bucket": bucket, "Key": "k", **said})
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)
    connection.request("PUT", into.removeprefix(server.url), b"hello")
    assert connection.getresponse().status == 200
    connection.close()
    head = s3.head_object(Bucket=bucket, Key="k")
    assert (head["ContentType"], head["Metadata"]) == ("text/x", {"a": "1"})
    assert (head["TagCount"], head["StorageClass"]) == (1, "STANDARD_IA")


def test_upload_and_download_of_a_large_file_agree(s3: Any, bucket: str) -> None:
    content = bytes(range(256)) * (80 * 2**10)
    s3.upload_fileobj(io.BytesIO(content), bucket, "large")
    into = io.BytesIO()
    s3.download_fileobj(bucket, "large", into)
    assert into.getvalue() == content


@pytest.mark.parametrize(
    ("operation", "parameters"),
    [
        ("restore_object", {"Key": "k", "RestoreRequest": {"Days": 1}}),
        ("put_object", {"Key": "k", "SSECustomerAlgorithm": "AES256", "SSECustomerKey": "k" * 32}),
        ("list_bucket_analytics_configurations", {}),
        ("delete_bucket_metrics_configuration", {"Id": "x"}),
    ],
)
def test_an_operation_without_support_is_refused_without_retries(
    s3: Any, bucket: str, operation: str, parameters: dict[str, Any]
) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"")
    with pytest.raises(ClientError) as refused:
        getattr(s3, operation)(Bucket=bucket, **parameters)
    assert code(refused) == ("NotImplemented", 400)
    assert refused.value.response["ResponseMetadata"]["RetryAttempts"] == 0
    assert keys(s3, bucket) == ["k"]
