"""Reads what a request says about its signer, from the header Authorization or from the query of a presigned link.

https://docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html. Nothing here is verified yet.
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

ALGORITHM = "AWS4-HMAC-SHA256"
TERMINATOR = "aws4_request"

SIGNATURE_CHARACTERS = 64
CACHED_MAX_BYTES = 1024
"""The most bytes of what a cache keeps of a request: anybody may send one."""

_LAST = b"Signature="
_ELEMENTS = frozenset(("Credential", "SignedHeaders", "Signature"))
_SIGNATURE = re.compile(r"[0-9a-f]{64}")
_MOMENT = re.compile(r"[0-9]{8}T[0-9]{6}Z")
_LABEL = re.compile(r"[a-z0-9-]{1,64}")
_DIGITS = re.compile(r"[0-9]{1,9}")


class Flaw(Enum):
    """The kinds of faults of a signature. Each protocol has its own code for them."""

    INCOMPLETE = "a part of the signature is missing or malformed"
    ALGORITHM = "another kind of signature"
    SCOPE = "signed for another day, region or service"
    EXPIRED = "signed too long ago"
    NOT_YET = "signed in the future"
    UNSIGNED_HEADER = "a header that must be signed is not"
    PAYLOAD = "the body is not the one that was signed"
    MISMATCH = "the signature is wrong"


class BadSignature(Exception):
    """A signature that does not hold. `canonical` and `to_sign` are what should have been signed, for MISMATCH."""

    def __init__(self, flaw: Flaw, message: str, canonical: bytes = b"", to_sign: str = "") -> None:
        super().__init__(message)
        self.flaw = flaw
        self.message = message
        self.canonical = canonical
        self.to_sign = to_sign


HeaderFields = Mapping[bytes, bytes]
"""Headers by lower-case name; the values of a repeated one are joined by commas."""


class SignedRequest(NamedTuple):
    """A request as it was sent: path and query percent-encoded, the headers by lower-case name, in any order."""

    method: str
    path: bytes
    query: bytes
    headers: Sequence[tuple[bytes, bytes]]
    fields: HeaderFields | None = None
    """The headers by name, if they are at hand."""

    @property
    def by_name(self) -> HeaderFields:
        return self.fields if self.fields is not None else header_fields(self.headers)


def header_fields(headers: Sequence[tuple[bytes, bytes]]) -> HeaderFields:
    fields = dict(headers)
    if len(fields) < len(headers):
        fields = {}
        for name, value in headers:
            fields[name] = b"%b,%b" % (fields[name], value) if name in fields else value
    return fields


class Claim(NamedTuple):
    """What a request says about its signer."""

    access_key: str
    date: str
    region: str
    service: str
    signed_headers: str
    signature: str
    moment: str
    """When it was signed: `YYYYMMDDTHHMMSSZ`."""
    token: str | None = None
    """Of temporary credentials."""
    lasts_s: int | None = None
    """How long a presigned link lasts; None for a signature in a header."""

    @property
    def scope(self) -> str:
        return f"{self.date}/{self.region}/{self.service}/{TERMINATOR}"


def claim_of(request: SignedRequest) -> Claim | None:
    """What the request claims; None if nobody signed it. Raises BadSignature with INCOMPLETE, ALGORITHM or SCOPE."""
    fields = request.by_name
    header = fields.get(b"authorization")
    signed_query = request.query and (b"X-Amz-" in request.query or b"AWSAccessKeyId" in request.query)
    query = _of_link(request.query) if signed_query else None
    if header is None:
        return None if query is None else _link(query)
    if query is not None:
        raise BadSignature(Flaw.INCOMPLETE, "Only one auth mechanism allowed: the query or the Authorization header.")
    moment, token = fields.get(b"x-amz-date"), fields.get(b"x-amz-security-token")
    if moment is None:
        raise BadSignature(Flaw.INCOMPLETE, "Authorization header requires existence of a 'X-Amz-Date' header.")
    signed, signature = _header(header)
    at = moment.strip().decode("latin-1")
    _check_moment(at, signed.date)
    sure = None if token is None else token.strip().decode("latin-1")
    return Claim(*signed, signature, at, sure)


def decoded_pairs(query: bytes) -> list[tuple[bytes, bytes]]:
    """The names and values of a query, decoded as the services decode them: a plus sign is a space."""
    pairs = (part.partition(b"=") for part in query.split(b"&") if part)
    return [(_decoded(name), _decoded(value)) for name, _, value in pairs]


def _decoded(text: bytes) -> bytes:
    return unquote_to_bytes(text.replace(b"+", b" "))


def _header(header: bytes) -> "tuple[_Signed, str]":
    """What a header Authorization says, and its signature."""
    if header[-SIGNATURE_CHARACTERS - len(_LAST) : -SIGNATURE_CHARACTERS] != _LAST or len(header) > CACHED_MAX_BYTES:
        found = _elements(header)
        return _signed(found), _digits(found["Signature"])
    # A client's requests of a day differ in their signatures only.
    signature = _digits(header[-SIGNATURE_CHARACTERS:].decode("latin-1"))
    return _remembered(header[:-SIGNATURE_CHARACTERS]), signature


@lru_cache(1024)
def _remembered(beginning: bytes) -> "_Signed":
    """What a header says that ends with its signature, which is left out."""
    return _signed(_elements(beginning + b"0" * SIGNATURE_CHARACTERS))


def _elements(header: bytes) -> dict[str, str]:
    text = header.decode("latin-1")
    algorithm, _, rest = text.partition(" ")
    _check_algorithm(algorithm)
    found: dict[str, str] = {}
    for part in rest.split(","):
        name, _, value = part.strip(" \t").partition("=")
        if name not in _ELEMENTS or name in found:
            raise BadSignature(Flaw.INCOMPLETE, f"Authorization header has an unknown or repeated element: {name!r}.")
        found[name] = value
    if len(found) < len(_ELEMENTS):
        missing = next(name for name in sorted(_ELEMENTS) if name not in found)
        raise BadSignature(Flaw.INCOMPLETE, f"Authorization header requires '{missing}' parameter.")
    return found


def _of_link(query: bytes) -> Mapping[str, str] | None:
    """The parameters of a signed query; None if the query is not signed. Each may be there once."""
    found: dict[str, str] = {}
    for name, value in decoded_pairs(query):
        text = name.decode("latin-1")
        if text in found:
            raise BadSignature(Flaw.INCOMPLETE, f"The signed query has the parameter {text} more than once.")
        found[text] = value.decode("latin-1")
    if "AWSAccessKeyId" in found:
        _check_algorithm("AWS")
    return found if any(name in found for name in ("X-Amz-Signature", "X-Amz-Algorithm", "X-Amz-Credential")) else None


def _link(query: Mapping[str, str]) -> Claim:
    for name in ("Algorithm", "Credential", "SignedHeaders", "Signature", "Date"):
        if f"X-Amz-{name}" not in query:
            raise BadSignature(Flaw.INCOMPLETE, f"A presigned link requires the parameter 'X-Amz-{name}'.")
    _check_algorithm(query["X-Amz-Algorithm"])
    found = {name: query[f"X-Amz-{name}"] for name in _ELEMENTS}
    signed, signature = _signed(found), _digits(found["Signature"])
    _check_moment(query["X-Amz-Date"], signed.date)
    lasts = query.get("X-Amz-Expires", "900")
    if not _DIGITS.fullmatch(lasts):
        raise BadSignature(Flaw.INCOMPLETE, "X-Amz-Expires should be a number")
    return Claim(*signed, signature, query["X-Amz-Date"], query.get("X-Amz-Security-Token"), int(lasts))


def _check_algorithm(algorithm: str) -> None:
    if algorithm != ALGORITHM:
        text = "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256."
        if algorithm.startswith("AWS4-ECDSA"):
            text = "Torpor does not verify SigV4A, the signatures for several regions. Please use AWS4-HMAC-SHA256."
        raise BadSignature(Flaw.ALGORITHM, text)


class _Signed(NamedTuple):
    """What a signature says beside itself and its time."""

    access_key: str
    date: str
    region: str
    service: str
    signed_headers: str


def _signed(found: Mapping[str, str]) -> _Signed:
    return _Signed(*_credential(found["Credential"]), found["SignedHeaders"])


def _digits(signature: str) -> str:
    if not _SIGNATURE.fullmatch(signature):
        raise BadSignature(Flaw.INCOMPLETE, "The signature must be 64 hexadecimal digits in lower case.")
    return signature


def _check_moment(moment: str, date: str) -> None:
    if not _MOMENT.fullmatch(moment):
        raise BadSignature(Flaw.INCOMPLETE, "X-Amz-Date must be of the form YYYYMMDDTHHMMSSZ, in UTC.")
    if date != moment[:8]:
        text = f"Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '{date}' != "
        raise BadSignature(Flaw.SCOPE, f"{text}'{moment[:8]}', from '{moment}'.")


def _credential(text: str) -> tuple[str, str, str, str]:
    parts = text.split("/")
    if len(parts) != 5 or not parts[0]:
        raise BadSignature(
            Flaw.INCOMPLETE,
            f"Credential must have exactly 5 slash-delimited elements, e.g. {ALGORITHM} "
            "Credential=AccessKeyId/YYYYMMDD/REGION/SERVICE/aws4_request.",
        )
    access_key, date, region, service, terminator = parts
    if terminator != TERMINATOR:
        raise BadSignature(
            Flaw.SCOPE, f"Credential should be scoped with a valid terminator: '{TERMINATOR}', not '{terminator}'."
        )
    if not _LABEL.fullmatch(region):
        raise BadSignature(Flaw.SCOPE, f"Credential should be scoped to a valid Region, not '{region}'.")
    if not _LABEL.fullmatch(service):
        raise BadSignature(Flaw.SCOPE, f"Credential should be scoped to a correct service, not '{service}'.")
    return access_key, date, region, service
