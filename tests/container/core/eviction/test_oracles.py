"""Hits equal to the last request: against cachetools, and against the counts of libCacheSim.

Its counts are kept here; `make oracles` takes them again. It is GPL, and nothing of Torpor imports it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import cachetools
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.policy_trace import Trace, replay, replay_knowing, zipf
from tests.helpers.thorough_values import thorough
from torpor_container.core.eviction import GDSF, LFU, LRU2, S3FIFO, SIEVE, Belady, Policy, policy

ZIPF = zipf(requests=100_000, models=10_000, seed=1)
SHARES = (0.1, 0.06)
"""Of what all models take. A tenth of the room holds the largest, so that libCacheSim's S3-FIFO refuses none."""

CACHETOOLS: dict[str, Callable[..., Any]] = {
    "FIFO": cachetools.FIFOCache,
    "LRU": cachetools.LRUCache,
    "LFU": cachetools.LFUCache,
}


def replay_cachetools(name: str, trace: Trace, room_bytes: int) -> int:
    hits, cache = 0, CACHETOOLS[name](room_bytes, getsizeof=trace.sizes.__getitem__)
    for model in trace.requests:
        if model in cache:
            hits += 1
            cache[model]
        elif trace.sizes[model] <= room_bytes:
            cache[model] = model
    return hits


@pytest.mark.parametrize("share", [SHARES[0], *thorough(*SHARES[1:])])
@pytest.mark.parametrize("name", CACHETOOLS)
def test_hits_on_a_zipf_trace_equal_cachetools(name: str, share: float) -> None:
    room_bytes = ZIPF.room_bytes(share)
    assert replay(policy(name), ZIPF, room_bytes) == replay_cachetools(name, ZIPF, room_bytes)


@given(st.lists(st.sampled_from("abcdefghij"), max_size=300), st.lists(st.integers(1, 9), min_size=10, max_size=10))
@pytest.mark.parametrize("name", CACHETOOLS)
def test_hits_on_any_trace_equal_cachetools(name: str, requests: list[str], sizes: list[int]) -> None:
    trace = Trace(requests, dict(zip("abcdefghij", sizes, strict=True)))
    assert replay(policy(name), trace, 20) == replay_cachetools(name, trace, 20)


# -- libCacheSim ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Oracle:
    """One of its classes, our replay with its semantics, and the hits that it counted at each share of the room."""

    theirs: str
    ours: Callable[[Trace, int], int]
    hits: tuple[int, int]


ORACLES = {
    "FIFO": Oracle("FIFO", lambda trace, room: replay(policy("FIFO"), trace, room), (62_821, 56_194)),
    "LRU": Oracle("LRU", lambda trace, room: replay(policy("LRU"), trace, room), (67_123, 60_794)),
    "LFU": Oracle("LFU", lambda trace, room: replay(LFU(), trace, room), (71_657, 67_740)),
    "SIEVE": Oracle("Sieve", lambda trace, room: replay(SIEVE(), trace, room), (71_800, 67_325)),
    "LRU-2": Oracle("LRUK", lambda trace, room: replay(LRU2(), trace, room), (71_704, 67_836)),
    # It lets the newcomer in before the others leave, and knows no cost but one.
    "GDSF": Oracle(
        "GDSF", lambda trace, room: replay(GDSF(), trace, room, cost_s=1e6, room_first=False), (78_038, 73_012)
    ),
    "S3-FIFO": Oracle("S3FIFO", lambda trace, room: replay(S3FIFO(room, few=0), trace, room), (72_392, 67_515)),
    "BELADY": Oracle("Belady", lambda trace, room: replay_knowing(Belady, trace, room), (80_311, 75_543)),
}
"""Of libcachesim 0.3.5 on `ZIPF`. Its LFUDA is another, and its Belady-size draws lots."""

DRAWN = "58edf59563d02bf57d3951c3c96232baa846314b1ed609f152627cc247e2864c"
"""Of the trace that these counts are for: a numpy that draws another one has no part in them."""

RECORD = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next_use", "<i8")])


def records(trace: Trace) -> "np.ndarray[Any, Any]":
    """The trace in libCacheSim's format `oracleGeneral`."""
    numbers = {name: number for number, name in enumerate(trace.sizes, start=1)}
    models, next_use, seen = list(trace.requests), [], dict[str, int]()
    for position in reversed(range(len(models))):
        next_use.append(seen.get(models[position], -1))
        seen[models[position]] = position
    rows = zip(range(len(models)), models, reversed(next_use), strict=True)
    return np.array([(at, numbers[name], trace.sizes[name], after) for at, name, after in rows], RECORD)


@pytest.fixture(scope="module")
def drawn() -> "np.ndarray[Any, Any]":
    requests = records(ZIPF)
    assert sha256(requests.tobytes()).hexdigest() == DRAWN, f"numpy {np.__version__} draws another trace"
    return requests


@pytest.fixture(scope="module")
def libcachesim() -> Any:
    return pytest.importorskip("libcachesim", reason="libcachesim is not installed: `make oracles` has it")


@pytest.mark.parametrize("at", [0, *thorough(*range(1, len(SHARES)))])
@pytest.mark.parametrize("name", ORACLES)
def test_hits_on_a_zipf_trace_equal_those_that_libcachesim_counted(
    drawn: "np.ndarray[Any, Any]", name: str, at: int
) -> None:
    oracle = ORACLES[name]
    assert oracle.ours(ZIPF, ZIPF.room_bytes(SHARES[at])) == oracle.hits[at]


@pytest.mark.parametrize("at", [0, *thorough(*range(1, len(SHARES)))])
@pytest.mark.parametrize("name", ORACLES)
def test_libcachesim_counts_the_hits_that_are_stored_here(
    libcachesim: Any, drawn: "np.ndarray[Any, Any]", tmp_path: Path, name: str, at: int
) -> None:
    oracle, path = ORACLES[name], tmp_path / "zipf.oracleGeneral"
    drawn.tofile(path)
    reader = libcachesim.TraceReader(str(path), libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    cache = getattr(libcachesim, oracle.theirs)(ZIPF.room_bytes(SHARES[at]), hashpower=14)
    misses, _ = cache.process_trace(reader, 0, -1)
    assert round((1 - misses) * len(drawn)) == oracle.hits[at]


@pytest.mark.parametrize("at", [0, *thorough(*range(1, len(SHARES)))])
def test_s3_fifo_as_shipped_has_nearly_the_hits_of_the_published_one(at: int) -> None:
    """No oracle has this variant: room as it is used, a small queue for the largest, and few models counted as one."""
    hits = replay(policy("S3-FIFO"), ZIPF, ZIPF.room_bytes(SHARES[at]))
    assert abs(hits - ORACLES["S3-FIFO"].hits[at]) <= 150


def test_a_policy_object_is_all_that_a_replay_needs() -> None:
    chosen: Policy = policy("LRU")
    assert replay(chosen, Trace("abab", {"a": 1, "b": 1}), 2) == 2
