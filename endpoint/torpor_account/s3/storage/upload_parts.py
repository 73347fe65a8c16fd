"""Chooses the parts of a multipart upload that make the object, and calculates its ETag and checksum. Pure."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.wire.checksums import (
    ALGORITHMS,
    COMPOSITE,
    FULL_OBJECT,
    Checksum,
    composite,
    full_object,
)
from torpor_container.frozen_class import frozen

NUMBER_MAX: Final = 10_000
PART_MIN_BYTES: Final = 5 * 2**20  # AWS: "Part size: 5 MiB to 5 GiB. There is no minimum size limit on the last part"


@frozen
class UploadedPart:
    """A received part. `file` is the name of its staged file."""

    number: int
    file: str
    size_bytes: int
    etag: str
    checksum: str | None
    modified_s: float


@frozen
class NamedPart:
    """A part in the list of CompleteMultipartUpload. The ETag has no quotes."""

    number: int
    etag: str
    checksum: str | None = None


def chosen(named: Sequence[NamedPart], received: Mapping[int, UploadedPart]) -> list[UploadedPart]:
    """The named parts. Raises InvalidPartOrder, InvalidPart and EntityTooSmall."""
    numbers = [part.number for part in named]
    if numbers != sorted(set(numbers)):
        raise S3Error(Refusal.InvalidPartOrder)
    parts = [_received(part, received) for part in named]
    for part in parts[:-1]:
        if part.size_bytes < PART_MIN_BYTES:
            sizes = {"ProposedSize": str(part.size_bytes), "MinSizeAllowed": str(PART_MIN_BYTES)}
            raise S3Error(Refusal.EntityTooSmall, PartNumber=str(part.number), ETag=part.etag, **sizes)
    return parts


def whole_etag(etags: Sequence[str]) -> str:
    """The MD5 of the parts' MD5s, with the number of parts. Raises ValueError if one is no MD5."""
    digest = hashlib.md5(b"".join(map(bytes.fromhex, etags)), usedforsecurity=False)
    return f"{digest.hexdigest()}-{len(etags)}"


def whole_checksum(algorithm: str, kind: str, parts: Sequence[UploadedPart]) -> Checksum | None:
    """The object's checksum from those of its parts; None if a part has none."""
    values = [part.checksum for part in parts if part.checksum is not None]
    if len(values) < len(parts):
        return None
    if kind == COMPOSITE:
        return composite(algorithm, values)
    return full_object(algorithm, values, [part.size_bytes for part in parts])


def checksum_kind(algorithm: str | None, requested: str | None) -> str | None:
    """The checksum type of an upload: the requested one, else the algorithm's default. Raises InvalidRequest."""
    if algorithm is None:
        if requested:
            text = "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header."
            raise S3Error(Refusal.InvalidRequest, text)
        return None
    rule = ALGORITHMS[algorithm]
    kind = (requested or rule.default_type).upper()
    possible = {COMPOSITE: rule.default_type == COMPOSITE, FULL_OBJECT: rule.combine is not None}
    if not possible.get(kind, False):
        text = f"The {kind} checksum type cannot be used with the {algorithm.lower()} checksum algorithm."
        raise S3Error(Refusal.InvalidRequest, text)
    return kind


def part_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 9 and 1 <= int(text) <= NUMBER_MAX):
        message = f"Part number must be an integer between 1 and {NUMBER_MAX}, inclusive"
        raise S3Error(Refusal.InvalidArgument, message, ArgumentName="partNumber", ArgumentValue=text)
    return int(text)


def _received(named: NamedPart, received: Mapping[int, UploadedPart]) -> UploadedPart:
    part = received.get(named.number)
    if part is None or part.etag != named.etag or named.checksum not in (None, part.checksum):
        raise S3Error(Refusal.InvalidPart, PartNumber=str(named.number), ETag=named.etag)
    return part
