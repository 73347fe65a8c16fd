"""Checks the names of buckets, and finds the bucket and key that a request names. Pure."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote_to_bytes

from torpor_account.s3.errors import Refusal, S3Error
from torpor_container.artifacts.object_keys import KEY_MAX_BYTES
from torpor_container.frozen_class import frozen

# AWS: "Bucket names must be between 3 and 63 characters long", "can consist only of lowercase letters, numbers, periods
# and hyphens", "must begin and end with a letter or number", "must not contain two adjacent periods", "must not be
# formatted as an IP address".
_LEGAL: Final = re.compile(r"(?!.*\.\.)(?!\d+\.\d+\.\d+\.\d+$)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)
_RESERVED_STARTS: Final = ("xn--", "sthree-")
_RESERVED_ENDS: Final = ("-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3")

# A pattern, since AWS opens new regions. "EU" is the old name of eu-west-1.
_CONSTRAINT: Final = re.compile(
    r"EU|[a-z]{2}(?:-gov|-iso[a-z]?)?-(?:north|south|east|west|central|(?:north|south)(?:east|west))-\d", re.ASCII
)
US_EAST_1: Final = "us-east-1"

# The first match decides. A bucket may have the name `s3.models`, but not `s3` or `s3.us-west-2`.
_REGION: Final = r"(?:dualstack\.)?[a-z]{2}(?:-[a-z]+)+-\d"
_VIRTUAL_HOSTS: Final = (
    re.compile(rf"(?:(.+)\.)?s3(?:[.-]{_REGION})?\.localhost"),
    re.compile(r"(.+)\.localhost"),
    re.compile(r"(.+)\.s3[.-][a-z0-9.-]+"),
)
HOST_MAX_BYTES: Final = 255 + len(":65535")  # RFC 1035, section 2.3.4: a name has "255 octets or less"


@frozen
class ObjectAddress:
    """The subject of a request: the service (no bucket), a bucket (no key) or an object."""

    bucket: str | None = None
    key: str | None = None


def legal_bucket(name: str) -> bool:
    return (
        _LEGAL.fullmatch(name) is not None
        and not name.startswith(_RESERVED_STARTS)
        and not name.endswith(_RESERVED_ENDS)
    )


def legal_constraint(region: str) -> bool:
    """Whether a LocationConstraint can name this region. A bucket in us-east-1 has no LocationConstraint."""
    return _CONSTRAINT.fullmatch(region) is not None and region != US_EAST_1


def address(raw_path: bytes, headers: Mapping[str, str]) -> ObjectAddress:
    """The address: virtual-host style if the host names a bucket, else path style. `raw_path` is percent-encoded."""
    bucket = host_bucket(headers.get("host", ""))
    path = raw_path.removeprefix(b"/")
    if bucket is not None:
        return ObjectAddress(bucket, _key(path))
    name, _, rest = path.partition(b"/")
    return ObjectAddress(_decoded(name) or None, _key(rest))


def host_bucket(host: str) -> str | None:
    """The bucket in a host name; None if there is none.

    Raises InvalidURI for a host that is too long for any name, since the patterns may read each part many times.
    """
    if len(host) > HOST_MAX_BYTES:
        raise S3Error(Refusal.InvalidURI, URI=host[:HOST_MAX_BYTES])
    name = re.sub(r":\d+$", "", host).lower()
    found = (pattern.fullmatch(name) for pattern in _VIRTUAL_HOSTS)
    return next((match.group(1) for match in found if match), None)


def copy_source(header: str) -> ObjectAddress:
    """The address in `x-amz-copy-source`: `bucket/key`, percent-encoded, with an optional leading slash and version.

    AWS reads it like a query: slashes may be encoded too, and a `+` is a space.
    """
    path, _, version = header.partition("?versionId=")
    bucket, _, key = _decoded(path.replace("+", " ").encode("latin-1")).removeprefix("/").partition("/")
    if not bucket or not key:
        raise S3Error(Refusal.InvalidArgument, "Copy Source must mention the source bucket and key: sourcebucket/key")
    check_version(version)
    return ObjectAddress(bucket, fitting(key))


def check_version(version: str | None) -> None:
    """Raises InvalidArgument for a version id: like AWS for one that it never gave."""
    if not only_version(version):
        given = {"ArgumentName": "versionId", "ArgumentValue": version or ""}
        raise S3Error(Refusal.InvalidArgument, "Invalid version id specified", **given)


def only_version(version: str | None) -> bool:
    """Whether the id names the only version. AWS: without versioning an object's version id is "null"."""
    return version in (None, "", "null")


def fitting(key: str) -> str:
    """The key itself. Raises KeyTooLongError."""
    size_bytes = len(key.encode())
    if size_bytes > KEY_MAX_BYTES:
        raise S3Error(Refusal.KeyTooLongError, Size=str(size_bytes), MaxSizeAllowed=str(KEY_MAX_BYTES))
    return key


def _key(raw: bytes) -> str | None:
    return fitting(_decoded(raw)) or None


def _decoded(raw: bytes) -> str:
    try:
        return unquote_to_bytes(raw).decode()
    except UnicodeDecodeError as error:
        raise S3Error(Refusal.InvalidURI, URI=raw.decode("latin-1")) from error
