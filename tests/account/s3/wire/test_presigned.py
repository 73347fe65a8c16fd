"""Presigned links and their expiry."""

import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.account.helpers.s3_server import Server
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.wire.presigned import carried, check_not_expired

SIGNED_S = 1_577_836_800  # 2020-01-01T00:00:00Z


def sigv4(expires: str, date: str = "20200101T000000Z") -> dict[str, str]:
    return {"X-Amz-Signature": "00", "X-Amz-Date": date, "X-Amz-Expires": expires}


def sigv2(expires: str) -> dict[str, str]:
    return {"AWSAccessKeyId": "test", "Signature": "00", "Expires": expires}


@pytest.mark.parametrize("query", [sigv4("60"), sigv2(str(SIGNED_S + 60))])
def test_a_link_is_good_until_its_end_and_no_longer(query: dict[str, str]) -> None:
    check_not_expired(query, SIGNED_S + 60)
    with pytest.raises(S3Error, match="Request has expired") as refused:
        check_not_expired(query, SIGNED_S + 61)
    assert refused.value.refusal is Refusal.AccessDenied
    assert refused.value.elements["Expires"] == "2020-01-01T00:01:00Z"


@pytest.mark.parametrize("query", [{}, {"Expires": "1"}, {"X-Amz-Date": "x"}, {"X-Amz-Expires": "x"}])
def test_a_request_that_is_no_presigned_link_never_expires(query: dict[str, str]) -> None:
    check_not_expired(query, SIGNED_S)


@pytest.mark.parametrize(
    ("query", "refusal"),
    [
        (sigv4("604801"), Refusal.AuthorizationQueryParametersError),
        (sigv4("9" * 400), Refusal.AuthorizationQueryParametersError),
        (sigv4("-1"), Refusal.AuthorizationQueryParametersError),
        (sigv4(""), Refusal.AuthorizationQueryParametersError),
        (sigv4("60", "yesterday"), Refusal.AuthorizationQueryParametersError),
        (sigv2("tomorrow"), Refusal.AccessDenied),
        (sigv2("9" * 400), Refusal.AccessDenied),
    ],
)
def test_a_link_that_says_nonsense_is_refused(query: dict[str, str], refusal: Refusal) -> None:
    with pytest.raises(S3Error) as refused:
        check_not_expired(query, SIGNED_S)
    assert refused.value.refusal is refusal


@pytest.mark.parametrize("query", ["X-Amz-Signature=0&X-Amz-Date=20200101T000000Z&X-Amz-Expires=60"])
def test_an_expired_link_neither_reads_nor_writes(server: Server, s3: Any, bucket: str, query: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"old")
    for method in ("GET", "PUT"):
        link = urllib.request.Request(f"{server.url}/{bucket}/k?{query}", data=b"new", method=method)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(link)
        with refused.value as answer:
            assert (answer.status, b"Request has expired" in answer.read()) == (403, True)
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"old"


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ({**sigv4("60"), "x-amz-meta-a": "ü", "X-Amz-Acl": "private"}, {"x-amz-meta-a": "Ã¼", "x-amz-acl": "private"}),
        ({**sigv4("60"), "x-amz-checksum-crc32": "AAAAAA==", "x-amz-sdk-checksum-algorithm": "CRC32"}, {}),
        ({**sigv4("60"), "content-type": "text/x"}, {}),
        ({**sigv2("60"), "content-type": "text/x", "prefix": "p"}, {"content-type": "text/x"}),
        ({"x-amz-meta-a": "1"}, {}),
    ],
)
def test_a_link_carries_headers(query: dict[str, str], headers: dict[str, str]) -> None:
    assert carried(query) == headers
