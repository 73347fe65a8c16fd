"""A machine that fails a chosen step of some work: the disk, the database or the store is away from the n-th step on,
for a few steps, and comes back. A clean run counts the steps."""

import errno
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, ParamSpec, TypeVar

import pytest

from torpor_account.s3.access.embedded import ObjectHead, Storage, StorageAway
from torpor_account.storage.databases.database import Database, DatabaseAway, OutcomeUnknown
from torpor_endpoint.services.jobs.work import WorkThreads

P = ParamSpec("P")
T = TypeVar("T")

DISK = "no room on the disk"
DESCRIPTORS = "no descriptor"
STORE = "the store is away"
STORE_AFTER = "the store has it, and does not say so"
DATABASE = "the database is away"
COMMIT = "the database has it, and does not say so"
KINDS = [
    DISK,
    pytest.param(DESCRIPTORS, marks=pytest.mark.thorough),
    STORE,
    pytest.param(STORE_AFTER, marks=pytest.mark.thorough),
    DATABASE,
    COMMIT,
]
"""What fails, as the parameters of a test. Where no descriptor is left, the same steps fail as on a full disk."""


class FailingMachine:
    """`kind` says what fails. `steps` counts the steps of this kind so far; those in `away` fail."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.steps = 0
        self.away: range = range(0)
        self.failed = 0

    def fail_next(self, first: int, count: int) -> None:
        """Fail so many steps, from the `first` one from now on."""
        self.away = range(self.steps + first, self.steps + first + count)

    @property
    def works_again(self) -> bool:
        """Whether it failed all that it was to fail."""
        return self.steps >= self.away.stop

    def step(self, kind: str) -> bool:
        """A step that this kind would fail: whether it fails."""
        if kind != self.kind:
            return False
        self.steps += 1
        fails = self.steps - 1 in self.away
        self.failed += fails
        return fails


class FailingThreads(WorkThreads):
    """Whatever runs in these threads reads or writes the disk."""

    def __init__(self, machine: FailingMachine, count: int = 4) -> None:
        super().__init__("failing", count)
        self._machine = machine

    async def finished(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        machine = self._machine
        if getattr(function, "__name__", "") == "rmtree":  # it frees room
            return await super().finished(function, *args, **kwargs)
        closes = getattr(function, "__name__", "") == "close"
        if closes:  # the system closes a file also where it fails
            await super().finished(function, *args, **kwargs)
        if machine.step(DISK):
            raise OSError(errno.ENOSPC, "No space left on device")
        if machine.step(DESCRIPTORS):
            raise OSError(errno.EMFILE, "Too many open files")
        return await super().finished(function, *args, **kwargs)


class FailingStorage:
    """Another storage, whose operations fail before they are done, or after it."""

    def __init__(self, storage: Storage, machine: FailingMachine) -> None:
        self._storage = storage
        self._machine = machine

    def keys(self, bucket: str, prefix: str) -> list[str]:
        return self._done(self._storage.keys, bucket, prefix)

    def check(self, bucket: str) -> None:
        self._done(self._storage.check, bucket)

    def check_writable(self, bucket: str, key: str) -> None:
        self._done(self._storage.check_writable, bucket, key)

    def head(self, bucket: str, key: str) -> ObjectHead:
        return self._done(self._storage.head, bucket, key)

    def fetch(self, bucket: str, key: str, into: Path) -> None:
        self._done(self._storage.fetch, bucket, key, into)

    def opened(self, bucket: str, key: str, copy: Path) -> BinaryIO:
        if self._machine.step(STORE) or self._machine.step(STORE_AFTER):
            raise StorageAway("the store is away")
        return self._storage.opened(bucket, key, copy)

    def put(self, file: Path, bucket: str, key: str, content_type: str = "") -> None:
        self._done(self._storage.put, file, bucket, key, content_type)

    def write(self, body: bytes, bucket: str, key: str, content_type: str = "") -> None:
        self._done(self._storage.write, body, bucket, key, content_type)

    def remove(self, bucket: str, key: str) -> None:
        self._done(self._storage.remove, bucket, key)

    def _done(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._machine.step(STORE):
            raise StorageAway("the store is away")
        done = work(*args, **kwargs)
        if self._machine.step(STORE_AFTER):
            raise StorageAway("the store is away")
        return done


class FailingDatabase(Database):
    """Another database, whose statements and commits fail."""

    def __init__(self, database: Database, machine: FailingMachine) -> None:
        self._database = database
        self._machine = machine

    def close(self) -> None:
        self._database.close()

    @property
    def changes(self) -> int:
        return self._database.changes

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        self._step()
        return self._database.rows(statement, *values)

    def changed(self, statement: str, *values: object) -> bool:
        self._step()
        return self._database.changed(statement, *values)

    def inserted(self, statement: str, *values: object) -> int:
        self._step()
        return self._database.inserted(statement, *values)

    def write_many(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        self._step()
        self._database.write_many(statement, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._step()
        with self._database.transaction():
            yield
            self._step()
        if self._machine.step(COMMIT):
            raise OutcomeUnknown("the connection broke")

    def _step(self) -> None:
        if self._machine.step(DATABASE):
            raise DatabaseAway("the database does not answer")
