"""What is signed of a request: its query, its headers and what it says of its body."""

from hashlib import sha256

import pytest

from torpor_account.core.access.claims import BadSignature, Claim, Flaw, SignedRequest
from torpor_account.core.access.signatures import (
    OTHERS,
    S3,
    Payload,
    canonical_query,
    check_signature,
    check_time,
    hashed_payload,
    s3_payload,
)

CLAIM = Claim("AKIA", "20261126", "us-east-1", "s3", "host", "0" * 64, "20261126T120000Z")
LINK = CLAIM._replace(lasts_s=60)
NOON_S = 1795694400.0
HASH = sha256(b"x").hexdigest()


def test_a_query_is_sorted_and_encoded_in_one_way_without_its_signature() -> None:
    assert canonical_query(b"") == b""
    query = b"b=2&a=%7e+/&a=1&c&X-Amz-Signature=0&X-Amz-Date=1"
    assert canonical_query(query) == b"X-Amz-Date=1&a=1&a=~%20%2F&b=2&c="


def request(*stated: str, query: bytes = b"") -> SignedRequest:
    headers = [(b"host", b"h"), *((b"x-amz-content-sha256", one.encode()) for one in stated)]
    return SignedRequest("PUT", b"/b/k", query, headers)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("UNSIGNED-PAYLOAD", Payload.UNSIGNED),
        ("STREAMING-UNSIGNED-PAYLOAD-TRAILER", Payload.UNSIGNED_TRAILER),
        ("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", Payload.CHUNKS),
        ("STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", Payload.CHUNKS_TRAILER),
    ],
)
def test_an_s3_request_says_how_its_body_is_signed(word: str, kind: Payload) -> None:
    assert s3_payload(CLAIM, request(word)) == (word, kind)


def test_an_s3_request_has_the_hash_of_its_body_and_a_link_need_not() -> None:
    assert s3_payload(CLAIM, request(HASH, HASH)) == (HASH, Payload.HASHED)
    assert s3_payload(LINK, request()) == ("UNSIGNED-PAYLOAD", Payload.UNSIGNED)
    assert s3_payload(LINK, request(query=b"X-Amz-Content-SHA256=" + HASH.encode())) == (HASH, Payload.HASHED)


@pytest.mark.parametrize(
    ("claim", "one"),
    [
        (CLAIM, request(HASH, "UNSIGNED-PAYLOAD")),
        (CLAIM, request(HASH[:-1])),
        (CLAIM, request(HASH.upper())),
        (CLAIM, request(f"{HASH[:-1]}X")),
        (CLAIM, request("")),
        (LINK, request(HASH, query=b"X-Amz-Content-SHA256=UNSIGNED-PAYLOAD")),
    ],
)
def test_two_or_other_words_for_a_body_are_refused(claim: Claim, one: SignedRequest) -> None:
    with pytest.raises(BadSignature, match="x-amz-content-sha256 must be UNSIGNED-PAYLOAD, ") as refused:
        s3_payload(claim, one)
    assert refused.value.flaw is Flaw.INCOMPLETE


def test_the_hash_in_a_header_must_be_that_of_the_body() -> None:
    assert hashed_payload(request(), b"x") == hashed_payload(request(HASH), b"x") == HASH
    assert hashed_payload(request(), b"") == sha256(b"").hexdigest()
    with pytest.raises(BadSignature) as refused:
        hashed_payload(request(HASH), b"y")
    assert refused.value.flaw is Flaw.PAYLOAD


def test_a_link_lasts_a_week_at_most_and_begins_no_earlier_than_it_was_signed() -> None:
    check_time(CLAIM._replace(lasts_s=604_800), NOON_S, S3)
    for claim, at_s, flaw in (
        (CLAIM._replace(lasts_s=604_801), NOON_S, Flaw.INCOMPLETE),
        (LINK, NOON_S + 61, Flaw.EXPIRED),
        (LINK, NOON_S - 901, Flaw.NOT_YET),
        (CLAIM._replace(moment="20261331T000000Z"), NOON_S, Flaw.INCOMPLETE),
    ):
        with pytest.raises(BadSignature) as refused:
            check_time(claim, at_s, S3)
        assert refused.value.flaw is flaw
    check_time(LINK, NOON_S + 60, S3)


