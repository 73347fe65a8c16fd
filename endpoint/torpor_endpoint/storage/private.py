"""Keeps an endpoint's files to its own user: new files by the umask, old ones by a change of their modes."""

import logging
import os
import stat
from pathlib import Path

log = logging.getLogger(__name__)

UMASK = 0o077
"""What is made is its owner's: folders 0700, files 0600."""


def closed_to_others(folder: Path) -> bool:
    """Take the folder from everybody but its owner. True if others had it until now.

    A folder of another user, such as a mounted volume, stays as it is, and the log says so.
    """
    mode = stat.S_IMODE(folder.stat().st_mode)
    if not mode & UMASK:
        return False
    try:
        folder.chmod(mode & ~UMASK)
    except PermissionError:
        log.warning("other users may read the data folder %s, whose mode cannot be changed: chmod 700 it", folder)
        return False
    return True


def close_all(folder: Path) -> None:
    """Take all that is below the folder from everybody but its owner: not what links lead to, nor what is mounted."""
    device, owner = folder.stat().st_dev, os.getuid()
    for path, names, files in os.walk(folder):
        names[:] = [name for name in names if _closed(f"{path}/{name}", device, owner)]
        for name in files:
            _closed(f"{path}/{name}", device, owner)


def _closed(path: str, device: int, owner: int) -> bool:
    """False for what is gone, or is mounted there."""
    try:
        found = os.lstat(path)
        mode = stat.S_IMODE(found.st_mode)
        if found.st_dev == device and found.st_uid == owner and mode & UMASK and not stat.S_ISLNK(found.st_mode):
            os.chmod(path, mode & ~UMASK)
    except FileNotFoundError:
        return False
    return found.st_dev == device
