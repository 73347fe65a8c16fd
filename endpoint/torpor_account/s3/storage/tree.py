"""Finds, places and removes the files of objects, in folders of buckets below the root. It does not know the index.

An *ordinary* key is its own path. The file of any other key is stored *aside*, in the bucket's own `.torpor` folder
under the hash of the key. So is a key that needs a folder where a file is, or the reverse.

A folder that still has its mark is consistent with the index. A write checks the mark, changes the folder and marks it
again. These are three system calls, so the new mark also covers a file that another process put there in between.
Therefore a mark that a write left is trusted only after the names in the folder were compared once, by `holds`.
"""

import errno
import os
from collections.abc import Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Final

from torpor_account.s3.storage.folders import OCCUPIED, Fingerprint, Folder, absence, fingerprint_at
from torpor_container.artifacts.object_keys import RESERVED, aside, ordinary
from torpor_container.frozen_class import frozen

_CARRIED: Final = f"{RESERVED}/carried/"

UNREAD: Final = -1
"""The mark of a known folder that was never read. No folder has it."""

Marks = dict[str, int | None]
"""New marks by folder path ('' or 'a/b/'); None if the folder is gone."""


class Occupied(Exception):
    """The key cannot be a file of its own name: something else is there."""


class AnotherDisk(Exception):
    """A file cannot be moved from one file system to another."""


@frozen
class Survey:
    """The files and folders directly in one folder, and its new mark."""

    files: Mapping[str, Fingerprint]
    folders: frozenset[str]
    mark_ns: int


_LOCKED: Final = Survey({}, frozenset(), UNREAD)
"""A folder without read permission counts as empty until it can be read."""


class Tree:
    """The files of every bucket. Raises PermissionError, with the path, where the system denies access."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)

    def open(self, bucket: str, key: str) -> FileIO | None:
        """The file in the key's ordinary place; None if there is none."""
        return self._opened(bucket, key) if ordinary(key) else None

    def open_aside(self, bucket: str, key: str) -> FileIO | None:
        return self._opened(bucket, aside(key))

    def fingerprint(self, bucket: str, key: str) -> Fingerprint | None:
        return fingerprint_at(f"{self._root}/{bucket}/{key}") if ordinary(key) else None

    def fingerprint_aside(self, bucket: str, key: str) -> Fingerprint | None:
        return fingerprint_at(f"{self._root}/{bucket}/{aside(key)}")

    def place(self, bucket: str, key: str, source: Path, marks: Mapping[str, int]) -> Marks:
        """Move the file `source` to its ordinary place, and mark the folders again that still had their mark."""
        if not ordinary(key):
            raise Occupied
        try:
            with self._way(bucket, key, marks, make=True) as way:
                return way.put(str(source))
        except OSError as error:
            if error.errno in OCCUPIED:
                raise Occupied from error
            raise

    def place_aside(self, bucket: str, key: str, source: Path) -> None:
        with self._way(bucket, aside(key), {}, make=True) as way:
            way.put(str(source))

    @contextmanager
    def carried(self, bucket: str, source: Path) -> Iterator[tuple[Path, Fingerprint]]:
        """A copy of a file on the bucket's own file system. It is removed after the block, unless moved into place."""
        path = Path(f"{self._root}/{bucket}/{_CARRIED}{source.name}")
        try:
            with self._way(bucket, _CARRIED + source.name, {}, make=True) as way, source.open("rb") as file:
                found = way.folder.copy_in(file, way.name)
            yield path, found
        finally:
            path.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove the copies that a killed process left behind."""
        for bucket in os.listdir(self._root):
            with absence(), suppress(PermissionError), self._way(bucket, _CARRIED, {}, make=False) as way:
                for name in list(way.folder.names()):
                    way.folder.unlink(name)

    def remove(self, bucket: str, key: str, marks: Mapping[str, int]) -> Marks:
        """Remove an ordinary key's file, and the folders that are then empty."""
        with absence(), self._way(bucket, key, marks, make=False) as way:
            return way.remove()
        return {}

    def remove_aside(self, bucket: str, key: str) -> None:
        with absence():
            os.unlink(f"{self._root}/{bucket}/{aside(key)}")

    def mark(self, bucket: str, path: str) -> int | None:
        """The folder's present modification time; None if there is no folder, or no permission to see it."""
        with absence(), suppress(PermissionError):
            return os.stat(f"{self._root}/{bucket}/{path}").st_mtime_ns
        return None

    def survey(self, bucket: str, path: str) -> Survey | None:
        """Read one folder, without names that no ordinary key can have."""
        try:
            return self._survey(bucket, path)
        except PermissionError:
            if not path:  # the bucket itself
                raise
            return _LOCKED

    def holds(self, bucket: str, path: str, names: Set[str], mark_ns: int) -> bool:
        """Whether a folder has this mark and exactly these names in it: keys, and folders ('a/b/')."""
        with absence(), suppress(PermissionError), self._way(bucket, path, {}, make=False) as way:
            marked = way.folder.mark_ns == mark_ns  # before reading, so that a change meanwhile shows
            present = {path + name for name in way.folder.names()}
            extra = present - names
            return marked and names <= present and not any(ordinary(name.removesuffix("/")) for name in extra)
        return False

    def _survey(self, bucket: str, path: str) -> Survey | None:
        with absence(), self._way(bucket, path, {}, make=False) as way:
            mark_ns = way.folder.mark()  # before reading, so that a change meanwhile shows
            files: dict[str, Fingerprint] = {}
            folders: set[str] = set()
            for name, found in way.folder.files_and_folders():
                if not ordinary(path + name):
                    continue
                if found is None:
                    folders.add(f"{path}{name}/")
                else:
                    files[path + name] = found
            return Survey(files, frozenset(folders), mark_ns)
        return None

    def _opened(self, bucket: str, path: str) -> FileIO | None:
        with absence(), self._way(bucket, path, {}, make=False) as way:
            return way.folder.open(way.name)
        return None

    @contextmanager
    def _way(self, bucket: str, path: str, marks: Mapping[str, int], make: bool) -> "Iterator[_Way]":
        whole = f"{self._root}/{bucket}/{path}"
        with ExitStack() as held, _named(whole):
            way = _Way(held, Folder.at(f"{self._root}/{bucket}"), path, marks)
            way.walk(make)
            yield way


