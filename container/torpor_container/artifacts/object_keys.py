"""Decides which object keys are also file names. It looks only at the key, never at a disk.

The embedded object store keeps an *ordinary* key as the file `<root>/<bucket>/<key>`, and the object of any other key
*aside*, under the hash of its key. An instance on the same machine reads either file in place.
"""

import re
from hashlib import sha256

RESERVED = ".torpor"
"""The store's own folder, at the top of each bucket."""

ASIDE = f"{RESERVED}/objects/"

KEY_MAX_BYTES = 1024
"""AWS: "The maximum length for an object key name is 1,024 bytes when using UTF-8 encoding"."""

# Control characters, and lone surrogates, by which Python shows file names that are not UTF-8.
_UNFIT = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")

SEGMENT_MAX_BYTES = 255  # what the usual file systems take


def ordinary(key: str) -> bool:
    """Whether `key`, unchanged, can be a path below its bucket's folder that does not leave it."""
    segments = key.split("/")
    return segments[0] != RESERVED and _size_bytes(key) <= KEY_MAX_BYTES and all(map(_file_name, segments))


def aside(key: str) -> str:
    """The path, below its bucket's folder, of an object whose key is not ordinary."""
    return f"{ASIDE}{sha256(key.encode(errors='surrogatepass')).hexdigest()}"


def _file_name(segment: str) -> bool:
    return segment not in ("", ".", "..") and _size_bytes(segment) <= SEGMENT_MAX_BYTES and not _UNFIT.search(segment)


def _size_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def local_version(mtime_ns: int, size_bytes: int, inode: int) -> str:
    """The version of an object that is read in place: it changes whenever the file is written or replaced."""
    return f"{mtime_ns}-{size_bytes}-{inode}"
