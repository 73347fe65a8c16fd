"""Packs and unpacks the archives of jobs. Both functions block, so call them in worker threads."""

import tarfile
import zlib
from pathlib import Path


class Unreadable(Exception):
    """The file is no complete archive. The text says what is wrong."""


def unpack(archive: Path, into: Path) -> None:
    """Unpack the archive. Raises Unreadable."""
    try:
        with tarfile.open(archive) as tar:
            tar.extractall(into, filter="data")
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise Unreadable(str(error)) from error


def pack(folder: Path, into: Path) -> bool:
    """Pack the folder. False, without an archive, if the folder is empty. Raises OSError."""
    entries = sorted(folder.iterdir())
    if entries:
        with tarfile.open(into, "w:gz", compresslevel=6) as tar:
            for entry in entries:
                tar.add(entry, entry.name)
    return bool(entries)
