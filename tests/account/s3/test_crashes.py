"""A store killed at any moment holds the old object or the new one, each with its metadata."""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from tests.account.helpers.s3_server import client, serving
from tests.helpers.thorough_values import thorough
from torpor_account.s3.object_store import ObjectStore
from torpor_account.s3.storage.entries import ObjectName, ObjectTraits
from torpor_account.s3.storage.index import Index
from torpor_account.s3.storage.key_pages import KeyQuery
from torpor_account.s3.storage.objects import Draft, Objects
from torpor_account.s3.storage.tree import Tree


class Killed(BaseException):
    """Nothing handles it, as nothing handles kill -9."""


class DyingTree(Tree):
    """The process ends right before or right after it moves the file into place."""

    def __init__(self, root: Path, moved: bool) -> None:
        super().__init__(root)
        self._moved = moved

    def place(self, *arguments: Any) -> Any:
        return self._die(super().place, *arguments)

    def place_aside(self, *arguments: Any) -> Any:
        return self._die(super().place_aside, *arguments)

    def _die(self, move: Any, *arguments: Any) -> Any:
        if not self._moved:
            raise Killed
        move(*arguments)
        raise Killed


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


def put(store: ObjectStore, objects: Objects, key: str, body: bytes) -> None:
    staged = store.staging.new()
    staged.write(body)
    traits = ObjectTraits(headers={"x-amz-meta-body": body.decode()}, tags={"body": body.decode()})
    objects.put(ObjectName("bucket", key), Draft(staged, md5(body).hexdigest(), traits))


@pytest.mark.parametrize("key", ["ordinary/key", "kept/aside/"])
@pytest.mark.parametrize(("moved", "survivor"), [(False, b"old"), (True, b"new")])
def test_a_put_cut_short_leaves_one_whole_object(root: Path, key: str, moved: bool, survivor: bytes) -> None:
    store = ObjectStore(root)
    store.buckets.create("bucket")
    put(store, store.objects, key, b"old")
    index = Index(root / ".torpor" / "index.sqlite")
    with pytest.raises(Killed):
        put(store, Objects(index, DyingTree(root, moved), lambda: 0.0), key, b"new")
    index.close()
    store.close()

    again = ObjectStore(root)
    opened = again.objects.open(ObjectName("bucket", key))
    with opened.file:
        assert opened.file.read() == survivor
    assert opened.entry.etag == md5(survivor).hexdigest()
    assert opened.entry.traits.tags == {"body": survivor.decode()}
    assert [entry.key for entry in again.listing.page("bucket", KeyQuery()).items] == [key]
    assert list((root / ".torpor" / "tmp").iterdir()) == []
    again.close()


def test_without_its_index_a_store_still_has_its_files(root: Path) -> None:
    store = ObjectStore(root)
    store.buckets.create("bucket")
    put(store, store.objects, "a/b", b"body")
    store.close()
    for file in (root / ".torpor").glob("index.sqlite*"):
        file.unlink()
    again = ObjectStore(root)
    assert again.objects.head(ObjectName("bucket", "a/b")).etag == md5(b"body").hexdigest()
    again.close()


class Writer(threading.Thread):
    """Writes versions of one key until the server is gone; the metadata of each names the version."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__()
        self._s3 = client(url, retries={"total_max_attempts": 1})
        self.key = key
        self.begun = 0
        self.done = 0

    def run(self) -> None:
        with suppress(BotoCoreError, ClientError):
            while True:
                self.begun += 1
                self._s3.put_object(Bucket="bucket", Key=self.key, Body=body(self.begun), Metadata=said(self.begun))
                self.done = self.begun


def body(version: int) -> bytes:
    return str(version).encode() * (version * 997 % 70_000)


def said(version: int) -> dict[str, str]:
    return {"version": str(version), "md5": md5(body(version)).hexdigest()}


def writers(url: str) -> Iterator[Writer]:
    for key in ("plain", "deep/er/plain", "plain/aside", "aside/"):
        yield Writer(url, key)


def whole_version(s3: Any, key: str) -> int:
    """Which version is there, its bytes and all that was said of them; 0: none."""
    try:
        got = s3.get_object(Bucket="bucket", Key=key)
    except s3.exceptions.NoSuchKey:
        return 0
    version = int(got["Metadata"]["version"])
    assert got["Body"].read() == body(version)
    assert (got["Metadata"], got["ETag"]) == (said(version), f'"{said(version)["md5"]}"')
    return version


@pytest.mark.parametrize("after_writes", [23, *thorough(5, 61)])
def test_a_server_killed_under_load_restarts_with_whole_objects(root: Path, after_writes: int) -> None:
    with serving(root) as server:
        s3 = client(server.url)
        s3.create_bucket(Bucket="bucket")
        upload = s3.create_multipart_upload(Bucket="bucket", Key="large")
        named = {"Bucket": "bucket", "Key": "large", "UploadId": upload["UploadId"]}
        part = s3.upload_part(**named, PartNumber=1, Body=b"part")
        running = list(writers(server.url))
        for writer in running:
            writer.start()
        while sum(writer.done for writer in running) < after_writes:
            os.sched_yield()
        server.kill()
        for writer in running:
            writer.join()

    with serving(root) as server:
        s3 = client(server.url)
        for writer in running:
            assert whole_version(s3, writer.key) in (writer.done, writer.begun)
        s3.complete_multipart_upload(**named, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]})
        assert s3.get_object(Bucket="bucket", Key="large")["Body"].read() == b"part"
        assert list((root / ".torpor" / "tmp").iterdir()) == []
