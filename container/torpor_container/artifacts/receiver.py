"""Writes a download to disk, and counts and hashes it. For worker threads: all methods may block."""

import hashlib
import re
import threading
from pathlib import Path
from typing import BinaryIO

_PLAIN_MD5 = re.compile(r'"?([0-9a-f]{32})"?')


class Receiver:
    """One download. `complete` or `abandon` ends it. The file `into` appears only with `complete`."""

    def __init__(self, into: Path) -> None:
        self.size_bytes = 0
        self._into = into
        self._partial = into.with_name(into.name + ".part")
        self._file: BinaryIO | None = None
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._abandoned = False
        # A caller that is cancelled abandons the file while another thread still writes its last chunk.
        self._lock = threading.Lock()

    @property
    def md5(self) -> str:
        return self._md5.hexdigest()

    def take(self, chunk: bytes) -> None:
        with self._lock:
            if self._abandoned:
                return
            self._file = self._file or self._partial.open("wb")
            self._file.write(chunk)
            self._md5.update(chunk)
            self.size_bytes += len(chunk)

    def complete(self) -> None:
        self.take(b"")
        with self._lock:
            self._close()
            self._partial.replace(self._into)

    def abandon(self) -> None:
        with self._lock:
            self._abandoned = True
            try:
                self._close()
            finally:
                self._partial.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()


def md5_of(etag: str) -> str | None:
    """The MD5 in an ETag. None for that of a multipart upload (`...-7`): only the size can be checked then."""
    plain = _PLAIN_MD5.fullmatch(etag)
    return plain[1] if plain else None
