"""Finds where a target model is: its key under the prefix, and its name on disk. It reads nothing."""

import hashlib

from torpor_container.artifacts.errors import TargetForbidden
from torpor_container.core import target_names
from torpor_container.frozen_class import frozen


def name_of(target: str) -> str:
    """See `core.target_names.name_of`. Raises TargetForbidden."""
    try:
        return target_names.name_of(target)
    except target_names.BadTarget as error:
        raise TargetForbidden(str(error)) from None


@frozen
class Location:
    """What a URL names: a bucket and a key, unchanged. For `file`, the bucket is a folder and the key is empty."""

    scheme: str
    bucket: str
    key: str

    @classmethod
    def parse(cls, url: str) -> "Location":
        """Read `s3://bucket/key`, `file:///folder` or `/folder`. Raises ValueError naming the URL."""
        scheme, mark, rest = url.partition("://")
        if url.startswith("/"):
            scheme, mark, rest = "file", "://", url
        if not mark or scheme not in ("s3", "file"):
            raise ValueError(f"{url!r} is neither s3://bucket/prefix nor file:///folder")
        if scheme == "file":
            return cls._folder(url, rest)
        bucket, _, key = rest.partition("/")
        if not bucket:
            raise ValueError(f"{url!r} has no bucket")
        for rule, breaks in target_names.KEY_RULES:
            if breaks(key):
                raise ValueError(f"the key of {url!r} {rule}")
        return cls(scheme, bucket, key)

    @classmethod
    def _folder(cls, url: str, path: str) -> "Location":
        if not path.startswith("/") or not path.isprintable():
            raise ValueError(f"{url!r} does not name a folder by its absolute path")
        return cls("file", path.rstrip("/") or "/", "")


@frozen
class Prefix:
    """Where an endpoint's models are. Every key begins with `folder`, which is empty or ends with a slash."""

    scheme: str
    bucket: str
    folder: str

    @classmethod
    def parse(cls, url: str) -> "Prefix":
        """Read `s3://bucket/prefix`, `file:///folder` or `/folder`. Raises ValueError naming the URL."""
        place = Location.parse(url)
        slash = "/" if place.key and not place.key.endswith("/") else ""
        return cls(place.scheme, place.bucket, place.key + slash)

    def key_of(self, name: str) -> str:
        """The object's key: a slash joins prefix and name, and all other slashes stay. `name` comes from `name_of`.

        Raises TargetForbidden for a key that is longer than S3 permits.
        """
        key = self.folder + name
        if len(key.encode(errors="surrogatepass")) > target_names.KEY_MAX_BYTES:
            raise TargetForbidden(str(target_names.BadTarget(name, "makes a key longer than 1024 bytes")))
        return key

    def name_of_key(self, key: str) -> str | None:
        """The name from which `key_of` makes this key; None for a key of another prefix."""
        return key.removeprefix(self.folder) if key.startswith(self.folder) else None


def artifact_id(bucket: str, key: str, version: str) -> str:
    """A stable hex name for one version of one object: `model_name` of the container contract, and a folder on disk."""
    name = "\0".join((bucket, key, version))
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:32]
