"""An object's headers: which are kept from its writer, and which a reader gets; pure."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from torpor_endpoint.services.s3.errors import Refusal, S3Error
from torpor_endpoint.services.s3.storage.entries import STANDARD, STORAGE_CLASS, ObjectEntry, ObjectTraits
from torpor_endpoint.services.s3.wire.conditions import http_date

META: Final = "x-amz-meta-"
KEPT: Final = (
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "expires",
)
# Of how an object is kept: shown to its readers as it was asked for, without effect, and never copied along with it.
ENCRYPTION: Final = "x-amz-server-side-encryption"
PLACED: Final = (
    ENCRYPTION,
    f"{ENCRYPTION}-aws-kms-key-id",
    f"{ENCRYPTION}-bucket-key-enabled",
    STORAGE_CLASS,
    "x-amz-website-redirect-location",
)
STORAGE_CLASSES: Final = frozenset(
    (
        *(STANDARD, "REDUCED_REDUNDANCY", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING"),
        *("GLACIER", "GLACIER_IR", "DEEP_ARCHIVE"),
    )
)
ENCRYPTIONS: Final = frozenset(("AES256", "aws:kms", "aws:kms:dsse"))
DEFAULT_TYPE: Final = "binary/octet-stream"  # AWS: "The default value for Content-Type is binary/octet-stream"

META_MAX_BYTES: Final = 2048  # AWS: "the user-defined metadata is limited to 2 KB in size"
TAGS_MAX: Final = 10
BUCKET_TAGS_MAX: Final = 50
TAGGING: Final = "x-amz-tagging"
SYSTEM_TAGS: Final = "aws:"
TAG_KEY_MAX: Final = 128
TAG_VALUE_MAX: Final = 256

# AWS: "letters, numbers, and spaces representable in UTF-8, and the following characters: + - = . _ : / @".
_TAG: Final = re.compile(r"(?:[\w+\-=.:/@]|[^\S\x00-\x1f\x85])*")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
# RFC 9110: what a header may be called, and what no value of one has.
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
_NO_VALUE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def traits(headers: Mapping[str, str]) -> ObjectTraits:
    """What a writing request says about its object. A link or a form may say what no header can hold: it is refused."""
    kept = _kept(headers) | placed(headers)
    for name, value in kept.items():
        if not _NAME.fullmatch(name) or _NO_VALUE.search(value):
            raise S3Error(Refusal.InvalidArgument, ArgumentName=name)
    return ObjectTraits(headers=kept, tags=header_tags(headers))


def copied_headers(own: Mapping[str, str], source: ObjectEntry) -> dict[str, str]:
    """AWS: metadata is copied by default, storage class, encryption and redirect location are the request's own."""
    kept = {name: value for name, value in source.traits.headers.items() if name not in PLACED}
    return kept | placed(own)


def placed(headers: Mapping[str, str]) -> dict[str, str]:
    """How the object is to be kept. Raises InvalidStorageClass, InvalidEncryptionAlgorithmError, NotImplemented."""
    given = {name: headers[name] for name in PLACED if name in headers}
    if given.get(STORAGE_CLASS, STANDARD) not in STORAGE_CLASSES:
        raise S3Error(Refusal.InvalidStorageClass, StorageClassRequested=given[STORAGE_CLASS])
    if given.get(ENCRYPTION, "AES256") not in ENCRYPTIONS:
        raise S3Error(Refusal.InvalidEncryptionAlgorithmError)
    if f"{ENCRYPTION}-customer-algorithm" in headers:
        raise S3Error(Refusal.NotImplemented, "This object store encrypts nothing, and takes no keys from its callers.")
    if "x-amz-object-lock-mode" in headers or "x-amz-object-lock-legal-hold" in headers:
        raise S3Error(Refusal.InvalidRequest, "Bucket is missing Object Lock Configuration")
    # AWS: the header is returned "for all objects except for S3 Standard storage class objects".
    return {name: value for name, value in given.items() if value != STANDARD}


