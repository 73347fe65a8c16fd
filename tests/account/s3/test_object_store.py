"""The store without a server: the folders that it reads again, and calls from many threads."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import md5
from pathlib import Path
from random import Random

import pytest

from tests.account.helpers.s3_store_without_server import (
    StoreWithoutServer,
    WatchedTree,
    store_without_server,
)
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.object_store import ObjectStore
from torpor_account.s3.storage.entries import ObjectName, ObjectTraits
from torpor_account.s3.storage.key_pages import KeyQuery
from torpor_account.s3.storage.objects import Draft
from torpor_account.s3.storage.upload_parts import UploadedPart


@pytest.fixture
def tree(tmp_path: Path) -> WatchedTree:
    return WatchedTree(tmp_path)


@pytest.fixture
def bare_store(tmp_path: Path, tree: WatchedTree) -> Iterator[StoreWithoutServer]:
    with store_without_server(tmp_path, lambda _: tree) as made:
        yield made


def newly_read(tree: WatchedTree) -> list[str]:
    """The folders read since this was asked last."""
    read, tree.read = tree.read, []
    return read


def test_a_folder_is_read_once(bare_store: StoreWithoutServer, tree: WatchedTree) -> None:
    (bare_store.folder / "a").mkdir()
    (bare_store.folder / "a" / "b").touch()
    assert (bare_store.listed(), newly_read(tree)) == (["a/b"], ["", "a/"])
    assert (bare_store.listed(), newly_read(tree)) == (["a/b"], [])


def test_own_writes_and_deletes_make_no_folder_be_read_again(bare_store: StoreWithoutServer, tree: WatchedTree) -> None:
    bare_store.put("a/b")
    bare_store.listed()
    newly_read(tree)
    for key in ("a/c", "new/deep/er", "d"):
        bare_store.put(key)
    bare_store.delete("a/b")
    bare_store.delete("new/deep/er")
    assert (bare_store.listed(), newly_read(tree)) == (["a/c", "d"], [])


def test_only_a_changed_folder_is_read_again(bare_store: StoreWithoutServer, tree: WatchedTree) -> None:
    for key in ("a/b", "c/d", "e/f/g"):
        bare_store.put(key)
    bare_store.listed()
    newly_read(tree)
    (bare_store.folder / "c" / "new").touch()
    assert (bare_store.listed(), newly_read(tree)) == (["a/b", "c/d", "c/new", "e/f/g"], ["c/"])


def test_own_writes_do_not_hide_a_file_copied_in_before(bare_store: StoreWithoutServer) -> None:
    bare_store.put("a/b")
    bare_store.listed()
    (bare_store.folder / "a" / "by-hand").touch()
    bare_store.put("a/c")
    assert bare_store.listed() == ["a/b", "a/by-hand", "a/c"]


def test_a_page_does_not_look_at_folders_that_it_says_nothing_about(
    bare_store: StoreWithoutServer, tree: WatchedTree
) -> None:
    for key in ("a/b", "c/d"):
        bare_store.put(key)
    bare_store.listed()
    newly_read(tree)
    (bare_store.folder / "c" / "new").touch()
    assert (bare_store.listed("a/"), newly_read(tree)) == (["a/b"], [])


KEYS = ("a", "a/b", "a/b/c", "d/", "x/y", "x/z")


@contextmanager
def store_at(root: Path) -> Iterator[ObjectStore]:
    store = ObjectStore(root)
    store.buckets.create("bucket")
    yield store
    store.close()


def play(store: ObjectStore, seed: int) -> None:
    """Put, read, delete and list at random; the metadata of every object describes its body."""
    random = Random(seed)
    for _ in range(60):
        name = ObjectName("bucket", random.choice(KEYS))
        body = random.randbytes(random.randrange(40))
        digest = md5(body).hexdigest()
        match random.randrange(4):
            case 0:
                staged = store.staging.new()
                staged.write(body)
                store.objects.put(name, Draft(staged, digest, ObjectTraits(headers={"x-amz-meta-md5": digest})))
            case 1:
                store.objects.delete(name)
            case 2:
                assert all(entry.etag for entry in store.listing.page("bucket", KeyQuery()).items)
            case _:
                read_whole(store, name)


def read_whole(store: ObjectStore, name: ObjectName) -> None:
    try:
        opened = store.objects.open(name)
    except S3Error as error:
        if error.refusal is not Refusal.NoSuchKey:
            raise
        return
    with opened.file:
        digest = md5(opened.file.read()).hexdigest()
    assert (opened.entry.etag, opened.entry.traits.headers) == (digest, {"x-amz-meta-md5": digest})


def test_many_threads_on_few_keys_see_whole_objects_only(tmp_path: Path) -> None:
    with store_at(tmp_path) as store, ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda seed: play(store, seed), range(6)))
        listed = {entry.key for entry in store.listing.page("bucket", KeyQuery()).items}
        for key in KEYS:
            read_whole(store, ObjectName("bucket", key))
        files = {
            str(path.relative_to(tmp_path / "bucket")) for path in (tmp_path / "bucket").rglob("*") if path.is_file()
        }
        assert {file for file in files if not file.startswith(".torpor")} <= listed
        assert list((tmp_path / ".torpor" / "tmp").iterdir()) == []


def begin_and_leave(store: ObjectStore) -> None:
    """An upload of two parts that is never completed."""
    upload = store.uploads.begin(ObjectName("bucket", "k"), ObjectTraits(), None, None)
    for number in (1, 2):
        staged = store.staging.new()
        staged.write(b"part")
        store.uploads.add(
            upload, UploadedPart(number, staged.path.name, 4, md5(b"part").hexdigest(), None, 0.0), staged
        )


def removed_and_made_by_hand(store: ObjectStore, root: Path) -> None:
    (root / "bucket").rename(root / "bucket.elsewhere")  # not deleted, or its inode might be given out again
    (root / "bucket").mkdir()
    store.buckets.get("bucket")


@pytest.mark.parametrize("end", [lambda store, root: store.delete_bucket("bucket"), removed_and_made_by_hand])
def test_unfinished_uploads_end_with_their_bucket(tmp_path: Path, end: Callable[[ObjectStore, Path], None]) -> None:
    with store_at(tmp_path) as store:
        begin_and_leave(store)
        end(store, tmp_path)
        assert not store.uploads.page("bucket", KeyQuery()).items
        assert store.uploads.files() == set()
        assert list((tmp_path / ".torpor" / "tmp").iterdir()) == []


def test_a_bucket_that_stays_keeps_its_uploads(tmp_path: Path) -> None:
    with store_at(tmp_path) as store:
        begin_and_leave(store)
        (tmp_path / "bucket" / "folder").mkdir()
        (tmp_path / "bucket" / "folder" / "link").symlink_to(tmp_path)
        with pytest.raises(S3Error, match="not empty"):
            store.delete_bucket("bucket")
        store.buckets.create("other")
        store.delete_bucket("other")
        assert {path.name for path in (tmp_path / ".torpor" / "tmp").iterdir()} == store.uploads.files() != set()
