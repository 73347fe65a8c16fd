"""What a request says of its signer, by header and by link, and what is said of one that says it wrongly."""

from urllib.parse import quote

import pytest

from torpor_account.core.access.claims import (
    CACHED_MAX_BYTES,
    BadSignature,
    Claim,
    Flaw,
    SignedRequest,
    claim_of,
    decoded_pairs,
    header_fields,
)

DIGITS = "0123456789abcdef" * 4
CREDENTIAL = "AKIA/20261126/us-east-1/sts/aws4_request"
MOMENT = "20261126T120000Z"
SIGNED = Claim("AKIA", "20261126", "us-east-1", "sts", "host;x-amz-date", DIGITS, MOMENT)
HEADER = f"AWS4-HMAC-SHA256 Credential={CREDENTIAL}, SignedHeaders=host;x-amz-date, Signature={DIGITS}"
LINK = {
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": CREDENTIAL,
    "X-Amz-Date": MOMENT,
    "X-Amz-Expires": "60",
    "X-Amz-SignedHeaders": "host;x-amz-date",
    "X-Amz-Signature": DIGITS,
}


def by_header(authorization: str = HEADER, moment: str | None = MOMENT, **others: str) -> Claim | None:
    headers = [(b"host", b"h"), (b"authorization", authorization.encode("latin-1"))]
    headers += [] if moment is None else [(b"x-amz-date", moment.encode())]
    headers += [(name.replace("_", "-").encode(), value.encode()) for name, value in others.items()]
    return claim_of(SignedRequest("POST", b"/", b"", headers))


def by_link(**changed: str | None) -> Claim | None:
    members = {**LINK, **{f"X-Amz-{name.replace('_', '-')}": value for name, value in changed.items()}}
    query = "&".join(f"{name}={quote(value)}" for name, value in members.items() if value is not None)
    return claim_of(SignedRequest("GET", b"/b/k", query.encode(), [(b"host", b"h")]))


def flaw(call: object) -> tuple[Flaw, str]:
    assert callable(call)
    with pytest.raises(BadSignature) as refused:
        call()
    assert str(refused.value) == refused.value.message
    assert (refused.value.canonical, refused.value.to_sign) == (b"", "")
    return refused.value.flaw, refused.value.message


@pytest.mark.parametrize(
    "header",
    [
        HEADER,
        HEADER.replace(", ", ","),
        HEADER.replace(", ", " ,\t"),
        f"AWS4-HMAC-SHA256 Signature={DIGITS}, SignedHeaders=host;x-amz-date, Credential={CREDENTIAL}",
    ],
)
def test_a_header_names_its_signer_in_any_order(header: str) -> None:
    assert by_header(header) == SIGNED
    assert by_header(header, f" {MOMENT} ", x_amz_security_token=" t ") == SIGNED._replace(token="t")
    assert SIGNED.scope == "20261126/us-east-1/sts/aws4_request"


def test_a_header_that_is_too_long_to_remember_is_read_as_well() -> None:
    names = ";".join(f"x-amz-meta-{number}" for number in range(CACHED_MAX_BYTES // 10))
    claim = by_header(HEADER.replace("host;x-amz-date", names))
    assert claim == SIGNED._replace(signed_headers=names)


def test_a_link_names_its_signer_and_how_long_it_lasts() -> None:
    assert by_link() == SIGNED._replace(lasts_s=60)
    assert by_link(Expires=None) == SIGNED._replace(lasts_s=900)
    assert by_link(Security_Token="t/+") == SIGNED._replace(lasts_s=60, token="t/+")


@pytest.mark.parametrize("query", ["", "a=1", "a=1&a=2", "versionId=X-Amz-", "X-Amz-Expires=60"])
def test_a_request_without_a_signature_claims_nothing(query: str) -> None:
    assert claim_of(SignedRequest("GET", b"/b/k", query.encode(), [(b"host", b"h")])) is None


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (HEADER.replace(DIGITS, DIGITS[:-1]), "The signature must be 64 hexadecimal digits in lower case."),
        (HEADER.replace(DIGITS, DIGITS.upper()), "The signature must be 64 hexadecimal digits in lower case."),
        (
            HEADER.replace("Signature", "signature"),
            "Authorization header has an unknown or repeated element: 'signature'.",
        ),
        (f"{HEADER}, Signature={DIGITS}", "Authorization header has an unknown or repeated element: 'Signature'."),
        (HEADER.replace(f"Credential={CREDENTIAL}, ", ""), "Authorization header requires 'Credential' parameter."),
        (
            HEADER.replace("SignedHeaders=host;x-amz-date, ", ""),
            "Authorization header requires 'SignedHeaders' parameter.",
        ),
        (HEADER.split(", Sig")[0], "Authorization header requires 'Signature' parameter."),
    ],
)
def test_what_is_missing_or_malformed_in_a_header_is_said(header: str, found: str) -> None:
    assert flaw(lambda: by_header(header)) == (Flaw.INCOMPLETE, found)


