"""Counts the files and bytes of a script's folders, while the script changes them, and removes the folders afterwards.

It follows no links, and opens each folder from the one above it: whatever the script moves meanwhile, it counts, opens
to itself and removes only what lies below the folders that it was given.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

DEPTH_MAX = 200
"""Deeper folders are not looked into: a script that makes them has made more files than any bound allows. For their
removal, they are moved up."""
WITHOUT_END = 1 << 62
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
BLOCK_BYTES = 512


class Written(NamedTuple):
    """Files and folders, and the bytes of the disk that they take."""

    files: int
    size_bytes: int


def written(folders: Iterable[str], files_max: int = WITHOUT_END) -> Written:
    """All that is in folders and below them. A folder that is missing has nothing. It stops counting beyond
    `files_max`: to count what a script makes without end would take without end too."""
    files = size_bytes = 0
    for folder in folders:
        with suppress(OSError), ExitStack() as held:
            for one in _below(_opened(folder, None, held), 1):
                files, size_bytes = files + one.files, size_bytes + one.size_bytes
                if files > files_max:
                    return Written(files, size_bytes)
    return Written(files, size_bytes)


def _below(folder: int, depth: int) -> Iterator[Written]:
    if depth > DEPTH_MAX:
        yield Written(WITHOUT_END, 0)
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError), ExitStack() as held:
                status = entry.stat(follow_symlinks=False)
                yield Written(1, status.st_blocks * BLOCK_BYTES)
                if stat.S_ISDIR(status.st_mode):
                    yield from _below(_opened(entry.name, folder, held), depth + 1)


def remove(folder: str | Path) -> None:
    """Remove a folder with all that is in it, whatever rights a script took from it, and however deep it is."""
    with suppress(OSError), ExitStack() as held:
        top, left, numbers = _opened(str(folder), None, held), list[str](), count()
        while (names := os.listdir(top)) and names != left:
            left = names
            _empty(top, 1, lambda: f"deep-{next(numbers)}", top)
        os.rmdir(folder)


def _empty(folder: int, depth: int, new_name: Callable[[], str], top: int) -> None:
    with os.scandir(folder) as listed:
        entries = list(listed)
    for entry in entries:
        with suppress(OSError), ExitStack() as held:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.name, dir_fd=folder)
            elif depth > DEPTH_MAX:
                os.rename(entry.name, new_name(), src_dir_fd=folder, dst_dir_fd=top)
            else:
                _empty(_opened(entry.name, folder, held), depth + 1, new_name, top)
                os.rmdir(entry.name, dir_fd=folder)


def _opened(name: str, above: int | None, held: ExitStack) -> int:
    """The folder, also one whose list the script took away: it could write there unseen."""
    try:
        folder = os.open(name, FOLDER, dir_fd=above)
    except PermissionError:
        place = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
        try:
            os.chmod(f"/proc/self/fd/{place}", 0o700)
        finally:
            os.close(place)
        folder = os.open(name, FOLDER, dir_fd=above)
    held.callback(os.close, folder)
    return folder
