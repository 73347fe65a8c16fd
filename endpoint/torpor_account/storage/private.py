"""Makes an endpoint's files private to its user: new files by the umask, old ones by a change of their modes."""

import logging
import os
import stat
from pathlib import Path

log = logging.getLogger(__name__)

UMASK = 0o077
"""New folders have mode 0700, new files 0600."""


def closed_to_others(folder: Path) -> bool:
    """Make the folder private to its owner. True if other users had access until now.

    A folder of another owner, such as a mounted volume, stays as it is, with a warning in the log.
    """
    mode = stat.S_IMODE(folder.stat().st_mode)
    if not mode & UMASK:
        return False
    try:
        folder.chmod(mode & ~UMASK)
    except PermissionError:
        log.warning("other users may read the data folder %s: cannot change its mode; run chmod 700 on it", folder)
        return False
    return True


def close_all(folder: Path) -> None:
    """Make everything below the folder private to its owner, except the targets of links and mounted file systems."""
    device, owner = folder.stat().st_dev, os.getuid()
    for path, names, files in os.walk(folder):
        names[:] = [name for name in names if _closed(f"{path}/{name}", device, owner)]
        for name in files:
            _closed(f"{path}/{name}", device, owner)


def _closed(path: str, device: int, owner: int) -> bool:
    """Make one file or folder private. False if it is gone or is a mounted file system."""
    try:
        found = os.lstat(path)
        mode = stat.S_IMODE(found.st_mode)
        if found.st_dev == device and found.st_uid == owner and mode & UMASK and not stat.S_ISLNK(found.st_mode):
            os.chmod(path, mode & ~UMASK)
    except FileNotFoundError:
        return False
    return found.st_dev == device


def write_private(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, so that others can never read it. Its folder is made if there is none."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