@pytest.mark.parametrize(
    ("credential", "kind", "found"),
    [
        ("AKIA/20261126/us-east-1/sts", Flaw.INCOMPLETE, "Credential must have exactly 5 slash-delimited elements"),
        (f"{CREDENTIAL}/x", Flaw.INCOMPLETE, "Credential must have exactly 5 slash-delimited elements"),
        (CREDENTIAL.replace("AKIA", ""), Flaw.INCOMPLETE, "Credential must have exactly 5 slash-delimited elements"),
        (CREDENTIAL.replace("aws4", "aws3"), Flaw.SCOPE, "Credential should be scoped with a valid terminator"),
        (CREDENTIAL.replace("us-east-1", "US"), Flaw.SCOPE, "Credential should be scoped to a valid Region, not 'US'"),
        (CREDENTIAL.replace("us-east-1", ""), Flaw.SCOPE, "Credential should be scoped to a valid Region, not ''"),
        (CREDENTIAL.replace("us-east-1", "r" * 65), Flaw.SCOPE, "Credential should be scoped to a valid Region"),
        (CREDENTIAL.replace("sts", "S"), Flaw.SCOPE, "Credential should be scoped to a correct service, not 'S'"),
        (
            CREDENTIAL.replace("20261126", "20261127"),
            Flaw.SCOPE,
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '20261127' != "
            "'20261126', from '20261126T120000Z'.",
        ),
    ],
)
def test_a_credential_for_something_else_is_refused_in_both_forms(credential: str, kind: Flaw, found: str) -> None:
    for said in (
        flaw(lambda: by_header(HEADER.replace(CREDENTIAL, credential))),
        flaw(lambda: by_link(Credential=credential)),
    ):
        assert said[0] is kind
        assert said[1].startswith(found)


@pytest.mark.parametrize("name", ["Algorithm", "Credential", "SignedHeaders", "Signature", "Date"])
def test_a_link_needs_all_its_parameters(name: str) -> None:
    found = flaw(lambda: by_link(**{name: None}))
    assert found == (Flaw.INCOMPLETE, f"A presigned link requires the parameter 'X-Amz-{name}'.")


@pytest.mark.parametrize("name", ["Algorithm", "Credential", "Signature"])
def test_a_query_with_one_part_of_a_signature_is_an_incomplete_link(name: str) -> None:
    request = SignedRequest("GET", b"/b/k", f"X-Amz-{name}=x".encode(), [(b"host", b"h")])
    kind, text = flaw(lambda: claim_of(request))
    assert (kind, text[:34]) == (Flaw.INCOMPLETE, "A presigned link requires the para")


@pytest.mark.parametrize("expires", ["", "-1", "1.5", "٣", "1" * 10])
def test_a_link_lasts_a_number_of_seconds(expires: str) -> None:
    assert flaw(lambda: by_link(Expires=expires)) == (Flaw.INCOMPLETE, "X-Amz-Expires should be a number")


@pytest.mark.parametrize("moment", ["", "20261126", "2026-11-26T12:00:00Z", "20261126T120000", "20261126T120000Zx"])
def test_the_moment_of_a_signature_is_in_utc_to_the_second(moment: str) -> None:
    wanted = (Flaw.INCOMPLETE, "X-Amz-Date must be of the form YYYYMMDDTHHMMSSZ, in UTC.")
    assert flaw(lambda: by_header(moment=moment)) == wanted
    assert flaw(lambda: by_link(Date=moment)) == wanted


def test_a_header_needs_its_moment_in_another_one() -> None:
    assert flaw(lambda: by_header(moment=None)) == (
        Flaw.INCOMPLETE,
        "Authorization header requires existence of a 'X-Amz-Date' header.",
    )


@pytest.mark.parametrize(
    ("algorithm", "found"),
    [
        ("AWS", "The authorization mechanism you have provided is not supported."),
        ("AWS4-HMAC-SHA1", "The authorization mechanism you have provided is not supported."),
        ("AWS4-ECDSA-P256-SHA256", "Torpor does not verify SigV4A"),
    ],
)
def test_another_kind_of_signature_is_named(algorithm: str, found: str) -> None:
    for said in (
        flaw(lambda: by_header(HEADER.replace("AWS4-HMAC-SHA256", algorithm))),
        flaw(lambda: by_link(Algorithm=algorithm)),
    ):
        assert said[0] is Flaw.ALGORITHM
        assert said[1].startswith(found)
    old = SignedRequest("GET", b"/b/k", b"AWSAccessKeyId=AKIA&Signature=x&Expires=1", [(b"host", b"h")])
    assert flaw(lambda: claim_of(old))[0] is Flaw.ALGORITHM


def test_a_repeated_header_has_all_its_values_and_a_plus_sign_in_a_query_is_a_space() -> None:
    assert header_fields([(b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"a", b"4")]) == {b"a": b"1,3,4", b"b": b"2"}
    assert decoded_pairs(b"a=1+2&&b=%2B&c&d=x=y") == [(b"a", b"1 2"), (b"b", b"+"), (b"c", b""), (b"d", b"x=y")]
