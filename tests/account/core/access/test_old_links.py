"""botocore's old signer is the oracle: its links are accepted, and no change of them is."""

import hmac
from base64 import b64encode
from urllib.parse import quote, urlencode, urlsplit

import pytest
from botocore.auth import HmacV1QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.account.helpers.signed_requests import HOST, KEY, SECRET
from torpor_account.core.access.claims import BadSignature, Flaw, SignedRequest
from torpor_account.core.access.old_links import check_old_link, old_claim_of, old_signature

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


@settings(max_examples=60)
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


@settings(max_examples=150)
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
