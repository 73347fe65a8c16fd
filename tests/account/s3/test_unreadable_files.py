"""Files that the store's user may not read do not hide the others."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.account.helpers.s3_store_without_server import StoreWithoutServer, store_without_server
from torpor_account.s3.edge import refusal
from torpor_account.s3.errors import Refusal

NOBODY = 65534


@pytest.fixture
def bare_store() -> Iterator[StoreWithoutServer]:
    """One whose user is not root, from whom nothing is kept."""
    with TemporaryDirectory() as root:
        if root_user := os.geteuid() == 0:
            os.chown(root, NOBODY, -1)
            try:
                os.seteuid(NOBODY)
            except OSError as error:
                pytest.skip(f"root cannot become another user here: {error}")
        try:
            with store_without_server(Path(root)) as made:
                yield made
        finally:
            if root_user:
                os.seteuid(0)
            lock(list(Path(root, "bucket").iterdir()), 0o700)  # or it could not be removed


@pytest.fixture
def private(bare_store: StoreWithoutServer) -> list[Path]:
    """A file and a folder that may not be read, beside others."""
    for key in ("a/b", "a/file", "folder/c", "z"):
        (bare_store.folder / key).parent.mkdir(exist_ok=True)
        (bare_store.folder / key).touch()
    return [bare_store.folder / "a" / "file", bare_store.folder / "folder"]


def lock(paths: list[Path], mode: int = 0) -> None:
    for path in paths:
        path.chmod(mode)


def test_an_unreadable_file_does_not_hide_the_others_from_a_listing(
    bare_store: StoreWithoutServer, private: list[Path]
) -> None:
    lock(private)
    assert (bare_store.listed(), bare_store.listed("folder/")) == (["a/b", "z"], [])
    lock(private, 0o700)
    assert bare_store.listed() == ["a/b", "a/file", "folder/c", "z"]


@pytest.mark.parametrize("key", ["a/file", "folder/c"])
def test_a_read_of_an_unreadable_file_is_denied(
    bare_store: StoreWithoutServer, private: list[Path], key: str, caplog: pytest.LogCaptureFixture
) -> None:
    lock(private)
    with pytest.raises(PermissionError) as kept:
        bare_store.read(key)
    assert refusal(kept.value).refusal is Refusal.AccessDenied
    assert str(bare_store.folder / key) in caplog.text


def test_a_write_where_nothing_may_be_written_is_denied(bare_store: StoreWithoutServer, private: list[Path]) -> None:
    lock(private)
    with pytest.raises(PermissionError, match="folder/new"):
        bare_store.put("folder/new")
    with pytest.raises(PermissionError, match="folder/c"):
        bare_store.delete("folder/c")
