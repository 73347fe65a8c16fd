"""botocore's signers are the oracle: what they sign is accepted, and no change of it is."""

from calendar import timegm
from hashlib import sha256
from time import strptime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.account.helpers.signed_requests import HOST, KEY, SECRET, signed
from tests.helpers.example_counts import tries
from torpor_account.core.access.claims import BadSignature, Claim, Flaw, SignedRequest, claim_of
from torpor_account.core.access.signatures import (
    OTHERS,
    S3,
    Payload,
    check_signature,
    check_time,
    hashed_payload,
    s3_payload,
)

TARGET = "x-amzn-sagemaker-target-model"
TEXT = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)
WORDS = st.text("abcXYZ019-_.~ +/%&=ü", max_size=12)
HEADERS = st.dictionaries(st.sampled_from(["content-type", "x-amz-meta-a", TARGET, "accept", "x-amz-target"]), TEXT)


def epoch_s(claim: Claim) -> float:
    return timegm(strptime(claim.moment, "%Y%m%dT%H%M%SZ"))


def verify(request: SignedRequest, body: bytes, *, s3: bool = False, now_s: float | None = None) -> Claim:
    """What the door does with a request. S3 compares the body with the hash in its header as it stores it."""
    claim = claim_of(request)
    if claim is None or claim.access_key != KEY:
        raise BadSignature(Flaw.MISMATCH, "nobody signed it, or somebody unknown")
    rules = S3 if s3 else OTHERS
    check_time(claim, epoch_s(claim) if now_s is None else now_s, rules)
    payload, kind = s3_payload(claim, request) if s3 else (hashed_payload(request, body), Payload.HASHED)
    check_signature(claim, request, SECRET, payload, rules)
    if kind is Payload.HASHED and payload != sha256(body).hexdigest():
        raise BadSignature(Flaw.PAYLOAD, "the body is another")
    return claim


def refused(request: SignedRequest, body: bytes = b"", *, s3: bool = False, now_s: float | None = None) -> BadSignature:
    with pytest.raises(BadSignature) as found:
        verify(request, body, s3=s3, now_s=now_s)
    return found.value


@settings(max_examples=tries(24))
@given(
    service=st.sampled_from(["sagemaker", "sts", "s3"]),
    method=st.sampled_from(["GET", "POST", "PUT"]),
    parts=st.lists(WORDS.filter(lambda part: part not in ("", ".", "..")), max_size=3),
    query=st.dictionaries(TEXT.filter(lambda name: not name.startswith("X-Amz")), WORDS, max_size=3),
    headers=HEADERS,
    body=st.binary(max_size=40),
    token=st.none() | TEXT,
    link=st.booleans(),
)
def test_what_botocore_signs_is_accepted(service, method, parts, query, headers, body, token, link) -> None:  # type: ignore[no-untyped-def]
    from urllib.parse import quote, urlencode

    target = "/" + "/".join(quote(part, safe="") for part in parts)
    if query:
        target += f"?{urlencode(query, quote_via=quote, safe='-_.~')}"
    if link:  # a link has no body, and its user sends no headers of his own
        body, headers = b"", {}
    request = signed(service, method, target, headers, body, token, link)
    claim = verify(request, body, s3=service == "s3")
    assert (claim.service, claim.token) == (service, token)


def mutants(request: SignedRequest, body: bytes) -> st.SearchStrategy[tuple[SignedRequest, bytes]]:
    """The request with one thing changed in a way that changes its meaning."""

    def flipped(text: bytes) -> st.SearchStrategy[bytes]:
        place = st.tuples(st.integers(0, len(text) - 1), st.integers(0, 7))
        return place.map(lambda at: text[: at[0]] + bytes([text[at[0]] ^ (1 << at[1])]) + text[at[0] + 1 :])

    def with_header(number: int, value: bytes) -> SignedRequest:
        headers = list(request.headers)
        headers[number] = (headers[number][0], value)
        return request._replace(headers=headers)

    meant = [at for at, (name, _) in enumerate(request.headers) if name != b"content-length"]  # the server's own
    numbers = st.sampled_from(meant)
    bits = numbers.flatmap(lambda at: flipped(request.headers[at][1]).map(lambda value: with_header(at, value)))
    less = numbers.map(lambda at: request._replace(headers=[*request.headers[:at], *request.headers[at + 1 :]]))
    twice = numbers.map(lambda at: request._replace(headers=[*request.headers, request.headers[at]]))
    names = st.sampled_from([b"x-amz-target", b"x-amz-copy-source", b"x-amzn-sagemaker-target-variant"])
    more = names.map(lambda name: request._replace(headers=[*request.headers, (name, b"other")]))
    methods = st.sampled_from(["DELETE", "HEAD", "PATCH"]).map(lambda method: request._replace(method=method))
    paths = flipped(request.path).map(lambda path: request._replace(path=path))
    longer = st.sampled_from([b"/", b"/x", b"%20", b"/.", b"/../y"]).map(
        lambda end: request._replace(path=request.path + end)
    )
    queries = st.sampled_from([b"&a=1", b"&X-Amz-Expires=1", b"&c", b"&b=1"]).map(
        lambda end: request._replace(query=(request.query + end).removeprefix(b"&"))
    )
    changed = st.one_of(bits, less, twice, more, methods, paths, longer, queries)
    bodies = (flipped(body) if body else st.just(b"x")).map(lambda other: (request, other))
    return changed.map(lambda one: (one, body)) | bodies | st.just((request, body + b"\n"))


