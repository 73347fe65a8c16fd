"""A file copied in by hand is listed, whatever happens meanwhile."""

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from hashlib import md5
from io import FileIO
from itertools import count
from pathlib import Path
from threading import Event

import pytest

from tests.account.helpers.s3_store_without_server import (
    StoreWithoutServer,
    WatchedTree,
    store_without_server,
)
from torpor_account.s3.storage.entries import ObjectName
from torpor_account.s3.storage.index import Index
from torpor_account.s3.storage.tree import Marks, Survey, Tree


def copy_in(folder: Path, *keys: str) -> None:
    for key in keys:
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).touch()


class HalfwayTree(Tree):
    """A reader of the first folder below another continues only after another thread has looked at the marks."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.half_way, self._looked = Event(), Event()

    def mark(self, bucket: str, path: str) -> int | None:
        if self.half_way.is_set():
            self._looked.set()
        return super().mark(bucket, path)

    def survey(self, bucket: str, path: str) -> Survey | None:
        if path:
            self.half_way.set()
            assert self._looked.wait(timeout=60)
        return super().survey(bucket, path)


def test_a_list_during_another_sees_all_that_was_copied_in(tmp_path: Path) -> None:
    tree = HalfwayTree(tmp_path)
    with store_without_server(tmp_path, lambda _: tree) as bare_store, ThreadPoolExecutor() as pool:
        copy_in(bare_store.folder, "a/b", "a/c/d", "e/f")
        first = pool.submit(bare_store.listed)
        assert tree.half_way.wait(timeout=60)
        second = pool.submit(bare_store.listed)
        assert second.result() == first.result() == ["a/b", "a/c/d", "e/f"]


class OvertakenIndex(Index):
    """Before the second read in the folder, another thread lists."""

    meanwhile: Callable[[], object] = staticmethod(lambda: None)

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._readings = count()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        if next(self._readings) == 1:
            self.meanwhile()
        with super().reading() as rows:
            yield rows


def test_a_list_that_another_overtakes_has_the_findings_of_that_list(tmp_path: Path) -> None:
    with (
        store_without_server(tmp_path) as other,
        closing(OvertakenIndex(tmp_path / ".torpor" / "index.sqlite")) as index,
    ):
        other.listed()
        copy_in(other.folder, "a/b", "c")
        index.meanwhile = other.listed
        assert StoreWithoutServer(tmp_path, index, Tree(tmp_path)).listed() == ["a/b", "c"]


class FailingTree(Tree):
    """Fails at the first folder below another."""

    failed = False

    def survey(self, bucket: str, path: str) -> Survey | None:
        if path and not self.failed:
            self.failed = True
            raise MemoryError
        return super().survey(bucket, path)


def test_a_list_that_was_cut_short_hides_nothing_from_the_next(tmp_path: Path) -> None:
    with store_without_server(tmp_path, FailingTree) as bare_store:
        copy_in(bare_store.folder, "a/b", "a/c/d", "e/f")
        os.utime(bare_store.folder / "e", ns=(0, 0))  # as out of an archive that knows no times
        with pytest.raises(MemoryError):
            bare_store.listed()
        assert bare_store.listed("e/") == ["e/f"]
        assert bare_store.listed() == ["a/b", "a/c/d", "e/f"]


class _Compared(int):
    """A mark that knows the moment when it has been compared."""

    then: Callable[[], object] = staticmethod(lambda: None)

    def __eq__(self, other: object) -> bool:
        same = int(self) == other
        self.then()
        return same

    __hash__ = int.__hash__


class InterruptedTree(Tree):
    """During a write, after its look at the folder's mark, a file is changed by hand."""

    by_hand: Callable[[], object] = staticmethod(lambda: None)

    def place(self, bucket: str, key: str, source: Path, marks: Mapping[str, int]) -> Marks:
        return super().place(bucket, key, source, self._compared(marks))

    def remove(self, bucket: str, key: str, marks: Mapping[str, int]) -> Marks:
        return super().remove(bucket, key, self._compared(marks))

    def _compared(self, marks: Mapping[str, int]) -> Mapping[str, int]:
        compared = {path: _Compared(mark_ns) for path, mark_ns in marks.items()}
        if compared:
            compared[max(compared, key=len)].then = self.by_hand
        return compared


