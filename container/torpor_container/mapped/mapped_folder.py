"""The folder of mapped files: one for each version of a model, which the instances of a variant on one machine share.

A file appears by one rename, finished and read-only, and nobody writes to it afterwards. Its name has the version in
it, so another version has another file. Each instance that maps a file keeps a link to it in a folder of its own: the
file's count of links says how many do, and the file stays readable while its own name is removed. Files that no
instance links leave for new ones, the least recently taken first.

Methods block. Any number of processes and threads may call them at the same time.
"""

import fcntl
import hashlib
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from torpor_container.artifacts.errors import DiskTooSmall, disk_full_for
from torpor_container.core.occupancy import Footprint
from torpor_container.formats.format import Mapped

Write = Callable[[BinaryIO], object]

FILES, HOLDERS, LOCK, USED = "files", "holders", ".lock", ".used"
_ALIVE = ".alive"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_READ_ONLY = 0o400


def holders(path: str | Path) -> int:
    """How many instances of the machine hold the file that one of them has at this path, that one included."""
    try:
        return max(1, os.stat(path).st_nlink - 1)
    except OSError:  # it was released, or its folder was removed
        return 1


class MappedFile:
    """A file that this instance holds, at a `path` of its own, until `release`. There are thousands, and a Path takes
    half a kilobyte."""

    __slots__ = ("_path", "size_bytes")

    def __init__(self, path: str, size_bytes: int) -> None:
        self._path = path
        self.size_bytes = size_bytes

    @property
    def path(self) -> Path:
        return Path(self._path)

    @property
    def mapped(self) -> Mapped:
        return Mapped(self._path, self.size_bytes)

    def release(self) -> None:
        shutil.rmtree(os.path.dirname(self._path), ignore_errors=True)