class _Way:
    """The open folders from a bucket down to one file's name, and which of them still had their mark."""

    def __init__(self, held: ExitStack, bucket: Folder, path: str, marks: Mapping[str, int]) -> None:
        *self._parents, self.name = path.split("/")
        self._held = held
        self._marks = marks
        self._new: Marks = {}
        self._steps: list[tuple[str, Folder, bool]] = []
        self._step("", bucket)

    @property
    def folder(self) -> Folder:
        return self._steps[-1][1]

    def walk(self, make: bool) -> None:
        for name in self._parents:
            path, folder, in_step = self._steps[-1]
            try:
                self._step(f"{path}{name}/", folder.enter(name))
            except FileNotFoundError:
                if not make:
                    raise
                self._step(f"{path}{name}/", folder.make(name), made=True)
                self._remark(path, folder, in_step)

    def put(self, source: str) -> Marks:
        path, folder, in_step = self._steps[-1]
        try:
            folder.move_in(source, self.name)
        except OSError as error:
            if error.errno == errno.EXDEV:
                raise AnotherDisk from error
            raise
        self._remark(path, folder, in_step)
        return self._new

    def remove(self) -> Marks:
        path, folder, in_step = self._steps.pop()
        folder.unlink(self.name)
        self._remark(path, folder, in_step)
        while self._steps:
            emptied, name = path, self._parents.pop()
            path, folder, in_step = self._steps.pop()
            if not folder.rmdir(name):
                break
            self._new[emptied] = None
            self._remark(path, folder, in_step)
        return self._new

    def _step(self, path: str, folder: Folder, made: bool = False) -> None:
        self._held.callback(folder.close)
        self._steps.append((path, folder, made or self._marks.get(path) == folder.mark_ns))

    def _remark(self, path: str, folder: Folder, in_step: bool) -> None:
        if in_step:
            self._new[path] = folder.mark()


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Put the whole path into a PermissionError: the system names only the last step."""
    try:
        yield
    except PermissionError as error:
        raise PermissionError(error.errno, error.strerror, path) from error


def parent(key: str) -> str:
    """The folder of an ordinary key: '' or 'a/b/'."""
    return key[: key.rfind("/") + 1]


def parents(path: str) -> list[str]:
    """Every folder above a key or path, the bucket's own first."""
    return ["", *(path[: at + 1] for at, char in enumerate(path) if char == "/")]