def encryption_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Those that a writer is told again."""
    return {name: value for name, value in headers.items() if name.startswith(ENCRYPTION)}


def replaces(headers: Mapping[str, str], directive: str) -> bool:
    """Whether a copy is to have its own metadata, or tags, and not its source's."""
    wish = headers.get(f"x-amz-{directive}-directive", "COPY").upper()
    if wish not in ("COPY", "REPLACE"):
        raise S3Error(Refusal.InvalidArgument, f"Unknown {directive} directive.", ArgumentValue=wish)
    return wish == "REPLACE"


def header_tags(headers: Mapping[str, str]) -> dict[str, str]:
    """`x-amz-tagging`: the tags encoded like a query."""
    header = headers.get(TAGGING, "")
    try:
        pairs = parse_qsl(header, keep_blank_values=True, errors="strict")
    except ValueError as error:
        raise _no_tagging(header) from error
    if len(dict(pairs)) < len(pairs):
        raise _no_tagging(header)
    return checked_tags(pairs)


def checked_tags(pairs: list[tuple[str, str]], most: int = TAGS_MAX, what: str = "Object tags") -> dict[str, str]:
    """Raises InvalidTag, and BadRequest where there are too many."""
    if len(pairs) > most:
        raise S3Error(Refusal.BadRequest, f"{what} cannot be greater than {most}")
    if len(dict(pairs)) < len(pairs):
        raise S3Error(Refusal.InvalidTag, "Cannot provide multiple Tags with the same key")
    for key, value in pairs:
        if not 1 <= len(key) <= TAG_KEY_MAX or not _TAG.fullmatch(key):
            raise S3Error(Refusal.InvalidTag, "The TagKey you have provided is invalid", TagKey=key)
        if key.lower().startswith(SYSTEM_TAGS):
            raise S3Error(Refusal.InvalidTag, "System tags cannot be added/updated by requester")
        if len(value) > TAG_VALUE_MAX or not _TAG.fullmatch(value):
            raise S3Error(Refusal.InvalidTag, "The TagValue you have provided is invalid", TagKey=key)
    return dict(pairs)


def object_headers(entry: ObjectEntry) -> dict[str, str]:
    """What every reader of an object gets, except for what depends on the range it asked for."""
    given = {"content-type": DEFAULT_TYPE, **entry.traits.headers}
    given |= {"etag": f'"{entry.etag}"', "last-modified": http_date(entry.modified_s), "accept-ranges": "bytes"}
    if entry.traits.tags:
        given["x-amz-tagging-count"] = str(len(entry.traits.tags))
    return given


def checksum_headers(entry: ObjectEntry) -> dict[str, str]:
    """Only for the whole object: a client holds them against the bytes it got, and fails on a part of them."""
    checksum = entry.traits.checksum
    return {checksum.header: checksum.value, "x-amz-checksum-type": checksum.kind} if checksum else {}


def overrides(query: Mapping[str, str]) -> dict[str, str]:
    """`response-content-type=...` and its like, by which a link says how its object is to be shown."""
    given = {name: query[f"response-{name}"] for name in KEPT if f"response-{name}" in query}
    for name, value in given.items():
        if _CONTROL.search(value):
            raise S3Error(Refusal.InvalidArgument, ArgumentName=f"response-{name}")
    return given


def _no_tagging(header: str) -> S3Error:
    text = (
        f"The header '{TAGGING}' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name "
        "duplicates."
    )
    return S3Error(Refusal.InvalidArgument, text, ArgumentName=TAGGING, ArgumentValue=header)


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    kept = {name: headers[name] for name in KEPT if name in headers}
    codings = [coding.strip() for coding in kept.pop("content-encoding", "").split(",")]
    encoding = ",".join(coding for coding in codings if coding not in ("", "aws-chunked"))
    if encoding:
        kept["content-encoding"] = encoding
    return kept | _meta(headers)


def _meta(headers: Mapping[str, str]) -> dict[str, str]:
    meta = {name: value for name, value in headers.items() if name.startswith(META)}
    size_bytes = sum(len(name) - len(META) + len(value.encode("latin-1")) for name, value in meta.items())
    if size_bytes > META_MAX_BYTES:
        sizes = {"Size": str(size_bytes), "MaxSizeAllowed": str(META_MAX_BYTES)}
        raise S3Error(Refusal.MetadataTooLarge, **sizes)
    return meta
