"""A bucket that is a file system of its own."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.account.helpers.s3_store_without_server import StoreWithoutServer, store_without_server
from torpor_account.s3.errors import S3Error
from torpor_account.s3.object_store import ObjectStore
from torpor_account.s3.storage.tree import AnotherDisk, Marks, Tree

MEMORY = Path("/dev/shm")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A folder on another file system than `tmp_path`."""
    if not MEMORY.is_dir() or MEMORY.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system here")
    with TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


@pytest.fixture
def bare_store(tmp_path: Path, elsewhere: Path) -> Iterator[StoreWithoutServer]:
    """One whose new objects are written on another file system than its bucket's."""
    with store_without_server(tmp_path, staging=elsewhere) as made:
        yield made


@pytest.mark.parametrize("key", ["a/b", "aside/"])
def test_an_object_is_put_into_a_bucket_on_another_file_system(
    bare_store: StoreWithoutServer, elsewhere: Path, key: str
) -> None:
    for body in (b"first", b"second"):
        entry = bare_store.put(key, body)
    assert (bare_store.read(key), bare_store.listed(), bare_store.objects.head(entry.name)) == (b"second", [key], entry)
    assert list((bare_store.folder / ".torpor" / "carried").iterdir()) == list(elsewhere.iterdir()) == []


class NestedTree(Tree):
    """Below `mount/` lies one more file system."""

    def place(self, bucket: str, key: str, source: Path, marks: Mapping[str, int]) -> Marks:
        if key.startswith("mount/"):
            raise AnotherDisk
        return super().place(bucket, key, source, marks)


def test_a_mount_within_a_bucket_takes_no_objects(tmp_path: Path) -> None:
    with store_without_server(tmp_path, NestedTree) as bare_store:
        with pytest.raises(S3Error, match="mount the whole bucket"):
            bare_store.put("mount/a")
        assert bare_store.listed() == []
        assert list((bare_store.folder / ".torpor" / "carried").iterdir()) == []


def test_copies_that_a_killed_process_left_are_removed(tmp_path: Path) -> None:
    left = tmp_path / "bucket" / ".torpor" / "carried" / "copy"
    left.parent.mkdir(parents=True)
    left.touch()
    ObjectStore(tmp_path).close()
    assert not left.exists()


IN_A_MOUNT = """
import sys
from pathlib import Path
from torpor_account.s3.object_store import ObjectStore

ObjectStore(Path(sys.argv[1])).delete_bucket("bucket")
"""


def test_a_bucket_that_is_a_mount_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "bucket").mkdir()
    alone = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    mounting = f"mount -t tmpfs none {tmp_path / 'bucket'}"
    if subprocess.run([*alone, mounting], check=False, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    command = [*alone, f'{mounting} && exec "$@"', "sh", sys.executable, "-c", IN_A_MOUNT, str(tmp_path)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert "bucket is a mount: unmount it" in ended.stderr.splitlines()[-1]
