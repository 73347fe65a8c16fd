"""botocore's old signer is the oracle: its links are accepted, and no change of them is."""

import hmac
from base64 import b64encode
from urllib.parse import quote, urlencode, urlsplit

import pytest
from botocore.auth import HmacV1Auth, HmacV1QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.account.helpers.signed_requests import HOST, KEY, SECRET
from tests.helpers.example_counts import tries
from torpor_account.core.access.claims import BadSignature, Flaw, SignedRequest
from torpor_account.core.access.old_links import SIGNED, OldClaim, check_old_link, old_claim_of, old_signature
from torpor_account.core.access.signatures import MISMATCH

WORDS = st.text("abcXYZ019-_.~ +=ü", min_size=1, max_size=8)


def link(
    method: str = "GET",
    path: str = "/bu/k",
    query: str = "",
    headers: dict[str, str] | None = None,
    token: str | None = None,
) -> SignedRequest:
    request = AWSRequest(method, f"http://{HOST}{path}" + (f"?{query}" if query else ""), dict(headers or {}))
    request.auth_path = path
    HmacV1QueryAuth(Credentials(KEY, SECRET, token), expires=60).add_auth(request)
    url = urlsplit(request.url)
    return SignedRequest(method, url.path.encode(), url.query.encode(), [(b"host", HOST.encode())])


def verify(request: SignedRequest, now_s: float | None = None, bucket: str | None = None) -> None:
    claim = old_claim_of(request)
    if claim is None or claim.access_key != KEY:
        raise BadSignature(Flaw.MISMATCH, "nobody signed it, or somebody unknown")
    check_old_link(claim, request, SECRET, bucket, int(claim.expires) if now_s is None else now_s)


@settings(max_examples=tries(24))
@given(
    method=st.sampled_from(["GET", "PUT", "DELETE"]),
    key=WORDS,
    query=st.dictionaries(st.sampled_from(["versionId", "response-content-type", "uploadId"]), WORDS, max_size=2),
    headers=st.dictionaries(
        st.sampled_from(["Content-Type", "x-amz-meta-a", "x-amz-acl"]), st.sampled_from(["a/b", "c d"])
    ),
    token=st.none() | st.just("t0k/en="),
)
def test_what_botocore_signs_is_accepted(method, key, query, headers, token) -> None:  # type: ignore[no-untyped-def]
    verify(link(method, f"/bu/{quote(key)}", urlencode(query, quote_via=quote), headers, token))


@settings(max_examples=tries(60))
@given(data=st.data())
def test_no_changed_bit_of_a_link_is_accepted(data: st.DataObject) -> None:
    request = link(query="versionId=null", headers={"x-amz-acl": "private"}, token="t0ken")
    field = data.draw(st.sampled_from(["path", "query"]))
    text = getattr(request, field)
    at, bit = data.draw(st.integers(0, 9999)) % len(text), data.draw(st.integers(0, 7))
    changed = request._replace(**{field: text[:at] + bytes([text[at] ^ (1 << bit)]) + text[at + 1 :]})
    claim = old_claim_of(request)
    assert claim is not None
    try:
        verify(changed, now_s=int(claim.expires) - 30)
    except BadSignature:
        return
    # the same characters may be written as `%2f` and as `%2F`; and names of headers in any case
    assert changed.query.upper() == request.query.upper()
    assert changed.path == request.path


@pytest.mark.parametrize(
    "more",
    [b"&prefix=a", b"&versionId=null", b"&acl", b"&x-amz-copy-source=b/k", b"&content-type=a", b"&Expires=9999999999"],
)
def test_nothing_can_be_added_to_a_link(more: bytes) -> None:
    request = link()
    with pytest.raises(BadSignature):
        verify(request._replace(query=request.query + more))
    with pytest.raises(BadSignature):
        verify(request._replace(headers=[*request.headers, (b"x-amz-acl", b"public-read")]))
    with pytest.raises(BadSignature):
        verify(request._replace(method="DELETE"))


def test_a_link_lasts_as_long_as_it_says() -> None:
    request = link()
    claim = old_claim_of(request)
    assert claim is not None
    with pytest.raises(BadSignature, match="Request has expired"):
        verify(request, now_s=int(claim.expires) + 1)


def test_a_bucket_in_the_host_is_part_of_the_path() -> None:
    request = link(path="/bu/k")
    verify(request._replace(path=b"/k"), bucket="bu")
    with pytest.raises(BadSignature):
        verify(request._replace(path=b"/k"), bucket="other")


def test_a_forms_policy_is_signed_as_it_is() -> None:
    assert old_signature("secret", b"cG9saWN5") == b64encode(hmac.digest(b"secret", b"cG9saWN5", "sha1"))