def test_the_limits_of_the_window_are_told() -> None:
    with pytest.raises(BadSignature) as refused:
        check_time(CLAIM, NOON_S + 301, OTHERS)
    assert refused.value.message == (
        "Signature expired: 20261126T120000Z is now earlier than 20261126T120001Z (20261126T120501Z - 5 min.)"
    )
    with pytest.raises(BadSignature) as refused:
        check_time(CLAIM, NOON_S - 901, S3)
    assert refused.value.message == (
        "Signature not yet current: 20261126T120000Z is still later than 20261126T115959Z (20261126T114459Z + 15 min.)"
    )


@pytest.mark.parametrize(
    ("path", "signed", "flaw"),
    [
        (b"//a", "host", Flaw.INCOMPLETE),
        (b"/a/../b", "host", Flaw.INCOMPLETE),
        (b"/./b", "host", Flaw.INCOMPLETE),
        (b"/a", "host;date", Flaw.INCOMPLETE),
        (b"/a", "accept", Flaw.UNSIGNED_HEADER),
        (b"/" + b"a" * 2000, "host;host", Flaw.INCOMPLETE),
        (b"/" + b"a" * 2000 + b"/..", "host", Flaw.INCOMPLETE),
        (b"/a...b", "host", Flaw.MISMATCH),
    ],
)
def test_a_request_that_could_mean_two_things_is_refused(path: bytes, signed: str, flaw: Flaw) -> None:
    with pytest.raises(BadSignature) as refused:
        check_signature(
            CLAIM._replace(signed_headers=signed),
            SignedRequest("POST", path, b"", [(b"host", b"h")]),
            "s",
            HASH,
            OTHERS,
        )
    assert refused.value.flaw is flaw


def test_what_should_have_been_signed_is_told() -> None:
    headers = [(b"host", b"  h \t h  h "), (b"content-type", b"text/csv")]
    one = SignedRequest("GET", b"", b"b&a=1", headers)
    with pytest.raises(BadSignature) as refused:
        check_signature(CLAIM._replace(signed_headers="host;content-type"), one, "s", HASH, OTHERS)
    canonical = f"GET\n/\na=1&b=\nhost:h h h\ncontent-type:text/csv\n\nhost;content-type\n{HASH}".encode()
    assert refused.value.canonical == canonical
    assert refused.value.to_sign == (
        f"AWS4-HMAC-SHA256\n20261126T120000Z\n20261126/us-east-1/s3/aws4_request\n{sha256(canonical).hexdigest()}"
    )


@pytest.mark.parametrize("value", [b"h h", b" h  h ", b"h\th", b"\th h\t"])
def test_white_space_in_a_header_counts_as_one_space(value: bytes) -> None:
    with pytest.raises(BadSignature) as refused:
        check_signature(CLAIM, SignedRequest("GET", b"/", b"", [(b"host", value)]), "s", HASH, S3)
    assert refused.value.canonical.startswith(b"GET\n/\n\nhost:h h\n\nhost\n")


def test_s3_takes_a_path_as_it_was_sent_and_leaves_the_type_to_who_sends_it() -> None:
    one = SignedRequest("GET", b"//a%20b", b"", [(b"host", b"h"), (b"content-type", b"text/csv")])
    with pytest.raises(BadSignature) as refused:
        check_signature(CLAIM, one, "s", HASH, S3)
    assert refused.value.canonical.startswith(b"GET\n//a%20b\n\nhost:h\n\nhost\n")
    with pytest.raises(BadSignature, match="not signed: content-type"):
        check_signature(CLAIM, one._replace(path=b"/a"), "s", HASH, OTHERS)
    with pytest.raises(BadSignature) as refused:
        check_signature(CLAIM, one._replace(path=b"/a%20b~", headers=one.headers[:1]), "s", HASH, OTHERS)
    assert refused.value.canonical.startswith(b"GET\n/a%2520b~\n"), "it is encoded once more"
