"""Which objects a transform job reads, and where the result of each goes."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

SUFFIX = ".out"


class InputUnreadable(Exception):
    """The job's input cannot be read. The text tells a person why."""


class JobObject(NamedTuple):
    """An object of the input, and the key of its result."""

    bucket: str
    key: str
    result: str


def objects(keys: list[str], bucket: str, prefix: str, output_prefix: str) -> list[JobObject]:
    """The objects below a prefix. A key that ends in a slash is a folder, and no object."""
    return [JobObject(bucket, key, result(key, prefix, output_prefix)) for key in keys if not key.endswith("/")]


def result(key: str, prefix: str, output_prefix: str) -> str:
    """The key of the result: the key's part below the prefix, or below the prefix's folder, with `.out`."""
    above = prefix if prefix.endswith("/") or not prefix else f"{prefix}/"
    if not key.startswith(above):
        above = prefix[: prefix.rfind("/") + 1]
    return f"{output_prefix}{key.removeprefix(above).lstrip('/')}{SUFFIX}"


def listed(manifest: bytes, output_prefix: str) -> list[JobObject]:
    """The objects of a manifest: `[{"prefix": "s3://bucket/prefix/"}, "key", …]`. Raises InputUnreadable."""
    try:
        first, *keys = json.loads(manifest)
        bucket, prefix = split(_prefix(first))
    except (ValueError, TypeError, KeyError) as error:
        raise InputUnreadable(f"the manifest is no list of a prefix and of keys: {error}") from None
    if not all(isinstance(key, str) for key in keys):
        raise InputUnreadable("the manifest has a key that is no text")
    return [JobObject(bucket, f"{prefix}{key}", f"{output_prefix}{key.lstrip('/')}{SUFFIX}") for key in keys]


def _prefix(first: Mapping[str, Any]) -> str:
    url = first["prefix"]
    if not isinstance(url, str) or not url.startswith("s3://"):
        raise ValueError("prefix must begin with s3://")
    return url


def split(url: str) -> tuple[str, str]:
    bucket, _, key = url.removeprefix("s3://").partition("/")
    return bucket, key
