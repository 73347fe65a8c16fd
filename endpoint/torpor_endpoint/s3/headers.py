"""An object's headers: which are kept from its writer, and which a reader gets; pure."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from torpor_endpoint.s3.conditions import http_date
from torpor_endpoint.s3.entries import Entry, Traits
from torpor_endpoint.s3.errors import Refusal, S3Error

META: Final = "x-amz-meta-"
KEPT: Final = (
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "expires",
    "x-amz-website-redirect-location",
)
DEFAULT_TYPE: Final = "binary/octet-stream"  # AWS: "The default value for Content-Type is binary/octet-stream"

META_MAX_BYTES: Final = 2048  # AWS: "the user-defined metadata is limited to 2 KB in size"
TAGS_MAX: Final = 10
TAG_KEY_MAX: Final = 128
TAG_VALUE_MAX: Final = 256

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


def traits(headers: Mapping[str, str]) -> Traits:
    """What a writing request says about its object."""
    return Traits(headers=_kept(headers), tags=header_tags(headers))


def header_tags(headers: Mapping[str, str]) -> dict[str, str]:
    """`x-amz-tagging`: the tags encoded like a query."""
    return checked_tags(parse_qsl(headers.get("x-amz-tagging", ""), keep_blank_values=True))


def checked_tags(pairs: list[tuple[str, str]]) -> dict[str, str]:
    if len(pairs) > TAGS_MAX:
        raise S3Error(Refusal.InvalidTag, f"Object tags cannot be greater than {TAGS_MAX}")
    if len(dict(pairs)) < len(pairs):
        raise S3Error(Refusal.InvalidTag, "Cannot provide multiple Tags with the same key")
    for key, value in pairs:
        if not 1 <= len(key) <= TAG_KEY_MAX:
            raise S3Error(Refusal.InvalidTag, "The TagKey you have provided is invalid", TagKey=key)
        if len(value) > TAG_VALUE_MAX:
            raise S3Error(Refusal.InvalidTag, "The TagValue you have provided is invalid", TagKey=key)
    return dict(pairs)


def object_headers(entry: Entry) -> dict[str, str]:
    """What every reader of an object gets, except for what depends on the range it asked for."""
    given = {"content-type": DEFAULT_TYPE, **entry.traits.headers}
    given |= {"etag": f'"{entry.etag}"', "last-modified": http_date(entry.modified_s), "accept-ranges": "bytes"}
    if entry.traits.tags:
        given["x-amz-tagging-count"] = str(len(entry.traits.tags))
    return given


def checksum_headers(entry: Entry) -> dict[str, str]:
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
