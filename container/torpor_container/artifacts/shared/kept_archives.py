"""Keeps artifacts as they came from S3, for neighbours that ask. It gives out files, and never reads them.

Each is a hard link to the file that was downloaded, before it is unpacked and removed. The one that was used least
recently leaves first.
"""

import os
import shutil
import threading
from collections import OrderedDict
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import BinaryIO, NamedTuple


class _Kept(NamedTuple):
    version: str
    path: str
    size_bytes: int


class KeptArchives:
    """The files of one folder, `budget_bytes` of them at most. Methods block, and several threads may call them."""

    def __init__(self, folder: Path, budget_bytes: int) -> None:
        self._folder = folder
        self._budget_bytes = budget_bytes
        self._kept: OrderedDict[str, _Kept] = OrderedDict()  # by key, the one that was used last at the end
        self._numbers = count()
        self._lock = threading.Lock()
        self.used_bytes = 0

    def clear(self) -> None:
        """Remove what an earlier process has left: nothing says what it is."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def keep(self, key: str, version: str, file: Path) -> None:
        """Keep this version of an object, in place of any other. One that cannot be kept is not: neighbours ask S3."""
        with suppress(OSError), self._lock:
            size_bytes = file.stat().st_size
            self._drop(key)
            if not 0 < size_bytes <= self._budget_bytes:
                return
            self._folder.mkdir(parents=True, exist_ok=True)
            path = f"{self._folder}/{next(self._numbers)}"
            os.link(file, path)
            self._kept[key] = _Kept(version, path, size_bytes)
            self.used_bytes += size_bytes
            while self.used_bytes > self._budget_bytes:
                self._drop(next(iter(self._kept)))

    def opened(self, key: str, version: str) -> BinaryIO | None:
        """The file of this version of an object; None if it is not here."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept.version != version:
                return None
            self._kept.move_to_end(key)
            try:
                return open(kept.path, "rb")
            except OSError:  # somebody has removed it
                self._drop(key)
                return None

    def _drop(self, key: str) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self.used_bytes -= kept.size_bytes
            with suppress(OSError):
                os.unlink(kept.path)
