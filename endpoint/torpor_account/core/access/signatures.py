"""Verifies AWS's Signature Version 4, by header and by query. The secret key and the time come in as arguments.

https://docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html. `claims` reads what is verified here.
A request must sign more than its signature could demand: the host, every header that a service reads as a parameter,
and for all services but S3 the type of the body. Otherwise whoever carries the request could add to it.
"""

import hmac
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache
from hashlib import sha256
from urllib.parse import quote, quote_from_bytes

from torpor_account.core.access.claims import (
    ALGORITHM,
    CACHED_MAX_BYTES,
    TERMINATOR,
    BadSignature,
    Claim,
    Flaw,
    HeaderFields,
    SignedRequest,
    decoded_pairs,
)

EMPTY = sha256(b"").hexdigest()
CONTENT_SHA256 = b"x-amz-content-sha256"
PARAMETERS = (b"x-amz-", b"x-amzn-sagemaker-")
"""How the headers begin that are parameters of a call."""
WEEK_S = 604_800

MISMATCH = (
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
    "and signing method. Consult the service documentation for details."
)


class Payload(Enum):
    """What the signature says of an S3 request's body, by the value of X-Amz-Content-Sha256."""

    HASHED = ""
    UNSIGNED = "UNSIGNED-PAYLOAD"
    UNSIGNED_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
    CHUNKS = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
    CHUNKS_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"


_SPECIAL = {one.value: one for one in Payload if one.value}


@dataclass(frozen=True)
class SigningRules:
    """How S3 and the other services differ."""

    window_s: int
    """How far the time of a signature may be from the server's, in seconds."""
    path_as_sent: bool
    type_signed: bool
    """Whether Content-Type must be signed. Presigned links of S3 leave it to the one who uses them."""


S3 = SigningRules(15 * 60, path_as_sent=True, type_signed=False)
OTHERS = SigningRules(5 * 60, path_as_sent=False, type_signed=True)


def check_time(claim: Claim, now_s: float, rules: SigningRules) -> None:
    """Raises BadSignature with EXPIRED or NOT_YET, in AWS's words."""
    signed_s = _epoch_s(claim.moment)
    minutes = rules.window_s // 60
    if signed_s > now_s + rules.window_s:
        limit = f"{_moment(now_s + rules.window_s)} ({_moment(now_s)} + {minutes} min.)"
        raise BadSignature(Flaw.NOT_YET, f"Signature not yet current: {claim.moment} is still later than {limit}")
    if claim.lasts_s is not None:
        if claim.lasts_s > WEEK_S:
            text = f"X-Amz-Expires must be less than a week (in seconds) that is {WEEK_S} seconds"
            raise BadSignature(Flaw.INCOMPLETE, text)
        if signed_s + claim.lasts_s < now_s:
            raise BadSignature(Flaw.EXPIRED, "Request has expired")
    elif signed_s < now_s - rules.window_s:
        limit = f"{_moment(now_s - rules.window_s)} ({_moment(now_s)} - {minutes} min.)"
        raise BadSignature(Flaw.EXPIRED, f"Signature expired: {claim.moment} is now earlier than {limit}")


def check_signature(claim: Claim, request: SignedRequest, secret: str, payload: str, rules: SigningRules) -> None:
    """Raises BadSignature if the holder of the secret key did not sign this request.

    `payload` is what was signed of the body: its SHA-256 in hexadecimal digits, or one of S3's words.
    """
    canonical = _canonical_request(claim, request, payload, rules)
    to_sign = f"{ALGORITHM}\n{claim.moment}\n{claim.scope}\n{sha256(canonical).hexdigest()}"
    key = signing_key(secret, claim.date, claim.region, claim.service)
    expected = hmac.digest(key, to_sign.encode(), "sha256").hex()
    if not hmac.compare_digest(expected, claim.signature):
        raise BadSignature(Flaw.MISMATCH, MISMATCH, canonical, to_sign)


def hashed_payload(request: SignedRequest, body: bytes) -> str:
    """The payload of a request to any service but S3. Raises BadSignature with PAYLOAD if a header differs."""
    digest = sha256(body).hexdigest() if body else EMPTY
    stated = request.by_name.get(CONTENT_SHA256)
    if stated is not None and stated.decode("latin-1") != digest:
        text = "The header X-Amz-Content-Sha256 is not the SHA-256 of the body in hexadecimal digits."
        raise BadSignature(Flaw.PAYLOAD, text)
    return digest


