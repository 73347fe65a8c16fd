"""Writes incoming files beside the buckets. They are then moved into place or discarded; they have no key."""

import asyncio
import os
import secrets
import threading
from collections.abc import AsyncIterator, Container
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Final

from torpor_account.s3.storage.folders import Fingerprint, fingerprint_of, mark

_COPY_BYTES: Final = 8 * 2**20


class Staged:
    """One staged file. It has a lock, since an interrupted request may discard it while a thread still writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: FileIO | None = None
        self._open = True
        self._busy = threading.Lock()

    def write(self, piece: bytes) -> None:
        with self._busy:
            file = self._opened()
            left = memoryview(piece)
            while left:
                left = left[file.write(left) :]

    def append(self, path: Path) -> None:
        """Append another file's bytes, copied within the kernel if the file system can do so."""
        with self._busy, path.open("rb") as source:
            target = self._opened().fileno()
            while os.copy_file_range(source.fileno(), target, _COPY_BYTES):
                pass

    def seal(self) -> Fingerprint:
        """Flush the file to the disk and close it: nothing more may be written."""
        with self._busy:
            file = self._opened()
            mark(file.fileno())
            os.fsync(file.fileno())
            found = fingerprint_of(file)
            self._close()
            return found

    def discard(self) -> None:
        """Remove the file, unless it has been moved into place."""
        with self._busy:
            self._close()
            with suppress(FileNotFoundError):
                self.path.unlink()

    def _opened(self) -> FileIO:
        if not self._open:
            raise ValueError("the staged file has been sealed or discarded")
        if self._file is None:
            self._file = open(self.path, "xb", buffering=0)  # noqa: SIM115 - closed by seal or discard
        return self._file

    def _close(self) -> None:
        self._open = False
        if self._file is not None:
            self._file.close()


class Staging:
    """The folder of staged files, on the same file system as the buckets."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def new(self) -> Staged:
        return Staged(self.path(secrets.token_hex(16)))

    @asynccontextmanager
    async def receiving(self) -> AsyncIterator[Staged]:
        """A new file for what a caller sends. It is discarded if the block raises, also for a closed connection."""
        staged = self.new()
        async with AsyncExitStack() as unfinished:
            unfinished.push_async_callback(asyncio.to_thread, staged.discard)
            yield staged
            unfinished.pop_all()

    def path(self, name: str) -> Path:
        return self._folder / name

    def sweep(self, keep: Container[str]) -> None:
        """Remove the files that a killed process left behind."""
        for file in self._folder.iterdir():
            if file.name not in keep:
                file.unlink()
