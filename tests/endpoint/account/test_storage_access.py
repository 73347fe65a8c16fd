"""One contract for the storage of jobs, over the embedded object store and over any S3."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.endpoint.helpers.model_artifacts import put
from torpor_account.s3.access.embedded import EmbeddedStorage, Storage, StorageError
from torpor_account.s3.access.remote import RemoteStorage
from torpor_account.s3.object_store import ObjectStore


@pytest.fixture(params=["embedded", "remote"])
def storage(request: pytest.FixtureRequest, tmp_path: Path, live: LiveEndpoint) -> Iterator[Storage]:
    """With an empty bucket `training-storage`."""
    if request.param == "remote":
        client = live.client("s3")
        client.create_bucket(Bucket="training-storage")
        yield RemoteStorage(client)
        for key in RemoteStorage(client).keys("training-storage", ""):
            client.delete_object(Bucket="training-storage", Key=key)
        client.delete_bucket(Bucket="training-storage")
        return
    objects = ObjectStore(tmp_path / "s3")
    objects.buckets.create("training-storage")
    yield EmbeddedStorage(objects)
    objects.close()


def test_an_object_that_was_put_can_be_fetched(storage: Storage, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"weights" * 300_000)
    storage.put(tmp_path / "model", "training-storage", "jobs/a b/model")
    storage.fetch("training-storage", "jobs/a b/model", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "model").read_bytes()


def test_an_object_can_be_opened_and_read_once_more(storage: Storage, tmp_path: Path) -> None:
    storage.write(b"rows", "training-storage", "in/a.csv")
    with storage.opened("training-storage", "in/a.csv", tmp_path / "copy") as opened:
        assert opened.read() == b"rows"
        opened.seek(0)
        assert opened.read() == b"rows"


def test_keys_are_those_of_a_prefix(storage: Storage, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    for key in ("train/b", "train/a/c", "training", "other"):
        storage.put(tmp_path / "file", "training-storage", key)
    assert storage.keys("training-storage", "train/") == ["train/a/c", "train/b"]
    assert storage.keys("training-storage", "none") == []


def test_the_error_of_a_missing_object_or_bucket_names_its_address(storage: Storage, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="s3://training-storage/none"):
        storage.fetch("training-storage", "none", tmp_path / "file")
    with pytest.raises(StorageError, match="s3://training-storage/none"):
        storage.opened("training-storage", "none", tmp_path / "file")
    storage.check("training-storage")
    with pytest.raises(StorageError, match="s3://training-nowhere"):
        storage.check("training-nowhere")
    with pytest.raises(StorageError, match="s3://training-nowhere/"):
        storage.keys("training-nowhere", "")
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(StorageError, match="s3://training-nowhere/key"):
        storage.put(tmp_path / "file", "training-nowhere", "key")


def test_a_prefix_of_many_keys_is_read_page_by_page(tmp_path: Path) -> None:
    objects = ObjectStore(tmp_path)
    objects.buckets.create("bucket")
    put(tmp_path / "bucket", {f"{number:04}": b"" for number in range(1001)})
    assert len(EmbeddedStorage(objects).keys("bucket", "")) == 1001
    objects.close()