INVOKE = {TARGET: "tenant-a/house.tar.gz", "content-type": "text/csv"}


@settings(max_examples=tries(80))
@given(data=st.data())
@pytest.mark.parametrize(
    ("service", "target", "headers"),
    [("sagemaker", "/endpoints/houses/invocations", INVOKE), ("s3", "/bu/a%20b/%2B?a=1&b=2", {"x-amz-meta-a": "b"})],
)
def test_no_change_of_a_signed_request_is_accepted(service, target, headers, data) -> None:  # type: ignore[no-untyped-def]
    body = b"1.5,2.5,3.5"
    request = signed(service, "POST" if service == "sagemaker" else "PUT", target, headers, body, token="t0ken")
    mutant, other = data.draw(mutants(request, body))
    claim = claim_of(request)
    assert claim is not None
    try:
        verify(mutant, other, s3=service == "s3", now_s=epoch_s(claim))
    except BadSignature:
        return
    # white space at the ends of a header means nothing
    stripped = [(name, value.strip()) for name, value in mutant.headers]
    assert (mutant._replace(headers=stripped), other) == (request, body)


@settings(max_examples=tries(60))
@given(data=st.data())
def test_no_change_of_a_link_is_accepted(data: st.DataObject) -> None:
    request = signed("s3", "GET", "/bu/key?versionId=null", token="t0ken", link=True)
    claim = claim_of(request)
    assert claim is not None, "it is signed"
    at = data.draw(st.integers(0, len(request.query) - 1))
    bit = data.draw(st.integers(0, 7))
    query = request.query[:at] + bytes([request.query[at] ^ (1 << bit)]) + request.query[at + 1 :]
    try:
        found = claim_of(request._replace(query=query))
        if found is not None:  # else it is a request that nobody signed
            verify(request._replace(query=query), b"", s3=True, now_s=epoch_s(claim))
    except BadSignature:
        return
    # the same characters may be written as `%2f` and as `%2F`
    assert found is None or query.upper() == request.query.upper()


@pytest.mark.parametrize("header", [TARGET, "x-amz-target", "content-type", "x-amz-security-token"])
def test_a_header_that_is_a_parameter_must_be_signed(header: str) -> None:
    request = signed("sagemaker", target="/endpoints/houses/invocations", body=b"1")
    assert verify(request, b"1")
    added = request._replace(headers=[*request.headers, (header.encode(), b"tenant-b/model.tar.gz")])
    assert refused(added, b"1").flaw is Flaw.UNSIGNED_HEADER
    assert header in refused(added, b"1").message


def test_the_window_is_five_minutes_and_s3s_fifteen() -> None:
    for s3, window_s in ((False, 300), (True, 900)):
        request = signed("s3" if s3 else "sts", "PUT" if s3 else "POST", "/b/k")
        claim = verify(request, b"", s3=s3)
        at_s = epoch_s(claim)
        for near in (-window_s, window_s):
            verify(request, b"", s3=s3, now_s=at_s + near)
        late, early = (refused(request, s3=s3, now_s=at_s + off) for off in (window_s + 1, -window_s - 1))
        assert (late.flaw, early.flaw) == (Flaw.EXPIRED, Flaw.NOT_YET)
        assert late.message.startswith(f"Signature expired: {claim.moment} is now earlier than ")
        assert late.message.endswith(f" - {window_s // 60} min.)")
        assert early.message.startswith(f"Signature not yet current: {claim.moment} is still later than ")


