"""Chooses an object's headers: those stored from its writer, and those sent to a reader. Pure."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.storage.entries import STANDARD, STORAGE_CLASS, ObjectEntry, ObjectTraits
from torpor_account.s3.wire.preconditions import http_date

META: Final = "x-amz-meta-"
KEPT: Final = (
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "expires",
)
# How an object is stored. Readers see what the writer requested; it has no effect, and a copy does not inherit it.
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
LOCKS: Final = ("x-amz-object-lock-mode", "x-amz-object-lock-legal-hold", "x-amz-object-lock-event-hold")
CHOICES: Final[Mapping[str, frozenset[str]]] = {
    "x-amz-acl": frozenset(
        (
            *("private", "public-read", "public-read-write", "authenticated-read", "aws-exec-read"),
            *("bucket-owner-read", "bucket-owner-full-control", "log-delivery-write"),
        )
    ),
    "x-amz-bucket-namespace": frozenset(("account-regional", "global")),
    "x-amz-request-payer": frozenset(("requester",)),
    "x-amz-checksum-mode": frozenset(("ENABLED",)),
    "x-amz-optional-object-attributes": frozenset(("RestoreStatus",)),
}
"""The values of headers that any operation may have."""
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
# RFC 9110: the names of headers, and the characters that no value may have.
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
_NO_VALUE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def check_choices(headers: Mapping[str, str]) -> None:
    """Raises InvalidArgument for a header whose value is none of its known ones."""
    for name, known in CHOICES.items():
        if name in headers and headers[name] not in known:
            raise S3Error(Refusal.InvalidArgument, ArgumentName=name, ArgumentValue=headers[name])


def traits(headers: Mapping[str, str]) -> ObjectTraits:
    """What a writing request says about its object. Raises InvalidArgument for a text that no header can hold, which a
    link or a form may have."""
    stored = _stored(headers) | placed(headers)
    for name, value in stored.items():
        if not _NAME.fullmatch(name) or _NO_VALUE.search(value):
            raise S3Error(Refusal.InvalidArgument, ArgumentName=name)
    return ObjectTraits(headers=stored, tags=header_tags(headers))


def copied_headers(own: Mapping[str, str], source: ObjectEntry) -> dict[str, str]:
    """The headers of a copy. AWS: metadata is copied by default; storage class, encryption and redirect location are
    those of the request."""
    stored = {name: value for name, value in source.traits.headers.items() if name not in PLACED}
    return stored | placed(own)


def placed(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers about how to store the object. Raises InvalidStorageClass, InvalidEncryptionAlgorithmError,
    NotImplemented."""
    given = {name: headers[name] for name in PLACED if name in headers}
    if given.get(STORAGE_CLASS, STANDARD) not in STORAGE_CLASSES:
        raise S3Error(Refusal.InvalidStorageClass, StorageClassRequested=given[STORAGE_CLASS])
    if given.get(ENCRYPTION, "AES256") not in ENCRYPTIONS:
        raise S3Error(Refusal.InvalidEncryptionAlgorithmError)
    if f"{ENCRYPTION}-customer-algorithm" in headers:
        raise S3Error(Refusal.NotImplemented, "This object store encrypts nothing, and takes no keys from its callers.")
    if any(name in headers for name in LOCKS):
        raise S3Error(Refusal.InvalidRequest, "Bucket is missing Object Lock Configuration")
    # AWS: the header is returned "for all objects except for S3 Standard storage class objects".
    return {name: value for name, value in given.items() if value != STANDARD}


def encryption_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The encryption headers, which the answer to a writer repeats."""
    return {name: value for name, value in headers.items() if name.startswith(ENCRYPTION)}


def replaces(headers: Mapping[str, str], directive: str) -> bool:
    """Whether a copy has its own metadata, or tags, instead of its source's."""
    value = headers.get(f"x-amz-{directive}-directive", "COPY").upper()
    if value not in ("COPY", "REPLACE"):
        raise S3Error(Refusal.InvalidArgument, f"Unknown {directive} directive.", ArgumentValue=value)
    return value == "REPLACE"


def header_tags(headers: Mapping[str, str]) -> dict[str, str]:
    """The tags in `x-amz-tagging`, which are encoded like a query."""
    header = headers.get(TAGGING, "")
    try:
        pairs = parse_qsl(header, keep_blank_values=True, errors="strict")
    except ValueError as error:
        raise _no_tagging(header) from error
    if len(dict(pairs)) < len(pairs):
        raise _no_tagging(header)
    return checked_tags(pairs)


def checked_tags(pairs: list[tuple[str, str]], most: int = TAGS_MAX, what: str = "Object tags") -> dict[str, str]:
    """The tags. Raises InvalidTag, and BadRequest if there are too many."""
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
    """The headers for every reader of an object, without those that depend on the range."""
    given = {"content-type": DEFAULT_TYPE, **entry.traits.headers}
    given |= {"etag": f'"{entry.etag}"', "last-modified": http_date(entry.modified_s), "accept-ranges": "bytes"}
    if entry.traits.tags:
        given["x-amz-tagging-count"] = str(len(entry.traits.tags))
    return given


def checksum_headers(entry: ObjectEntry) -> dict[str, str]:
    """The checksum headers of the whole object. A client checks the bytes against them, so they suit no range."""
    checksum = entry.traits.checksum
    return {checksum.header: checksum.value, "x-amz-checksum-type": checksum.kind} if checksum else {}


def overrides(query: Mapping[str, str]) -> dict[str, str]:
    """The headers that a link overrides, by `response-content-type=...` and the like."""
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


def _stored(headers: Mapping[str, str]) -> dict[str, str]:
    stored = {name: headers[name] for name in KEPT if name in headers}
    codings = [coding.strip() for coding in stored.pop("content-encoding", "").split(",")]
    encoding = ",".join(coding for coding in codings if coding not in ("", "aws-chunked"))
    if encoding:
        stored["content-encoding"] = encoding
    return stored | _meta(headers)


def _meta(headers: Mapping[str, str]) -> dict[str, str]:
    meta = {name: value for name, value in headers.items() if name.startswith(META)}
    size_bytes = sum(len(name) - len(META) + len(value.encode("latin-1")) for name, value in meta.items())
    if size_bytes > META_MAX_BYTES:
        sizes = {"Size": str(size_bytes), "MaxSizeAllowed": str(META_MAX_BYTES)}
        raise S3Error(Refusal.MetadataTooLarge, **sizes)
    return meta
