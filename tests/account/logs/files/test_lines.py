from itertools import takewhile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.example_counts import tries
from torpor_account.logs.files import lines
from torpor_account.logs.files.lines import BLOCK_BYTES, LINE_MAX_BYTES


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines") / "a.log"


texts = st.lists(st.sampled_from([0, 1, 7, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 100_000]), max_size=8)


@settings(max_examples=tries(20), deadline=None)
@given(texts, st.booleans())
def test_both_directions_read_every_line_once_and_whole(log: Path, sizes: list[int], ended: bool) -> None:
    written = [b"x" * size + b"\n" for size in sizes]
    if written and not ended:
        written[-1] = written[-1][:-1]
    log.write_bytes(b"".join(written))
    size = log.stat().st_size
    ahead, back = list(lines.forward(log, 0, size)), list(lines.backward(log, 0, size))
    assert [line.raw for line in ahead] == [line for line in written if line]
    assert back[::-1] == ahead


@settings(max_examples=tries(20), deadline=None)
@given(st.lists(st.integers(0, 9), max_size=20), st.integers(0, 100))
def test_aligned_is_where_the_next_line_begins(log: Path, sizes: list[int], offset: int) -> None:
    log.write_bytes(b"".join(b"x" * size + b"\n" for size in sizes))
    size = log.stat().st_size
    starts = [line.start for line in lines.forward(log, 0, size)] + [size]
    if offset <= size:
        assert lines.aligned(log, offset) == min(start for start in starts if start >= offset)


def test_a_line_beyond_the_limit_is_several(log: Path) -> None:
    log.write_bytes(b"x" * (LINE_MAX_BYTES * 2 + 5) + b"\nshort\n")
    size = log.stat().st_size
    ahead = [len(line.raw) for line in lines.forward(log, 0, size)]
    assert ahead == [LINE_MAX_BYTES, LINE_MAX_BYTES, 6, 6]
    back = list(lines.backward(log, 0, size))
    assert back[0].text == "short"
    assert sum(len(line.raw) for line in back) == size
    assert max(len(line.raw) for line in back) <= LINE_MAX_BYTES


def test_a_file_that_was_emptied_meanwhile_ends_the_reading(log: Path) -> None:
    log.write_bytes(b"a\n" * BLOCK_BYTES)
    reading = lines.forward(log, 0, 2 * BLOCK_BYTES)
    next(reading)
    log.write_bytes(b"")
    assert len(list(takewhile(lambda line: line.raw, reading))) == BLOCK_BYTES // 2 - 1
    assert list(lines.backward(log, 0, BLOCK_BYTES)) == []


def test_a_line_that_is_not_finished_waits(log: Path) -> None:
    log.write_bytes(b"done\nhalf")
    assert lines.whole(log, 9) == 5
    assert lines.whole(log, 5) == 5
    log.write_bytes(b"x" * (LINE_MAX_BYTES + 1))
    assert lines.whole(log, LINE_MAX_BYTES + 1) == LINE_MAX_BYTES + 1
