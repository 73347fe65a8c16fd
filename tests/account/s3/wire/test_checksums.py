"""Checksums of wholes and of parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_account.s3.errors import S3Error
from torpor_account.s3.storage.upload_parts import checksum_kind
from torpor_account.s3.wire.checksums import ALGORITHMS, encoded, full_object, requested_checksum

# "123456789", the usual check value of each.
CHECKS = {
    "CRC32": "y/Q5Jg==",
    "CRC32C": "4waSgw==",
    "CRC64NVME": "rosUhgp5mIg=",
    "SHA1": "98O8HYCOBHMq32eZZczDTKeuNEE=",
    "SHA256": "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=",
    "SHA512": "2eZ2LdHI6vbWGzxhkvxAjU1tXxF20MKRabwk5xw/J0rSf81YEbMT1oH35V7ALXPUmclUVba1u1A6z1dPuo/+hQ==",
    "MD5": "JfnnlDI7RTiF9RgfG2JNCw==",
}


def digest(algorithm: str, *pieces: bytes) -> str:
    running = ALGORITHMS[algorithm].start()
    for piece in pieces:
        running.update(piece)
    return encoded(running.digest())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_each_algorithm_gives_its_published_check_value(algorithm: str) -> None:
    assert digest(algorithm, b"12345", b"6789") == CHECKS[algorithm]


@given(st.sampled_from(["CRC32", "CRC32C", "CRC64NVME"]), st.lists(st.binary(max_size=99), min_size=1, max_size=5))
def test_the_whole_follows_from_its_parts(algorithm: str, parts: list[bytes]) -> None:
    values = [digest(algorithm, part) for part in parts]
    assert full_object(algorithm, values, [len(part) for part in parts]).value == digest(algorithm, *parts)


@pytest.mark.parametrize(
    ("algorithm", "asked", "kind"),
    [
        (None, None, None),
        ("CRC32", None, "COMPOSITE"),
        ("CRC32", "FULL_OBJECT", "FULL_OBJECT"),
        ("CRC64NVME", None, "FULL_OBJECT"),
        ("SHA256", "COMPOSITE", "COMPOSITE"),
    ],
)
def test_an_upload_has_a_checksum_type(algorithm: str | None, asked: str | None, kind: str | None) -> None:
    assert checksum_kind(algorithm, asked) == kind


@pytest.mark.parametrize(
    ("algorithm", "asked"),
    [("SHA1", "FULL_OBJECT"), ("CRC64NVME", "COMPOSITE"), ("CRC32", "X"), (None, "COMPOSITE")],
)
def test_an_impossible_checksum_type_is_refused(algorithm: str | None, asked: str) -> None:
    with pytest.raises(S3Error):
        checksum_kind(algorithm, asked)


@pytest.mark.parametrize(
    "headers",
    [
        {"x-amz-checksum-crc32": "AAAA", "x-amz-checksum-sha1": "AAAA"},
        {"x-amz-checksum-crc32": "not base64"},
        {"x-amz-checksum-crc32": "AAAA"},
        {"x-amz-checksum-xxhash64": "jEHAcHULC10="},
        {"x-amz-sdk-checksum-algorithm": "MD4"},
        {"x-amz-trailer": "x-amz-checksum-md4"},
    ],
)
def test_a_checksum_that_cannot_be_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(S3Error):
        requested_checksum(headers)
