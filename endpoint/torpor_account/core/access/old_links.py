"""Verifies S3 links and forms with signatures of version 2: boto3 and the AWS CLI make such links by themselves.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/RESTAuthentication.html. Their signatures leave out the host and
most of the query. So a link with any parameter that its signature does not cover is refused here; AWS serves it.
"""

import hmac
from base64 import b64encode
from collections.abc import Mapping
from typing import NamedTuple

from torpor_account.core.access.claims import BadSignature, Flaw, SignedRequest, decoded_pairs
from torpor_account.core.access.signatures import MISMATCH

KEY, SIGNATURE, EXPIRES = "AWSAccessKeyId", "Signature", "Expires"
TOKEN = "x-amz-security-token"

SIGNED = frozenset(
    (
        *("accelerate", "acl", "analytics", "cors", "defaultObjectAcl", "delete", "inventory", "lifecycle", "location"),
        *("logging", "metrics", "notification", "object-lock", "partNumber", "policy", "replication", "requestPayment"),
        *("response-cache-control", "response-content-disposition", "response-content-encoding", "restore"),
        *("response-content-language", "response-content-type", "response-expires", "select", "select-type"),
        *(
            "storageClass",
            "tagging",
            "torrent",
            "uploadId",
            "uploads",
            "versionId",
            "versioning",
            "versions",
            "website",
        ),
    )
)
"""The parameters of a query that the signature covers, beside those that take the place of headers."""

_CONTENT = ("content-md5", "content-type")


class OldClaim(NamedTuple):
    """What an old link says about its signer."""

    access_key: str
    signature: str
    expires: str
    token: str | None


def old_claim_of(request: SignedRequest) -> OldClaim | None:
    """What a link claims; None if it is none with an old signature. Raises BadSignature with INCOMPLETE."""
    if KEY.encode() not in request.query:
        return None
    found = _parameters(request)
    if KEY not in found:
        return None
    missing = [name for name in (SIGNATURE, EXPIRES) if name not in found]
    if missing:
        raise BadSignature(Flaw.INCOMPLETE, f"A presigned link requires the parameter '{missing[0]}'.")
    if b"authorization" in request.by_name or "X-Amz-Signature" in found:
        raise BadSignature(Flaw.INCOMPLETE, "Only one auth mechanism allowed: the query or the Authorization header.")
    return OldClaim(found[KEY], found[SIGNATURE], found[EXPIRES], _fields(request).get(TOKEN))


def check_old_link(claim: OldClaim, request: SignedRequest, secret: str, bucket: str | None, now_s: float) -> None:
    """Raises BadSignature if the holder of the secret key did not sign this link, or not for now.

    `bucket` is the one in the request's host, if there is one there.
    """
    if not (claim.expires.isascii() and claim.expires.isdecimal() and len(claim.expires) <= 11):
        raise BadSignature(Flaw.INCOMPLETE, f"Invalid date (should be seconds since epoch): {claim.expires}")
    if now_s > int(claim.expires):
        raise BadSignature(Flaw.EXPIRED, "Request has expired")
    to_sign = _to_sign(claim, request, bucket)
    if not hmac.compare_digest(old_signature(secret, to_sign), claim.signature.encode()):
        raise BadSignature(Flaw.MISMATCH, MISMATCH, b"", to_sign.decode("utf-8", "replace"))


def old_signature(secret: str, to_sign: bytes) -> bytes:
    """The signature of a link, or of a form's policy."""
    return b64encode(hmac.digest(secret.encode(), to_sign, "sha1"))


def _to_sign(claim: OldClaim, request: SignedRequest, bucket: str | None) -> bytes:
    fields = _fields(request)
    named = sorted(name for name in fields if name.startswith("x-amz-"))
    lines = [request.method, *(fields.get(name, "") for name in _CONTENT), claim.expires]
    lines += [f"{name}:{fields[name]}" for name in named]
    covered = sorted((name, value) for name, value in _parameters(request).items() if name in SIGNED)
    query = "&".join(f"{name}={value}" if value else name for name, value in covered)
    path = request.path.decode("latin-1") if bucket is None else f"/{bucket}{request.path.decode('latin-1')}"
    lines.append(f"{path}?{query}" if query else path)
    return "\n".join(lines).encode()


def _parameters(request: SignedRequest) -> Mapping[str, str]:
    """The query. Raises BadSignature for a parameter that is there twice, or that no signature covers."""
    found: dict[str, str] = {}
    for raw_name, raw_value in decoded_pairs(request.query):
        name, value = raw_name.decode("utf-8", "replace"), raw_value.decode("utf-8", "replace")
        if name in found:
            raise BadSignature(Flaw.INCOMPLETE, f"The signed query has the parameter {name} more than once.")
        known = name in SIGNED or name in (KEY, SIGNATURE, EXPIRES) or name.lower() in _CONTENT
        if not known and not name.lower().startswith("x-amz-"):
            raise BadSignature(Flaw.UNSIGNED_HEADER, f"The link's signature does not cover the parameter {name}.")
        found[name] = value
    return found


def _fields(request: SignedRequest) -> Mapping[str, str]:
    """The headers that are signed, also those that the link carries in its query."""
    found = {name.lower(): value for name, value in _parameters(request).items() if _is_header(name.lower())}
    for raw_name, raw_value in request.by_name.items():
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1").strip()
        if _is_header(name):
            if found.get(name, value) != value:
                raise BadSignature(Flaw.INCOMPLETE, f"The link and the request have different values of {name}.")
            found[name] = value
    return found


def _is_header(name: str) -> bool:
    return name in _CONTENT or name.startswith("x-amz-")
