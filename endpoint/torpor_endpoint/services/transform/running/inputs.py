"""Which objects a transform job reads, and where the result of each goes."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from torpor_container.core.target_names import is_target

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

    An entry `{"key": "key", "model": "name"}` names the model of its object too. A key that comes twice counts once.
    """
    try:
        first, *keys = json.loads(manifest)
        bucket, prefix = split(_prefix(first))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputUnreadable(f"the manifest is no list of a prefix and of keys: {error}") from None
    found = dict[str, JobObject]()
    for one in (_listed(entry, bucket, prefix, output_prefix) for entry in keys):
        if found.setdefault(one.key, one).model != one.model:
            raise InputUnreadable(f"the manifest names two models for {one.key}, which has one result")
    return list(found.values())


def _listed(entry: object, bucket: str, prefix: str, output_prefix: str) -> JobObject:
    key, model = (entry.get("key"), entry.get("model")) if isinstance(entry, dict) else (entry, "")
    if not isinstance(key, str) or not isinstance(model, str):
        raise InputUnreadable(f"the manifest has an entry that is neither a key nor a key with a model: {entry!r}")
    if model and not is_target(model):
        raise InputUnreadable(f"the manifest names {model!r} for {key!r}, which no model can be called")
    if not key.isprintable():
        raise InputUnreadable(f"the manifest has a key with a character that cannot be printed: {key!r}")
    return JobObject(bucket, f"{prefix}{key}", f"{output_prefix}{key}{SUFFIX}", model)


def check_models(objects: Iterable[JobObject], multi_model: bool, by_record: bool) -> None:
    """Each object has its model in one way. Raises InputUnreadable."""
    for one in objects:
        if one.model and by_record:
            raise InputUnreadable(f"the manifest names a model for {one.key}, and the job's filter one for each record")
        if one.model and not multi_model:
            raise InputUnreadable(f"the manifest names a model for {one.key}, and the job's model is not MultiModel")
        if not one.model and multi_model and not by_record:
            raise InputUnreadable(f"the manifest names no model for {one.key}, and the job's model is MultiModel")


def _prefix(first: Mapping[str, Any]) -> str:
    url = first["prefix"]
    if not isinstance(url, str) or not url.startswith("s3://"):
        raise ValueError("prefix must begin with s3://")
    return url


def split(url: str) -> tuple[str, str]:
    bucket, _, key = url.removeprefix("s3://").partition("/")
    return bucket, key
