"""The names near a missing one: the store lists their folder once in a few seconds."""

import asyncio
from pathlib import Path

from torpor_container.artifacts.location import Prefix
from torpor_container.artifacts.similar_names import FOLDERS_MAX, REMEMBERED_S, SimilarNames
from torpor_container.artifacts.stores.artifact_store import ArtifactHead, Listed


class CountingStore:
    """Holds one model, and counts how often it is listed."""

    def __init__(self) -> None:
        self.lists: list[str] = []

    async def head(self, key: str) -> ArtifactHead:
        raise NotImplementedError

    async def get(self, key: str, head: ArtifactHead, into: Path) -> None:
        raise NotImplementedError

    async def listed(self, prefix: str, at_most: int) -> list[Listed]:
        raise NotImplementedError

    async def some_keys(self, folder: str, at_most: int) -> list[str]:
        self.lists.append(folder)
        return ["m/Houston.tar.gz"]


def test_a_folder_is_listed_again_only_after_a_while() -> None:
    store, now = CountingStore(), [0.0]
    similar = SimilarNames(Prefix("s3", "b", "m/"), store, lambda: now[0])
    for now_s in (0.0, REMEMBERED_S - 0.1, REMEMBERED_S + 0.1):
        now[0] = now_s
        assert asyncio.run(similar.near("Huston.tar.gz")) == ("Houston.tar.gz",)
    assert store.lists == ["m/", "m/"]


def test_no_more_than_a_few_folders_are_remembered() -> None:
    store = CountingStore()
    similar = SimilarNames(Prefix("s3", "b", "m/"), store, lambda: 0.0)
    for folder in [*range(FOLDERS_MAX), 0]:
        asyncio.run(similar.near(f"{folder}/Huston.tar.gz"))
    assert store.lists.count("m/0/") == 2