@pytest.fixture
def tree(tmp_path: Path) -> InterruptedTree:
    return InterruptedTree(tmp_path)


@pytest.fixture
def bare_store(tmp_path: Path, tree: InterruptedTree) -> Iterator[StoreWithoutServer]:
    with store_without_server(tmp_path, lambda _: tree) as bare_store:
        for key in ("a/kept", "a/old"):
            bare_store.put(key)
        assert bare_store.listed() == ["a/kept", "a/old"]
        yield bare_store


@pytest.mark.parametrize(
    ("key", "by_hand"), [("new", "by-hand"), ("new", "by/hand"), ("a/new", "a/by-hand"), ("a/new", "a/by/hand")]
)
def test_a_file_copied_in_during_a_put_is_listed(
    bare_store: StoreWithoutServer, tree: InterruptedTree, key: str, by_hand: str
) -> None:
    tree.by_hand = lambda: copy_in(bare_store.folder, by_hand)
    bare_store.put(key)
    assert bare_store.listed() == sorted(["a/kept", "a/old", key, by_hand])


@pytest.mark.parametrize("by_hand", ["a/by-hand", "a/by/hand"])
def test_a_file_copied_in_during_a_delete_is_listed(
    bare_store: StoreWithoutServer, tree: InterruptedTree, by_hand: str
) -> None:
    tree.by_hand = lambda: copy_in(bare_store.folder, by_hand)
    bare_store.delete("a/old")
    assert bare_store.listed() == sorted(["a/kept", by_hand])


class ComparingTree(Tree):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.compared: list[str] = []

    def holds(self, bucket: str, path: str, names: Set[str], mark_ns: int) -> bool:
        self.compared.append(path)
        return super().holds(bucket, path, names, mark_ns)


def test_names_are_compared_once_after_a_write(tmp_path: Path) -> None:
    tree = ComparingTree(tmp_path)
    with store_without_server(tmp_path, lambda _: tree) as bare_store:
        bare_store.put("a/b")
        bare_store.listed()
        tree.compared.clear()
        bare_store.put("a/c")
        assert (bare_store.listed(), tree.compared) == (["a/b", "a/c"], ["a/"])
        assert (bare_store.listed(), tree.compared) == (["a/b", "a/c"], ["a/"])


class OvertakenTree(WatchedTree):
    """Before the first look at a mark, another thread writes."""

    meanwhile: Callable[[], object] | None = None

    def mark(self, bucket: str, path: str) -> int | None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile:
            meanwhile()
        return super().mark(bucket, path)


def test_a_write_during_a_list_makes_no_folder_be_read_again(tmp_path: Path) -> None:
    tree = OvertakenTree(tmp_path)
    with store_without_server(tmp_path, lambda _: tree) as bare_store:
        bare_store.put("a/b")
        bare_store.listed()
        tree.read.clear()
        tree.meanwhile = lambda: bare_store.put("a/c")
        assert (bare_store.listed(), tree.read) == (["a/b", "a/c"], [])


class GrowingFile(FileIO):
    """A file that grows at its end whenever it is read."""

    def read(self, size: int | None = -1, /) -> bytes:
        with open(self.name, "ab") as more:
            more.write(b"more")
        return super().read(size)


class GrowingTree(Tree):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._path = root
        self.growing = True

    def open(self, bucket: str, key: str) -> FileIO | None:
        return GrowingFile(self._path / bucket / key) if self.growing else super().open(bucket, key)


def test_a_file_that_is_still_being_copied_in_is_listed_when_it_is_there(tmp_path: Path) -> None:
    tree = GrowingTree(tmp_path)
    with store_without_server(tmp_path, lambda _: tree) as bare_store:
        for key in ("a", "b"):
            (bare_store.folder / key).write_bytes(b"begun")
        assert bare_store.listed() == []
        tree.growing = False
        assert bare_store.listed() == ["a", "b"]


def test_an_etag_is_that_of_the_bytes_that_are_sent_with_it(tmp_path: Path) -> None:
    with store_without_server(tmp_path, GrowingTree) as bare_store:
        (bare_store.folder / "a").write_bytes(b"begun")
        opened = bare_store.objects.open(ObjectName("bucket", "a"))
        with opened.file:
            assert opened.entry.etag == md5(opened.file.read(opened.entry.size_bytes)).hexdigest()
