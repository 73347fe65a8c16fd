"""Where a target model is: the rules that keep it under the prefix, and its name on disk. Pure: nothing is read."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from torpor_container.artifacts.errors import TargetForbidden

KEY_MAX_BYTES = 1024
"""S3's own limit, which is also TargetModel's."""


def _segments(target: str) -> list[str]:
    return target.removeprefix("/").split("/")


# AWS, TargetModelHeader: length 1 to 1024, pattern `\A\S[\p{Print}]*\z`. The last two rules are Torpor's: a target that
# some reader of paths would shorten is refused before any reader sees it.
TARGET_RULES: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("is empty", lambda target: not target),
    ("is longer than 1024 bytes", lambda target: len(target.encode(errors="surrogatepass")) > KEY_MAX_BYTES),
    ("starts with white space", lambda target: target[:1].isspace()),
    ("holds a character that cannot be printed", lambda target: not target.isprintable()),
    ("has a '.' or '..' segment", lambda target: not {".", ".."}.isdisjoint(_segments(target))),
    ("has an empty segment", lambda target: "" in _segments(target)),
)


@dataclass(frozen=True)
class Prefix:
    """Where an endpoint's models are. For `file` the bucket is the folder itself, and the path is empty."""

    scheme: str
    bucket: str
    path: str

    @classmethod
    def parse(cls, url: str) -> "Prefix":
        """Read `s3://bucket/prefix`, `file:///folder` or `/folder`. Raises ValueError naming the URL."""
        scheme, mark, rest = url.partition("://")
        if url.startswith("/"):
            scheme, mark, rest = "file", "://", url
        if not mark or scheme not in ("s3", "file"):
            raise ValueError(f"{url!r} is neither s3://bucket/prefix nor file:///folder")
        if scheme == "file":
            return cls._folder(url, rest)
        bucket, _, path = rest.partition("/")
        path = path.removesuffix("/")
        if not bucket or any(breaks(path) for _, breaks in TARGET_RULES if path):
            raise ValueError(f"{url!r} has no bucket, or a prefix that is no plain path")
        return cls(scheme, bucket, path)

    @classmethod
    def _folder(cls, url: str, path: str) -> "Prefix":
        if not path.startswith("/") or not path.isprintable():
            raise ValueError(f"{url!r} does not name a folder by its absolute path")
        return cls("file", path.rstrip("/") or "/", "")

    def key_of(self, target_model: str) -> str:
        """The object's key. Raises TargetForbidden naming the rule that the target breaks.

        One trailing slash of the prefix and one leading slash of the target are dropped; a slash joins the two.
        """
        for rule, breaks in TARGET_RULES:
            if breaks(target_model):
                raise TargetForbidden(target_model, rule)
        key = "/".join(part for part in (self.path, target_model.removeprefix("/")) if part)
        if len(key.encode(errors="surrogatepass")) > KEY_MAX_BYTES:
            raise TargetForbidden(target_model, "makes a key longer than 1024 bytes")
        return key


def artifact_id(bucket: str, key: str, version: str) -> str:
    """A stable hex name for one version of one object: `model_name` of the container contract, and a folder on disk."""
    name = "\0".join((bucket, key, version))
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:32]
