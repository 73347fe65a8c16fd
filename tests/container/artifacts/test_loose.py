"""A model that lies in S3 as its files."""

import asyncio
from pathlib import Path

import pytest

from torpor_container.artifacts.archives.unpack import UnpackLimits
from torpor_container.artifacts.errors import ArtifactInvalid, ArtifactMissing, DownloadBroken
from torpor_container.artifacts.loose import LooseFiles
from torpor_container.artifacts.stores.artifact_store import ArtifactHead, Listed


class Bucket:
    """Objects by key. `overwrites` come to pass as the first object is copied."""

    def __init__(self, **overwrites: str) -> None:
        self.objects: dict[str, str] = {}
        self.overwrites = overwrites

    async def head(self, key: str) -> ArtifactHead:
        if key not in self.objects:
            raise ArtifactMissing("bucket", key)
        return ArtifactHead(len(self.objects[key]), self.objects[key])

    async def get(self, key: str, head: ArtifactHead, into: Path) -> None:
        into.write_text(self.objects[key])  # noqa: ASYNC240  it is a test's own small file
        self.objects |= self.overwrites

    async def listed(self, prefix: str, at_most: int) -> list[Listed]:
        keys = sorted(key for key in self.objects if key.startswith(prefix))
        return [Listed(key, len(self.objects[key]), self.objects[key]) for key in keys[: at_most + 1]]

    async def some_keys(self, folder: str, at_most: int) -> list[str]:
        return []


def loose(bucket: Bucket, **limits: int) -> LooseFiles:
    return LooseFiles(bucket, "bucket", UnpackLimits(**limits))


def gathered(bucket: Bucket, key: str, into: Path) -> dict[str, str]:
    async def story() -> None:
        files = loose(bucket)
        await files.gather(key, await files.head(key), into)

    asyncio.run(story())
    return {path.relative_to(into).as_posix(): path.read_text() for path in into.rglob("*") if path.is_file()}


def test_every_object_below_the_prefix_is_a_file(tmp_path: Path) -> None:
    bucket = Bucket()
    bucket.objects = {"m/model.json": "{}", "m/code/inference.py": "pass", "model/other": "no", "m2/x": "no"}
    assert gathered(bucket, "m/", tmp_path / "model") == {"model.json": "{}", "code/inference.py": "pass"}


def test_a_single_object_becomes_a_file_named_by_the_end_of_its_key(tmp_path: Path) -> None:
    bucket = Bucket()
    bucket.objects = {"a//b/model.json": "{}"}
    assert gathered(bucket, "a//b/model.json", tmp_path / "model") == {"model.json": "{}"}


def test_the_version_changes_with_any_file() -> None:
    bucket = Bucket()
    versions = set()
    for objects in ({"m/a": "1"}, {"m/a": "2"}, {"m/b": "2"}, {"m/a": "1", "m/b": "2"}):
        bucket.objects = objects
        versions.add(asyncio.run(loose(bucket).head("m/")).version)
    assert len(versions) == 4


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (("m/", "m/a"), "empty or blank"),
        (("m/sub/",), "empty or blank"),
        (("m/a//b",), "empty or blank"),
        (("m/../b",), "'.' or '..'"),
        (("m/" + "x" * 256,), "longer than 255"),
        (("m/a", "m/a/b"), "other objects need it to be a folder"),
        (tuple(f"m/{number}" for number in range(4)), "more than 3 objects"),
        (("m/large",), "larger than 100 bytes"),
        (("m/a/b/c",), "deep"),
    ],
)
def test_objects_that_cannot_be_files_are_refused_by_name(keys: tuple[str, ...], says: str) -> None:
    bucket = Bucket()
    bucket.objects = {key: "x" * (101 if key == "m/large" else 1) for key in keys}
    with pytest.raises(ArtifactInvalid, match=says):
        asyncio.run(loose(bucket, bytes_max=100, entries_max=3, depth_max=2).head("m/"))


def test_an_empty_prefix_is_a_missing_model() -> None:
    with pytest.raises(ArtifactMissing, match="key: m/"):
        asyncio.run(loose(Bucket()).head("m/"))


def test_files_that_change_while_they_are_copied_are_no_model(tmp_path: Path) -> None:
    bucket = Bucket(**{"m/b": "new"})
    bucket.objects = {"m/a": "1", "m/b": "2"}
    with pytest.raises(DownloadBroken, match="overwritten"):
        gathered(bucket, "m/", tmp_path / "model")