class MappedFolder:
    """The files, as one instance sees them. `budget_bytes` bounds all files together."""

    def __init__(self, folder: Path, budget_bytes: int) -> None:
        self._folder = folder
        self._budget_bytes = budget_bytes
        self._own: str | None = None
        self._alive: int | None = None
        self._boot = _boot()
        # After a crash of the machine files may be incomplete: those from before its last boot are not read.
        self._files = os.path.join(folder, self._boot, FILES)
        self._opening = threading.Lock()

    @staticmethod
    def name_of(kind: str, content: str, file: str) -> str:
        """The name of one form (`kind`, with its version) of one file of an artifact's content."""
        digest = hashlib.sha256("\0".join((content, file)).encode(errors="surrogatepass")).hexdigest()
        return f"{digest[:32]}.{kind}"

    def share_bytes(self, name: str) -> int | None:
        """What one more instance that maps the file is charged for it; None if there is none."""
        with suppress(FileNotFoundError):
            found = os.stat(self._path_of(name))
            return Footprint(0, found.st_size).charged_bytes(found.st_nlink)
        return None

    def take(self, name: str) -> MappedFile | None:
        """Hold the file of this name; None if there is none. Raises OSError."""
        source = self._path_of(name)
        with suppress(FileNotFoundError):
            os.utime(source)
            return self._held(source, name)
        return None

    def read(self, name: str) -> str:
        """The text of a file, which counts as taken; empty if there is none."""
        source = self._path_of(name)
        with suppress(OSError):
            os.utime(source)
            with open(source, encoding="utf-8") as file:
                return file.read()
        return ""

    def begin(self, name: str) -> MappedFile:
        """A new file for this instance to write. `publish` gives it to all; `release` gives it up. Raises OSError."""
        unfinished = os.path.join(self._own_folder(), name)
        os.close(os.open(unfinished, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        return MappedFile(unfinished, 0)

    def publish(self, made: MappedFile) -> MappedFile:
        """Give a file that was written to all instances, unless another one was first, and hold what they have then.
        Raises DiskFull, OSError."""
        name, size_bytes = made.path.name, made.path.stat().st_size
        made.path.chmod(_READ_ONLY)
        with disk_full_for(name), self._locked():
            if (other := self.take(name)) is not None:
                made.release()
                return other
            self._make_room(name, size_bytes)
            os.link(made.path, self._path_of(name))
        return MappedFile(str(made.path), size_bytes)

    def put(self, name: str, write: Write) -> MappedFile:
        """Write a file and publish it. Raises DiskFull, OSError, and what `write` raises: no file appears then."""
        made = self.begin(name)
        with ExitStack() as unless_published:
            unless_published.callback(made.release)
            with disk_full_for(name), made.path.open("wb") as file:
                write(file)
            published = self.publish(made)
            unless_published.pop_all()
        return published

    def forget(self, name: str) -> None:
        """Remove a file that cannot be used. Those that hold it keep it."""
        with suppress(FileNotFoundError):
            os.unlink(self._path_of(name))

    def close(self) -> None:
        """End all holds of this instance."""
        if self._own is not None and self._alive is not None:
            shutil.rmtree(self._own, ignore_errors=True)
            os.close(self._alive)
            self._own = self._alive = None

    # -- inside ----------------------------------------------------------------------------------------------------
    def _path_of(self, name: str) -> str:
        return os.path.join(self._files, name)

    def _held(self, source: str, name: str) -> MappedFile:
        """By a link of the same name, since a file may name itself."""
        own = self._own_folder()
        link = os.path.join(own, name)
        try:
            os.link(source, link)
        except FileNotFoundError:
            os.rmdir(own)
            raise
        return MappedFile(link, os.stat(link).st_size)

    def _own_folder(self) -> str:
        own = os.path.join(self._opened(), secrets.token_hex(8))
        os.mkdir(own)
        return own

    def _opened(self) -> str:
        """The folder of this instance's links, made at its first call. An open lock says that the instance lives."""
        with self._opening:
            if self._own is None:
                root = self._folder / self._boot
                (root / HOLDERS).mkdir(parents=True, exist_ok=True)
                (root / FILES).mkdir(exist_ok=True)
                with self._locked():
                    self._sweep()
                    own = root / HOLDERS / secrets.token_hex(8)
                    own.mkdir()
                    self._alive = os.open(own / _ALIVE, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
                    fcntl.flock(self._alive, fcntl.LOCK_EX)
                self._own = str(own)
            return self._own

    def _sweep(self) -> None:
        """Remove what instances that ended left, and the files of an earlier boot."""
        for earlier in self._folder.iterdir():
            if earlier.name != self._boot:
                shutil.rmtree(earlier, ignore_errors=True)
        for holder in (self._folder / self._boot / HOLDERS).iterdir():
            if not _lives(holder):
                shutil.rmtree(holder, ignore_errors=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the folder, which ends with its process."""
        lock = os.open(self._folder / self._boot / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _make_room(self, name: str, size_bytes: int) -> None:
        """Count a new file. All files are looked at only where their count says that there is no room."""
        counter = self._folder / self._boot / USED
        try:
            used_bytes = int(counter.read_text())
        except (FileNotFoundError, ValueError):
            used_bytes = self._budget_bytes  # nothing is known: look
        if used_bytes + size_bytes > self._budget_bytes:
            used_bytes = self._evict(self._budget_bytes - size_bytes)
        if used_bytes + size_bytes > self._budget_bytes:
            raise DiskTooSmall(
                name,
                f"it takes {size_bytes} bytes, and of {self._budget_bytes} bytes for mapped files {used_bytes} are in "
                "use",
            )
        counter.write_text(str(used_bytes + size_bytes))

    def _evict(self, room_bytes: int) -> int:
        """Remove files that no instance holds until the others have `room_bytes`. The bytes of those that are left."""
        seen = [(entry.stat(), entry.path) for entry in os.scandir(self._files)]
        used_bytes = sum(stat.st_size for stat, _ in seen)
        for stat, path in sorted(seen, key=lambda one: one[0].st_mtime_ns):
            if used_bytes <= room_bytes:
                break
            if stat.st_nlink == 1:
                os.unlink(path)
                used_bytes -= stat.st_size
        return used_bytes


def _lives(holder: Path) -> bool:
    """Whether an instance has the folder of links open."""
    try:
        alive = os.open(holder / _ALIVE, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(alive)
    return False


def _boot() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:  # not Linux
        return "boot"