def test_a_link_lasts_as_long_as_it_says() -> None:
    request = signed("s3", "GET", "/b/k", link=True)  # botocore: 3600 s
    claim = verify(request, b"", s3=True)
    verify(request, b"", s3=True, now_s=epoch_s(claim) + 3600)
    assert refused(request, s3=True, now_s=epoch_s(claim) + 3601).message == "Request has expired"
    assert refused(request, s3=True, now_s=epoch_s(claim) - 901).flaw is Flaw.NOT_YET


def test_a_wrong_secret_is_told_what_should_have_been_signed() -> None:
    found = refused(signed("sts", body=b"a", secret="other"), b"a")
    assert found.flaw is Flaw.MISMATCH
    assert found.canonical.startswith(b"POST\n/\n\n")
    assert found.to_sign.startswith("AWS4-HMAC-SHA256\n")


AUTH = (
    f"AWS4-HMAC-SHA256 Credential={KEY}/20261126/us-east-1/sts/aws4_request, SignedHeaders=host, Signature={'0' * 64}"
)


@pytest.mark.parametrize(
    ("authorization", "flaw"),
    [
        ("Basic abc", Flaw.ALGORITHM),
        ("Bearer sagemaker-api-key-abc", Flaw.ALGORITHM),
        (f"AWS {KEY}:sig", Flaw.ALGORITHM),
        (AUTH.replace("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256"), Flaw.ALGORITHM),
        ("AWS4-HMAC-SHA256", Flaw.INCOMPLETE),
        (AUTH.replace("SignedHeaders=host, ", ""), Flaw.INCOMPLETE),
        (AUTH + ", Signature=" + "1" * 64, Flaw.INCOMPLETE),
        (AUTH + ", Other=1", Flaw.INCOMPLETE),
        (AUTH.replace("0" * 64, "0" * 63), Flaw.INCOMPLETE),
        (AUTH.replace("0" * 64, "A" * 64), Flaw.INCOMPLETE),
        (AUTH.replace("/us-east-1", ""), Flaw.INCOMPLETE),
        (AUTH.replace("us-east-1", "US East"), Flaw.SCOPE),
        (AUTH.replace("aws4_request", "aws3_request"), Flaw.SCOPE),
        (AUTH.replace("20261126/", "20261125/"), Flaw.SCOPE),
        (AUTH.replace("SignedHeaders=host", "SignedHeaders=accept"), Flaw.UNSIGNED_HEADER),
        (AUTH.replace("SignedHeaders=host", "SignedHeaders=host;host"), Flaw.INCOMPLETE),
    ],
)
def test_a_malformed_or_foreign_signature_says_what_is_wrong(authorization: str, flaw: Flaw) -> None:
    headers = [(b"host", HOST.encode()), (b"authorization", authorization.encode()), (b"accept", b"*/*")]
    request = SignedRequest("POST", b"/", b"", [*headers, (b"x-amz-date", b"20261126T120000Z")])
    assert refused(request).flaw is flaw


def test_a_query_and_a_header_may_not_both_sign() -> None:
    link = signed("s3", "GET", "/b/k", link=True)
    both = link._replace(headers=[*link.headers, (b"authorization", AUTH.encode())])
    assert "Only one auth mechanism" in refused(both, s3=True).message
    twice = link._replace(query=link.query + b"&X-Amz-Expires=604800")
    assert "more than once" in refused(twice, s3=True).message


def test_a_request_without_a_signature_claims_nothing() -> None:
    assert claim_of(SignedRequest("GET", b"/b/k", b"versionId=1", [(b"host", HOST.encode())])) is None


def test_s3_needs_the_hash_of_the_body_and_knows_its_words() -> None:
    request = signed("s3", "PUT", "/b/k", body=b"x")
    hashless = request._replace(headers=[one for one in request.headers if one[0] != b"x-amz-content-sha256"])
    assert refused(hashless, s3=True).message == "Missing required header for this request: x-amz-content-sha256"
    odd = signed("s3", "PUT", "/b/k", {"X-Amz-Content-SHA256": "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD"})
    claim = claim_of(odd)
    assert claim is not None
    with pytest.raises(BadSignature, match="must be UNSIGNED-PAYLOAD"):
        s3_payload(
            claim, odd._replace(headers=[(b"x-amz-content-sha256", b"STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD")])
        )
