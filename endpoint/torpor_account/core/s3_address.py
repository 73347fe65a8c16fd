"""Turns an S3 address in any form that AWS accepts into `s3://bucket/key`. Pure.

AWS accepts `(https|s3)://…` for ModelDataUrl and S3Uri. Its own notebooks use
`https://s3-REGION.amazonaws.com/bucket/…`.
"""

import re
from typing import Final
from urllib.parse import unquote, urlsplit

_REGION: Final = r"[a-z]{2}(?:-[a-z]+)+-\d"
_S3: Final = rf"s3(?:-accelerate|-external-1|-fips)?(?:[.-](?:dualstack\.)?{_REGION})?"
_HOST: Final = re.compile(rf"(?:(?P<bucket>[^/]+)\.)?{_S3}\.amazonaws\.com(?:\.cn)?")
"""Amazon S3's hosts. A bucket before `s3` is virtual-host style; without it the path begins with the bucket."""


class NoS3Address(ValueError):
    """The URL names nothing in S3. The text says why."""


def s3_url(url: str) -> str:
    """The address as `s3://bucket/key`. Raises NoS3Address.

    The key after `s3://bucket/` is literal; in `https://` it is percent-encoded, as in any URL.
    """
    scheme, _, rest = url.partition("://")
    bucket, key = rest.partition("/")[::2] if scheme == "s3" else _of_https(url)
    if not bucket:
        raise NoS3Address("it names no bucket")
    if not {".", ".."}.isdisjoint(key.split("/")):
        raise NoS3Address("its key has a '.' or '..' segment")
    if not key.isprintable():
        raise NoS3Address("its key has a character that cannot be printed")
    return f"s3://{bucket}/{key}"


def is_s3_url(url: str) -> bool:
    """Whether `s3_url` can read the address."""
    try:
        s3_url(url)
    except NoS3Address:
        return False
    return True


def _of_https(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError as error:
        raise NoS3Address(f"it is no URL: {error}") from error
    found = _HOST.fullmatch(host) if parts.scheme == "https" else None
    if found is None:
        raise NoS3Address(
            "it must begin with s3://bucket/, https://s3.REGION.amazonaws.com/bucket/ or "
            "https://bucket.s3.REGION.amazonaws.com/"
        )
    if parts.query or parts.fragment:
        raise NoS3Address("a query or a fragment cannot follow its key")
    path = unquote(parts.path.removeprefix("/"))
    if found["bucket"]:
        return found["bucket"], path
    bucket, _, key = path.partition("/")
    return bucket, key
