"""Which objects a transform job reads, and where the result of each goes."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

SUFFIX = ".out"


class InputUnreadable(Exception):
    """The job's input cannot be read. The text tells a person why."""


class JobObject(NamedTuple):
    """An object of the input, the key of its result, and the model that its manifest names."""

    bucket: str
    key: str
    result: str
    model: str = ""


def objects(keys: list[str], bucket: str, prefix: str, output_prefix: str) -> list[JobObject]:
    """The objects below a prefix. A key that ends in a slash is a folder, and no object.

    The key of a result is the object's part below the prefix, with `.out`. A prefix that is no folder of all objects,
    such as the beginning of their names, stands for the folder that it is in.
    """
    found = [key for key in keys if not key.endswith("/")]
    above = prefix if prefix.endswith("/") or not prefix else f"{prefix}/"
    if not all(key.startswith(above) for key in found):
        above = prefix[: prefix.rfind("/") + 1]
    return [JobObject(bucket, key, f"{output_prefix}{key.removeprefix(above)}{SUFFIX}") for key in found]


def listed(manifest: bytes, output_prefix: str) -> list[JobObject]:
    """The objects of a manifest: `[{"prefix": "s3://bucket/prefix/"}, "key", …]`. Raises InputUnreadable.

    An entry `{"key": "key", "model": "name"}` names the model of its object too.
    """
    try:
        first, *keys = json.loads(manifest)
        bucket, prefix = split(_prefix(first))
    except (ValueError, TypeError, KeyError) as error:
        raise InputUnreadable(f"the manifest is no list of a prefix and of keys: {error}") from None
    return [_listed(entry, bucket, prefix, output_prefix) for entry in keys]


def _listed(entry: object, bucket: str, prefix: str, output_prefix: str) -> JobObject:
    key, model = (entry.get("key"), entry.get("model")) if isinstance(entry, dict) else (entry, "")
    if not isinstance(key, str) or not isinstance(model, str):
        raise InputUnreadable(f"the manifest has an entry that is neither a key nor a key with a model: {entry!r}")
    return JobObject(bucket, f"{prefix}{key}", f"{output_prefix}{key}{SUFFIX}", model)


def _prefix(first: Mapping[str, Any]) -> str:
    url = first["prefix"]
    if not isinstance(url, str) or not url.startswith("s3://"):
        raise ValueError("prefix must begin with s3://")
    return url


def split(url: str) -> tuple[str, str]:
    bucket, _, key = url.removeprefix("s3://").partition("/")
    return bucket, key
