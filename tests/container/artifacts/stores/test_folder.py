"""Artifacts that the store reads in place, and keys that it passes to the other store."""

import asyncio
from pathlib import Path

import pytest

from torpor_container.artifacts.errors import ArtifactForbidden, ArtifactMissing, DownloadBroken
from torpor_container.artifacts.object_keys import aside
from torpor_container.artifacts.stores.artifact_store import ArtifactHead, Listed
from torpor_container.artifacts.stores.folder import FolderArtifactStore, PermittedFolderStore


class Elsewhere:
    """A store that has every object, so that a test sees when it is asked."""

    async def head(self, key: str) -> ArtifactHead:
        return ArtifactHead(9, f"elsewhere {key}")

    async def get(self, key: str, head: ArtifactHead, into: Path) -> None:
        await asyncio.to_thread(into.write_text, head.version)

    async def listed(self, prefix: str, at_most: int) -> list[Listed]:
        return [Listed(f"{prefix}elsewhere", 9, "v")]

    async def some_keys(self, folder: str, at_most: int) -> list[str]:
        return []


@pytest.fixture
def store(tmp_path: Path) -> FolderArtifactStore:
    (tmp_path / "root/bucket/houses").mkdir(parents=True)
    (tmp_path / "root/bucket/houses/m.tar.gz").write_bytes(b"model")
    (tmp_path / "secret").write_bytes(b"secret")
    return FolderArtifactStore(tmp_path / "root", "bucket", Elsewhere())


def test_an_object_that_is_a_file_here_is_not_copied(store: FolderArtifactStore) -> None:
    head = asyncio.run(store.head("houses/m.tar.gz"))
    assert head.file == store.root.resolve() / "bucket/houses/m.tar.gz"
    assert head.size_bytes == 5


def test_a_file_that_changes_has_another_version(store: FolderArtifactStore) -> None:
    before = asyncio.run(store.head("houses/m.tar.gz"))
    (store.root / "bucket/new").write_bytes(b"newer")
    (store.root / "bucket/new").rename(store.root / "bucket/houses/m.tar.gz")
    assert asyncio.run(store.head("houses/m.tar.gz")).version != before.version


@pytest.mark.parametrize(
    "key",
    ["../secret", "houses/../../../secret", ".torpor/x", "houses", "houses/m.tar.gz/x", "nothing", "out", "round"],
)
def test_a_key_that_is_no_plain_file_of_the_bucket_goes_to_the_other_store(
    key: str, store: FolderArtifactStore
) -> None:
    (store.root / "bucket/.torpor").mkdir()
    (store.root / "bucket/.torpor/x").write_bytes(b"the store's own")
    (store.root / "bucket/out").symlink_to(store.root.parent / "secret")
    (store.root / "bucket/round").symlink_to("round")
    assert store.local_path(key) is None
    assert asyncio.run(store.head(key)).version == f"elsewhere {key}"


@pytest.mark.parametrize("key", ["out//m.tar.gz", "/m.tar.gz", "m/", "x" * 300])
def test_an_object_kept_aside_is_read_in_place(key: str, store: FolderArtifactStore) -> None:
    file = store.root / "bucket" / aside(key)
    file.parent.mkdir(parents=True)
    file.write_bytes(b"aside")
    head = asyncio.run(store.head(key))
    assert (head.size_bytes, head.file) == (5, file.resolve())
    assert FolderArtifactStore(store.root / "bucket").local_path(key) is None  # a folder of the user's own has none


def test_a_link_that_stays_in_the_bucket_is_followed(store: FolderArtifactStore) -> None:
    (store.root / "bucket/latest").symlink_to("houses/m.tar.gz")
    path = store.local_path("latest")
    assert path is not None
    assert path.read_bytes() == b"model"


def test_a_bucket_that_is_a_link_out_of_the_root_is_not_read(store: FolderArtifactStore, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/k").write_bytes(b"x")
    (store.root / "linked").symlink_to(tmp_path / "outside")
    assert FolderArtifactStore(store.root, "linked").local_path("k") is None


def test_a_key_outside_the_folder_is_missing_without_another_store(store: FolderArtifactStore, tmp_path: Path) -> None:
    alone = FolderArtifactStore(store.root / "bucket")
    assert asyncio.run(alone.head("houses/m.tar.gz")).size_bytes == 5
    with pytest.raises(ArtifactMissing, match="key: nothing"):
        asyncio.run(alone.head("nothing"))
    with pytest.raises(ArtifactMissing):
        asyncio.run(alone.get("nothing", ArtifactHead(1, "v"), tmp_path / "copy"))


def test_get_copies_only_the_version_that_head_saw(store: FolderArtifactStore, tmp_path: Path) -> None:
    head = asyncio.run(store.head("houses/m.tar.gz"))
    asyncio.run(store.get("houses/m.tar.gz", head, tmp_path / "copy"))
    assert (tmp_path / "copy").read_bytes() == b"model"
    (store.root / "bucket/houses/m.tar.gz").write_bytes(b"changed")
    with pytest.raises(DownloadBroken, match="overwritten"):
        asyncio.run(store.get("houses/m.tar.gz", head, tmp_path / "second"))
    assert not (tmp_path / "second").exists()


def test_what_a_role_may_not_read_is_not_read_in_place(store: FolderArtifactStore) -> None:
    (store.root / "bucket/houses/other.tar.gz").write_bytes(b"model")

    def check(bucket: str, key: str) -> None:
        if (bucket, key) != ("bucket", "houses/m.tar.gz"):
            raise ArtifactForbidden(bucket, key)

    permitted = PermittedFolderStore(store.root, "bucket", Elsewhere(), check=check)
    assert asyncio.run(permitted.head("houses/m.tar.gz")) == asyncio.run(store.head("houses/m.tar.gz"))
    for key in ("houses/other.tar.gz", "elsewhere"):
        with pytest.raises(ArtifactForbidden):
            asyncio.run(permitted.head(key))
    assert asyncio.run(permitted.some_keys("houses/", 9)) == []
