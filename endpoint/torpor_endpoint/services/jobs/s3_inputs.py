"""Copies what jobs read from S3 into their folders."""

from pathlib import Path

from torpor_account.s3.access.embedded import Storage
from torpor_endpoint.services.jobs.work import finished


class InputMissing(Exception):
    """An input of the job is missing or malformed. The text tells a person which."""


async def fetched(storage: Storage, url: str, folder: Path) -> None:
    """Copy all objects whose keys begin as the address does. A transfer that runs when the caller is cancelled is
    finished first. Raises InputMissing, StorageError, OSError."""
    bucket, prefix = split(url)
    keys = await finished(storage.keys, bucket, prefix)
    files = {key: place(key, prefix) for key in keys if not key.endswith("/")}
    if not files:
        raise InputMissing(f'No S3 objects found under S3 URL "{url}" given in input data source.')
    for key, path in files.items():
        await finished(_fetch, storage, bucket, key, folder / path)


def place(key: str, prefix: str) -> str:
    """An object's path in the input's folder: the key's part below the prefix, or below the prefix's folder.

    Raises InputMissing for a key that leads out of the folder.
    """
    above = prefix.removesuffix("/") + "/"
    if not key.startswith(above):
        above = prefix[: prefix.rfind("/") + 1]
    path = key.removeprefix(above).lstrip("/")
    if ".." in path.split("/") or "\0" in path:
        raise InputMissing(f"The key {key!r} is no path within a channel's folder.")
    return path


def split(url: str) -> tuple[str, str]:
    """Bucket and key of an `s3://` address."""
    bucket, _, key = url.removeprefix("s3://").partition("/")
    return bucket, key


def _fetch(storage: Storage, bucket: str, key: str, into: Path) -> None:
    into.parent.mkdir(parents=True, exist_ok=True)
    storage.fetch(bucket, key, into)
