"""Jobs' archives, packed and unpacked: imported when there is one. Both block, so they are for worker threads."""

import tarfile
import zlib
from pathlib import Path


class Unreadable(Exception):
    """It is no archive, or not a whole one. The text says what is wrong with it."""


def unpack(archive: Path, into: Path) -> None:
    """Raises Unreadable."""
    try:
        with tarfile.open(archive) as tar:
            tar.extractall(into, filter="data")
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise Unreadable(str(error)) from error


def pack(folder: Path, into: Path) -> bool:
    """False, and no archive, for an empty folder. Raises OSError."""
    entries = sorted(folder.iterdir())
    if entries:
        with tarfile.open(into, "w:gz", compresslevel=6) as tar:
            for entry in entries:
                tar.add(entry, entry.name)
    return bool(entries)
