"""The aws-chunked body, however it arrives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.wire.chunked import ChunkedDecoder

TRAILER = b"x-amz-checksum-crc32:NhCmhg==\r\n"


def encoded(chunks: list[bytes], signed: bool = False, trailer: bytes = b"") -> bytes:
    extension = b";chunk-signature=" + b"0" * 64 if signed else b""
    framed = [b"%x%s\r\n%s\r\n" % (len(chunk), extension, chunk) for chunk in chunks if chunk]
    return b"".join([*framed, b"0" + extension + b"\r\n", trailer, b"\r\n"])


@given(
    st.lists(st.binary(max_size=40), max_size=5), st.booleans(), st.booleans(), st.integers(min_value=1, max_value=7)
)
def test_any_split_of_the_body_gives_the_same_payload(
    chunks: list[bytes], signed: bool, trailing: bool, step: int
) -> None:
    body = encoded(chunks, signed, TRAILER if trailing else b"")
    decoder = ChunkedDecoder()
    payload = b"".join(piece for at in range(0, len(body), step) for piece in decoder.feed(body[at : at + step]))
    assert payload == b"".join(chunks)
    assert decoder.finish() == ({"x-amz-checksum-crc32": "NhCmhg=="} if trailing else {})


@given(st.integers(min_value=0, max_value=20))
def test_a_body_cut_off_before_its_last_chunk_is_incomplete(kept: int) -> None:
    decoder = ChunkedDecoder()
    decoder.feed(encoded([b"hello world, ", b"bye"])[:kept])
    with pytest.raises(S3Error) as refused:
        decoder.finish()
    assert refused.value.refusal is Refusal.IncompleteBody


@pytest.mark.parametrize("body", [b"zz\r\n", b"-5\r\n", b"\r\n", b"5\r\nhelloXX\r\n", b"f" * 17 + b"\r\n", b"1" * 5000])
def test_a_malformed_chunk_is_refused(body: bytes) -> None:
    with pytest.raises(S3Error):
        ChunkedDecoder().feed(body)