def test_a_signature_covers_the_parameters_that_botocore_signs() -> None:
    assert frozenset(HmacV1Auth.QSAOfInterest) == SIGNED
    for name in SIGNED:
        verify(link(query=f"{name}=1"))


def plain(query: bytes, *headers: tuple[bytes, bytes]) -> SignedRequest:
    return SignedRequest("GET", b"/bu/k", query, [(b"host", HOST.encode()), *headers])


def flaw_of(request: SignedRequest, now_s: float | None = None) -> tuple[Flaw, str]:
    with pytest.raises(BadSignature) as refused:
        verify(request, now_s)
    return refused.value.flaw, refused.value.message


WHOLE = b"AWSAccessKeyId=a&Signature=b&Expires=9"


def test_a_link_says_who_signed_it_for_how_long_and_with_which_token() -> None:
    assert old_claim_of(plain(WHOLE)) == OldClaim("a", "b", "9", None)
    assert old_claim_of(plain(WHOLE + b"&X-Amz-Security-Token=t%2F0")) == OldClaim("a", "b", "9", "t/0")
    assert old_claim_of(plain(WHOLE, (b"x-amz-security-token", b" t "))) == OldClaim("a", "b", "9", "t")


@pytest.mark.parametrize("query", [b"", b"versionId=1", b"versionId=AWSAccessKeyId"])
def test_a_request_without_a_key_is_no_such_link(query: bytes) -> None:
    assert old_claim_of(plain(query)) is None


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (plain(b"AWSAccessKeyId=a&Expires=9"), "A presigned link requires the parameter 'Signature'."),
        (plain(b"AWSAccessKeyId=a&Signature=b"), "A presigned link requires the parameter 'Expires'."),
        (plain(WHOLE, (b"authorization", b"AWS a:b")), "Only one auth mechanism allowed"),
        (plain(WHOLE + b"&X-Amz-Signature=b"), "Only one auth mechanism allowed"),
        (plain(WHOLE + b"&Expires=9"), "The signed query has the parameter Expires more than once."),
        (plain(WHOLE + b"&x-amz-acl=a", (b"x-amz-acl", b"b")), "have different values of x-amz-acl."),
        (plain(WHOLE + b"&Content-Type=a", (b"content-type", b"b")), "have different values of content-type."),
    ],
)
def test_a_link_that_lacks_a_part_or_has_two_of_one_is_incomplete(request_: SignedRequest, message: str) -> None:
    with pytest.raises(BadSignature, match=message) as refused:
        old_claim_of(request_)
    assert refused.value.flaw is Flaw.INCOMPLETE


@pytest.mark.parametrize("name", ["prefix", "content-length", "AWSAccessKeyID", "x-amz"])
def test_a_parameter_that_no_signature_covers_is_named(name: str) -> None:
    found = flaw_of(plain(WHOLE + f"&{name}=1".encode()))
    assert found == (Flaw.UNSIGNED_HEADER, f"The link's signature does not cover the parameter {name}.")


@pytest.mark.parametrize("expires", ["", "x", "-1", "1.5", "\uff11", "\u00b2", "1" * 12])
def test_a_link_ends_at_a_number_of_seconds(expires: str) -> None:
    request = plain(f"AWSAccessKeyId={KEY}&Signature=b&Expires={quote(expires)}".encode())
    assert flaw_of(request, 0.0) == (Flaw.INCOMPLETE, f"Invalid date (should be seconds since epoch): {expires}")
    last = plain(f"AWSAccessKeyId={KEY}&Signature=b&Expires={'9' * 11}".encode())
    assert flaw_of(last, 0.0)[0] is Flaw.MISMATCH


def test_a_wrong_signature_is_told_with_what_should_have_been_signed() -> None:
    """As S3 does: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html (StringToSign)."""
    query = (
        f"AWSAccessKeyId={KEY}&Signature=b&Expires=9&versionId=v&acl&Content-MD5=m&x-amz-b=2&X-Amz-A=1&content-type=c"
    )
    with pytest.raises(BadSignature) as refused:
        verify(plain(query.encode()), 9.0, bucket="top")
    assert (refused.value.flaw, refused.value.message, refused.value.canonical) == (Flaw.MISMATCH, MISMATCH, b"")
    assert refused.value.to_sign == "GET\nm\nc\n9\nx-amz-a:1\nx-amz-b:2\n/top/bu/k?acl&versionId=v"
    assert flaw_of(plain(query.encode()), 9.5) == (Flaw.EXPIRED, "Request has expired")
