"""What is copied in by hand is listed, whatever else happens meanwhile."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from s3_bench import bench_at

from torpor_endpoint.s3.tree import Survey, Tree


def copy_in(folder: Path, *keys: str) -> None:
    for key in keys:
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).touch()


class HalfwayTree(Tree):
    """Whoever reads the first folder below another goes on only when somebody else has looked at the marks."""

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
            assert self._looked.wait(timeout=20)
        return super().survey(bucket, path)


def test_a_list_during_another_sees_all_that_was_copied_in(tmp_path: Path) -> None:
    tree = HalfwayTree(tmp_path)
    with bench_at(tmp_path, lambda _: tree) as bench, ThreadPoolExecutor() as pool:
        copy_in(bench.folder, "a/b", "a/c/d", "e/f")
        first = pool.submit(bench.listed)
        assert tree.half_way.wait(timeout=20)
        second = pool.submit(bench.listed)
        assert second.result() == first.result() == ["a/b", "a/c/d", "e/f"]


class FailingTree(Tree):
    """Fails at the first folder below another."""

    failed = False

    def survey(self, bucket: str, path: str) -> Survey | None:
        if path and not self.failed:
            self.failed = True
            raise MemoryError
        return super().survey(bucket, path)


def test_a_list_that_was_cut_short_hides_nothing_from_the_next(tmp_path: Path) -> None:
    with bench_at(tmp_path, FailingTree) as bench:
        copy_in(bench.folder, "a/b", "a/c/d", "e/f")
        os.utime(bench.folder / "e", ns=(0, 0))  # as out of an archive that knows no times
        with pytest.raises(MemoryError):
            bench.listed()
        assert bench.listed("e/") == ["e/f"]
        assert bench.listed() == ["a/b", "a/c/d", "e/f"]