def s3_payload(claim: Claim, request: SignedRequest) -> tuple[str, Payload]:
    """What an S3 request says of its body, and the kind. Raises BadSignature with INCOMPLETE."""
    stated = [value.decode("latin-1") for name, value in request.headers if name == CONTENT_SHA256]
    if claim.lasts_s is not None:
        pairs = decoded_pairs(request.query)
        stated += [value.decode("latin-1") for name, value in pairs if name.lower() == CONTENT_SHA256]
        stated = stated or [Payload.UNSIGNED.value]
    if not stated:
        raise BadSignature(Flaw.INCOMPLETE, "Missing required header for this request: x-amz-content-sha256")
    text = stated[0]
    if any(other != text for other in stated) or not (text in _SPECIAL or _is_digest(text)):
        named = ", ".join((*_SPECIAL, "or a valid sha256 value."))
        raise BadSignature(Flaw.INCOMPLETE, f"x-amz-content-sha256 must be {named}")
    return text, _SPECIAL.get(text, Payload.HASHED)


@lru_cache(1024)
def signing_key(secret: str, date: str, region: str, service: str) -> bytes:
    """The key of a day: the same for all requests of a credential to one service in one region."""
    key = f"AWS4{secret}".encode()
    for part in (date, region, service, TERMINATOR):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def canonical_query(query: bytes) -> bytes:
    """The query sorted and encoded in one way, without its signature."""
    if not query:
        return b""
    pairs = sorted(
        (_encoded(name), _encoded(value)) for name, value in decoded_pairs(query) if name != b"X-Amz-Signature"
    )
    return "&".join(f"{name}={value}" for name, value in pairs).encode()


def _canonical_request(claim: Claim, request: SignedRequest, payload: str, rules: SigningRules) -> bytes:
    names = claim.signed_headers
    lines = _canonical_headers(names, request.by_name, rules)
    path = request.path
    if not rules.path_as_sent:
        path = _canonical_path(path) if len(path) <= CACHED_MAX_BYTES else _canonical_path.__wrapped__(path)
    query = canonical_query(request.query) if request.query else b""
    return b"%b\n%b\n%b\n%b\n%b\n%b" % (
        request.method.encode(),
        path or b"/",
        query,
        lines,
        names.encode("latin-1"),
        payload.encode(),
    )


def _canonical_headers(signed: str, fields: HeaderFields, rules: SigningRules) -> bytes:
    """A line for each signed header. Raises BadSignature if one is missing, or if another should be signed too."""
    names, known = _names(signed) if len(signed) <= CACHED_MAX_BYTES else _names.__wrapped__(signed)
    for name in fields:
        if name not in known and (name.startswith(PARAMETERS) or (rules.type_signed and name == b"content-type")):
            text = f"There were headers present in the request which were not signed: {name.decode('latin-1')}"
            raise BadSignature(Flaw.UNSIGNED_HEADER, text)
    try:
        return b"".join([b"%b:%b\n" % (name, _trimmed(fields[name])) for name in names])
    except KeyError as missing:
        text = f"The signed header {missing.args[0].decode('latin-1')} is not in the request."
        raise BadSignature(Flaw.INCOMPLETE, text) from None


def _trimmed(value: bytes) -> bytes:
    """Without white space at its ends, and with one space for each run of it."""
    return b" ".join(value.split()) if b"  " in value or b"\t" in value else value.strip()


@lru_cache(1024)
def _names(signed: str) -> tuple[tuple[bytes, ...], frozenset[bytes]]:
    """The names in their order, and for looking up."""
    names = tuple(signed.encode("latin-1").split(b";"))
    if b"host" not in names:
        raise BadSignature(Flaw.UNSIGNED_HEADER, "'Host' must be a 'SignedHeader' in the AWS Authorization.")
    if len(set(names)) < len(names):
        raise BadSignature(Flaw.INCOMPLETE, "SignedHeaders names a header twice.")
    return names, frozenset(names)


@lru_cache(1024)
def _canonical_path(path: bytes) -> bytes:
    """The path encoded once more. Raises BadSignature for empty or dot segments: they could mean two things."""
    if b"//" in path or any(part in (b".", b"..") for part in path.split(b"/")):
        raise BadSignature(Flaw.INCOMPLETE, "The path of a signed request must not have empty or dot segments.")
    return quote(path, safe="/~").encode()


def _encoded(text: bytes) -> str:
    return quote_from_bytes(text, safe="-_.~")


def _is_digest(text: str) -> bool:
    return len(text) == 64 and all(character in "0123456789abcdef" for character in text)


@lru_cache(256)
def _epoch_s(moment: str) -> float:
    try:
        return datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise BadSignature(Flaw.INCOMPLETE, "X-Amz-Date must be of the form YYYYMMDDTHHMMSSZ, in UTC.") from None


def _moment(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y%m%dT%H%M%SZ")
