"""Flat trees walked by the C extension, beside a slow walk."""

import gc
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.container.helpers.flat_models import random_rows, random_trees, slowly
from torpor_container.trees import flat_trees, walking
from torpor_container.trees.flat_trees import WIDE_MISSING_IS_NAN, WIDE_MISSING_IS_ZERO, WIDE_MISSING_LEFT, FlatTrees

if walking.extension() is None:
    pytest.skip("the extension was not built: there is no C compiler", allow_module_level=True)


def margins(trees: FlatTrees, rows: "np.typing.NDArray[np.floating]") -> "np.typing.NDArray[np.floating]":
    out = np.empty((len(rows), trees.outputs), trees.base.dtype)
    walking.walker(trees).predict(rows, out)
    return out


@pytest.mark.parametrize("seed", range(20))
def test_narrow_trees_give_the_sums_of_a_slow_walk_to_the_bit(seed: int) -> None:
    trees = random_trees(seed)
    flat_trees.check(trees)
    rows = random_rows(seed, trees, 150)
    np.testing.assert_array_equal(margins(trees, rows), slowly(trees, rows))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_wide_trees_give_the_sums_of_a_slow_walk_to_the_bit(seed: int, table: bool, kind: type) -> None:
    trees = random_trees(seed, wide=True, table=table)
    flat_trees.check(trees)
    rows = random_rows(seed, trees, 150, kind)
    np.testing.assert_array_equal(margins(trees, rows), slowly(trees, rows))


@pytest.mark.parametrize("wide", [False, True])
def test_a_threshold_parts_the_numbers_on_both_of_its_sides(wide: bool) -> None:
    trees = one_split(wide)
    threshold = np.float32(0.5)
    below, above = np.nextafter(threshold, np.float32(-1)), np.nextafter(threshold, np.float32(1))
    got = margins(trees, np.array([[below], [threshold], [above]], np.float32))
    assert got.ravel().tolist() == ([1, 1, 2] if wide else [1, 2, 2])


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (0, [1, 1, 1, 2]),  # NaN is compared as 0
        (WIDE_MISSING_IS_NAN, [2, 1, 1, 2]),
        (WIDE_MISSING_IS_NAN | WIDE_MISSING_LEFT, [1, 1, 1, 2]),
        (WIDE_MISSING_IS_ZERO, [2, 2, 2, 2]),
        (WIDE_MISSING_IS_ZERO | WIDE_MISSING_LEFT, [1, 1, 1, 2]),
    ],
)
def test_a_wide_node_knows_three_kinds_of_missing_cells(flags: int, expected: list[int]) -> None:
    trees = one_split(wide=True)
    trees.nodes["flags"][0] = flags
    got = margins(trees, np.array([[np.nan], [0.0], [-1e-36], [1.0]]))
    assert got.ravel().tolist() == expected


def one_split(wide: bool) -> FlatTrees:
    """Below or at 0.5 it is 1, above it is 2."""
    nodes = np.array([(0.5, 0, 1), (1, 0, 0), (2, 0, 0)], flat_trees.NARROW)
    if wide:
        nodes = np.array([(0.5, 0, 0, 1), (1, 0, 0, 0), (2, 0, 0, 0)], flat_trees.WIDE)
    base = np.zeros(1, "<f8" if wide else "<f4")
    return FlatTrees(nodes, np.array([0, 3], "<u4"), np.zeros(1, "<u4"), base, 1)


@pytest.mark.parametrize(
    ("rows", "out"),
    [
        (np.zeros((2, 4), np.float32), np.empty((2, 3), np.float32)),  # 4 columns of 5, which are not whole rows
        (np.zeros((2, 5), np.float64), np.empty((2, 3), np.float32)),
        (np.zeros((2, 5), np.int32), np.empty((2, 3), np.float32)),
        (np.zeros((2, 5), np.float32), np.empty((1, 3), np.float32)),
        (np.zeros((2, 5), np.float32), np.empty((2, 3), np.float64)),
    ],
)
def test_rows_and_outputs_that_do_not_fit_are_refused(rows: np.ndarray, out: np.ndarray) -> None:
    with pytest.raises(ValueError, match="do not fit the trees"):
        walking.walker(random_trees(1)).predict(rows, out)


def test_arrays_that_do_not_fit_one_another_are_refused() -> None:
    trees = random_trees(1)
    with pytest.raises(ValueError, match="do not fit one another"):
        walking.walker(replace(trees, roots=trees.roots[:-1]))
    with pytest.raises(ValueError, match="do not fit one another"):
        walking.walker(replace(trees, columns=0))
    with pytest.raises(ValueError, match="do not fit one another"):
        walking.walker(replace(trees, columns=1 << 62))


def test_rows_whose_bytes_are_no_number_are_refused() -> None:
    with pytest.raises(ValueError, match="not rows of float32"):
        walking.extension().softmax(np.zeros(2, np.float32), 1 << 62)


def test_outputs_that_may_not_be_written_to_are_refused() -> None:
    out = np.empty((1, 3), np.float32)
    out.flags.writeable = False
    with pytest.raises((BufferError, ValueError)):
        walking.walker(random_trees(1)).predict(np.zeros((1, 5), np.float32), out)


def test_several_threads_walk_the_same_trees_at_once() -> None:
    trees = random_trees(3)
    rows = random_rows(3, trees, 500)
    walker, expected = walking.walker(trees), slowly(trees, rows)

    def walked(_: int) -> bool:
        out = np.empty((len(rows), trees.outputs), np.float32)
        walker.predict(rows, out)
        return bool(np.array_equal(out, expected))

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(walked, range(40)))


def test_a_mapped_model_answers_once_its_file_is_gone(tmp_path: Path) -> None:
    trees = random_trees(4)
    path = tmp_path / "model.trees"
    path.write_bytes(flat_trees.written(trees, {"name": "four"}))
    descriptors = len(os.listdir("/proc/self/fd"))
    mapped, facts = flat_trees.read(walking.mapped(path))
    walker = walking.walker(mapped)
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert facts == {"name": "four"}
    path.unlink()
    del mapped
    gc.collect()
    rows, out = random_rows(4, trees, 30), np.empty((30, trees.outputs), np.float32)
    walker.predict(rows, out)
    np.testing.assert_array_equal(out, slowly(trees, rows))


def test_a_file_is_unmapped_with_its_last_user(tmp_path: Path) -> None:
    path = tmp_path / "model.trees"
    path.write_bytes(flat_trees.written(random_trees(5), {}))
    walker = walking.walker(flat_trees.read(walking.mapped(path))[0])
    assert str(path) in Path("/proc/self/maps").read_text()
    del walker
    assert str(path) not in Path("/proc/self/maps").read_text()


def test_an_empty_file_cannot_be_mapped(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(OSError, match="Invalid argument"):
        walking.mapped(tmp_path / "empty")


def test_an_extension_of_other_sources_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert walking.extension() is not None
    monkeypatch.setattr(flat_trees, "VERSION", flat_trees.VERSION + 1)
    assert walking.extension() is None
