"""Hits equal to the last request: against cachetools, and against libCacheSim where it is installed.

`pip install libcachesim==0.3.5` into an environment of your own; it is GPL, and nothing of Torpor imports it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cachetools
import numpy as np
import pytest
from benchmarks.policy_trace import Trace, replay, replay_knowing, zipf
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.policies import GDSF, LFU, LRU2, S3FIFO, SIEVE, Belady, Policy, policy

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


@pytest.mark.parametrize("share", SHARES)
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
LIBCACHESIM: dict[str, tuple[str, Callable[[Trace, int], int]]] = {
    "FIFO": ("FIFO", lambda trace, room: replay(policy("FIFO"), trace, room)),
    "LRU": ("LRU", lambda trace, room: replay(policy("LRU"), trace, room)),
    "LFU": ("LFU", lambda trace, room: replay(LFU(), trace, room)),
    "SIEVE": ("Sieve", lambda trace, room: replay(SIEVE(), trace, room)),
    "LRU-2": ("LRUK", lambda trace, room: replay(LRU2(), trace, room)),
    # It lets the newcomer in before the others leave, and knows no cost but one.
    "GDSF": ("GDSF", lambda trace, room: replay(GDSF(), trace, room, cost_s=1e6, room_first=False)),
    "S3-FIFO": ("S3FIFO", lambda trace, room: replay(S3FIFO(room, few=0), trace, room)),
    "BELADY": ("Belady", lambda trace, room: replay_knowing(Belady, trace, room)),
}
"""Its class, and our replay with its semantics. Its LFUDA is another, and its Belady-size draws lots."""

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
def libcachesim() -> Any:
    return pytest.importorskip("libcachesim", reason="libcachesim is not installed: optional, for this oracle only")


@pytest.fixture(scope="module")
def trace_file(libcachesim: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "zipf.oracleGeneral"
    records(ZIPF).tofile(path)
    return path


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", LIBCACHESIM)
def test_hits_on_a_zipf_trace_equal_libcachesim(libcachesim: Any, trace_file: Path, name: str, share: float) -> None:
    room_bytes = ZIPF.room_bytes(share)
    theirs, ours = LIBCACHESIM[name]
    reader = libcachesim.TraceReader(str(trace_file), libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    misses, _ = getattr(libcachesim, theirs)(room_bytes, hashpower=14).process_trace(reader, 0, -1)
    assert ours(ZIPF, room_bytes) == round((1 - misses) * len(records(ZIPF)))


def test_a_policy_object_is_all_that_a_replay_needs() -> None:
    chosen: Policy = policy("LRU")
    assert replay(chosen, Trace("abab", {"a": 1, "b": 1}), 2) == 2
