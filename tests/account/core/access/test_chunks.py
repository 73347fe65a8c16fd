"""The examples of AWS's documentation are accepted, in any pieces, and no change of them is.

https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html
https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming-trailers.html
"""

from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.example_counts import tries
from torpor_account.core.access.chunks import ChunkSignatures
from torpor_account.core.access.claims import BadSignature, Claim, Flaw

SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
SEED = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"
CLAIM = Claim("AKIAIOSFODNN7EXAMPLE", "20130524", "us-east-1", "s3", "host", SEED, "20130524T000000Z")
SIGNED = [
    (b"a" * 65536, b"ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"),
    (b"a" * 1024, b"0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497"),
    (b"", b"b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"),
]
TRAILED = [
    (b"a" * 65536, b"b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2"),
    (b"a" * 1024, b"1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7"),
    (b"", b"2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992"),
]
TRAILER = (
    b"x-amz-checksum-crc32c:sOO8/Q==\r\n"
    b"x-amz-trailer-signature:d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n"
)
TRAILED_CLAIM = CLAIM._replace(signature="106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e")


def body(chunks: list[tuple[bytes, bytes]], trailer: bytes = b"") -> bytes:
    heads = [(b"%x;chunk-signature=%b\r\n" % (len(payload), signature), payload) for payload, signature in chunks]
    whole = b"".join(head + payload + (b"\r\n" if payload else b"") for head, payload in heads)
    return whole + trailer + b"\r\n"


WHOLE, WHOLE_TRAILED = body(SIGNED), body(TRAILED, TRAILER)


def verify(sent: bytes, *, trailing: bool = False, piece: int = 1 << 16) -> None:
    chunks = ChunkSignatures(TRAILED_CLAIM if trailing else CLAIM, SECRET, trailing=trailing)
    for at in range(0, len(sent), piece):
        chunks.feed(sent[at : at + piece])
    chunks.finish()


@pytest.mark.parametrize("piece", [1 << 20, 5000, 7])
def test_awss_examples_are_accepted_in_any_pieces(piece: int) -> None:
    verify(WHOLE, piece=piece)
    verify(WHOLE_TRAILED, trailing=True, piece=piece)


@settings(max_examples=tries(24))
@given(trailing=st.booleans(), data=st.data())
def test_no_changed_bit_is_accepted(trailing: bool, data: st.DataObject) -> None:
    whole = WHOLE_TRAILED if trailing else WHOLE
    edges = st.integers(0, 100) | st.integers(len(whole) - 1400, len(whole) - 1)
    at = data.draw(edges | st.integers(0, len(whole) - 1))
    bit = 1 << data.draw(st.integers(0, 7))
    with pytest.raises(BadSignature):
        verify(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :], trailing=trailing)


@pytest.mark.parametrize(
    "sent",
    [
        WHOLE[:-2],
        WHOLE[:-1],
        WHOLE + b"\r\n",
        WHOLE + b"x",
        b"",
        body([SIGNED[1], SIGNED[0], SIGNED[2]]),
        body([SIGNED[0], SIGNED[2]]),
        body([SIGNED[0], SIGNED[1], SIGNED[1], SIGNED[2]]),
        body(SIGNED[:2]),
        body(SIGNED, b"x-amz-checksum-crc32c:sOO8/Q==\r\n"),
        body(SIGNED).replace(b"\r\n", b"\n"),
        body(SIGNED).replace(b";chunk-signature", b" ;chunk-signature"),
        b"400\r\n" + b"a" * 1024 + b"\r\n0\r\n\r\n",
        b"1" * 5000,
    ],
)
def test_no_chunk_may_be_missing_moved_repeated_or_malformed(sent: bytes) -> None:
    with pytest.raises(BadSignature):
        verify(sent)


@pytest.mark.parametrize(
    "trailer",
    [
        b"",
        TRAILER.replace(b"sOO8", b"sOO9"),
        TRAILER.splitlines(keepends=True)[0],
        TRAILER.splitlines(keepends=True)[1],
        b"x-amz-checksum-crc32:AAAAAA==\r\n" + TRAILER,
        TRAILER + b"x-amz-checksum-crc32:AAAAAA==\r\n",
    ],
)
def test_trailers_must_be_those_that_were_signed(trailer: bytes) -> None:
    with pytest.raises(BadSignature):
        verify(body(TRAILED, trailer), trailing=True)


def chunks_after(sent: bytes) -> ChunkSignatures:
    chunks = ChunkSignatures(TRAILED_CLAIM, SECRET, trailing=True)
    chunks.feed(sent)
    return chunks


LINE = b"a" * 4094 + b"\r\n"
LAST_HEAD = body(TRAILED)[:-2]


@pytest.mark.parametrize(
    ("before", "last", "why"),
    [
        (b"1" * 4096, b"1", "a line is too long"),
        (b"", LINE[1:] + b"a" + LINE, "a chunk has no size with a signature"),
        (b"", b"x\n", "a line does not end with CRLF"),
        (LAST_HEAD, b"\r\n", "the trailers are not signed"),
        (LAST_HEAD + 4 * LINE, b"abcd\r\n", "the trailers are not signed"),
        (LAST_HEAD + 4 * LINE + b"abc\r\n", b"\r\n", "the trailers are not signed"),
        (LAST_HEAD + TRAILER, b"x\r\n", "a chunk is longer than it says"),
        (body(TRAILED[:1])[:-4], b"x\r\n", "a chunk is longer than it says"),
        (WHOLE_TRAILED, b"x", "bytes follow the last chunk"),
    ],
)
def test_what_is_malformed_is_said_as_soon_as_it_comes(before: bytes, last: bytes, why: str) -> None:
    chunks = chunks_after(before)
    with pytest.raises(BadSignature) as refused:
        chunks.feed(last)
    assert refused.value.message == f"The signed chunks of the body are malformed: {why}."
    assert refused.value.flaw is Flaw.PAYLOAD


def test_a_body_that_ends_early_is_refused_at_its_end() -> None:
    chunks = chunks_after(WHOLE_TRAILED[:-2])
    with pytest.raises(BadSignature, match="the body ends before its last chunk"):
        chunks.finish()


def test_a_chunk_that_another_one_signed_is_a_mismatch() -> None:
    with pytest.raises(BadSignature) as refused:
        chunks_after(body([(b"b" * 65536, TRAILED[0][1])]))
    assert refused.value.flaw is Flaw.MISMATCH
    lines = refused.value.to_sign.split("\n")
    assert lines[:4] == [
        "AWS4-HMAC-SHA256-PAYLOAD",
        "20130524T000000Z",
        "20130524/us-east-1/s3/aws4_request",
        TRAILED_CLAIM.signature,
    ]
    assert lines[4:] == [sha256(b"").hexdigest(), sha256(b"b" * 65536).hexdigest()]
