"""Stores artifacts in S3: the destination, what is there already, and the upload."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from torpor.errors import TorporError, ValueRefused

SCHEME = "s3://"
BUCKET = "models"
"""The bucket of `torpor deploy` for local models."""
GONE = ("404", "NoSuchKey", "NoSuchBucket", "NotFound")
PART_BYTES = 8 * 1024 * 1024
"""Objects above it are uploaded in parts; their ETag is no MD5 of the whole."""


@dataclass(frozen=True)
class UploadPlace:
    """A bucket and a prefix in it, which is empty or ends with a slash."""

    bucket: str
    prefix: str = ""

    @classmethod
    def of(cls, url: str) -> "UploadPlace":
        """The place of `s3://bucket/prefix/`; the last slash may be left out. Raises ValueRefused."""
        bucket, _, prefix = url.removeprefix(SCHEME).partition("/")
        if not url.startswith(SCHEME) or not bucket:
            raise ValueRefused(f"{url} is no place in S3: name one as s3://bucket/prefix/")
        return cls(bucket, f"{prefix.strip('/')}/" if prefix.strip("/") else "")

    def url(self, key: str = "") -> str:
        return f"{SCHEME}{self.bucket}/{self.prefix}{key}"


class Stored(StrEnum):
    """What an upload does to its object."""

    NEW = "new"
    REPLACED = "replaced"
    SAME = "unchanged"


@dataclass(frozen=True)
class PlannedUpload:
    """One artifact's file, the key below the prefix, and what its upload does."""

    path: Path
    key: str
    does: Stored


def planned(s3: Any, place: UploadPlace, files: Sequence[tuple[Path, str]], force: bool) -> list[PlannedUpload]:
    """What the upload of each file, with its key, would do. Raises TorporError if it would replace another object and
    `force` is not given; botocore's ClientError."""
    found = [PlannedUpload(path, key, _does(s3, place, path, key)) for path, key in files]
    replaced = [one.key for one in found if one.does is Stored.REPLACED]
    if replaced and not force:
        more = f" and {len(replaced) - 1} more" if len(replaced) > 1 else ""
        raise TorporError(f"{place.url(replaced[0])}{more} is there with other content: --force replaces it")
    return found


def upload(s3: Any, place: UploadPlace, uploads: Sequence[PlannedUpload], sent: Callable[[int], None]) -> None:
    """Upload what is new or replaces; `sent` counts bytes. It makes the bucket if there is none."""
    ensure_bucket(s3, place.bucket)
    for one in uploads:
        if one.does is Stored.SAME:
            sent(one.path.stat().st_size)
        else:
            s3.upload_file(str(one.path), place.bucket, f"{place.prefix}{one.key}", Callback=sent)


def ensure_bucket(s3: Any, bucket: str) -> None:
    from botocore.exceptions import ClientError

    try:
        s3.head_bucket(Bucket=bucket)
    except ClientError as error:
        if error.response["Error"]["Code"] not in GONE:
            raise
        region = s3.meta.region_name
        where = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
        s3.create_bucket(Bucket=bucket, **where)


def keys(s3: Any, place: UploadPlace, most: int = 1) -> list[str]:
    """The first keys below the place; none if the bucket is not there."""
    from botocore.exceptions import ClientError

    try:
        found = s3.list_objects_v2(Bucket=place.bucket, Prefix=place.prefix, MaxKeys=most)
    except ClientError as error:
        if error.response["Error"]["Code"] in GONE:
            return []
        raise
    return [one["Key"].removeprefix(place.prefix) for one in found.get("Contents", ())]


def _does(s3: Any, place: UploadPlace, path: Path, key: str) -> Stored:
    from botocore.exceptions import ClientError

    try:
        there = s3.head_object(Bucket=place.bucket, Key=f"{place.prefix}{key}")
    except ClientError as error:
        if error.response["Error"]["Code"] in GONE:
            return Stored.NEW
        raise _with_reason(s3, place, key, error) from error
    size_bytes = path.stat().st_size
    if there["ContentLength"] != size_bytes:
        return Stored.REPLACED
    if size_bytes < PART_BYTES:
        return Stored.SAME if there["ETag"].strip('"') == digest(path) else Stored.REPLACED
    body = there_in_parts(s3, place, key)
    with path.open("rb") as mine:
        return Stored.SAME if all(mine.read(len(part)) == part for part in body) else Stored.REPLACED


def _with_reason(s3: Any, place: UploadPlace, key: str, refusal: Exception) -> Exception:
    """The refusal of the same object by GET, whose answer has the reason: a HEAD's has no body. Without one, the first
    refusal."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        s3.get_object(Bucket=place.bucket, Key=f"{place.prefix}{key}")["Body"].close()
    except (BotoCoreError, ClientError) as error:
        return error if isinstance(error, ClientError) else refusal
    return refusal


def there_in_parts(s3: Any, place: UploadPlace, key: str) -> Iterator[bytes]:
    """The object, part by part: an ETag of an upload in parts cannot be compared."""
    body = s3.get_object(Bucket=place.bucket, Key=f"{place.prefix}{key}")["Body"]
    yield from body.iter_chunks(PART_BYTES)


def digest(path: Path) -> str:
    """The MD5 of a file, as S3's ETag has it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
