"""Which object keys are also file names; it looks at the key alone and never at a disk.

The embedded object store keeps an *ordinary* key as the file `<root>/<bucket>/<key>`, so an instance on the same
machine may read that file in place. Any other key has no such file and is fetched over S3.
"""

import re

RESERVED = ".torpor"
"""The store's own folder, at the top of each bucket."""

KEY_MAX_BYTES = 1024
"""AWS: "The maximum length for an object key name is 1,024 bytes when using UTF-8 encoding"."""

# Control characters, and lone surrogates, by which Python shows file names that are not UTF-8.
_UNFIT = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")

SEGMENT_MAX_BYTES = 255  # what the usual file systems take


def ordinary(key: str) -> bool:
    """Whether `key` can be a path below its bucket's folder, letter by letter, without leaving it."""
    segments = key.split("/")
    return segments[0] != RESERVED and _size_bytes(key) <= KEY_MAX_BYTES and all(map(_file_name, segments))


def _file_name(segment: str) -> bool:
    return segment not in ("", ".", "..") and _size_bytes(segment) <= SEGMENT_MAX_BYTES and not _UNFIT.search(segment)


def _size_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
