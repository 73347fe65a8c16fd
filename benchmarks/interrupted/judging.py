"""Compares what is in S3 and in the queue with what was asked: each fault is a line."""

import json
import sqlite3
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from benchmarks.interrupted.asking import BUCKET, REFUSED, Ask, Asked
from benchmarks.interrupted.stand import Stand

UNREAD_S = 1.0
"""A message that its queue got so shortly before a kill of the worker may have been in memory yet."""


def faults(
    stand: Stand, asks: Sequence[Ask], asked: Asked, killed_s: Sequence[float], heard: Mapping[str, int]
) -> list[str]:
    """What is wrong. The endpoint has stopped.

    `killed_s` are the times of the kills of a worker, in epoch seconds; `heard` says how often a message
    of each request's end came.
    """
    bucket = stand.bucket(BUCKET)
    found = [f"not accepted in time: {line}" for line in asked.gave_up]
    known = set()
    for ask in asks:
        if ask.id in asked.accepted:
            result, failure = _path(bucket, asked.accepted[ask.id]), _path(bucket, asked.failures[ask.id])
            known |= {result, failure}
            found += [f"{ask.id} ({ask.kind}): {line}" for line in _of_result(ask, result, failure)]
    unasked = [path for folder in ("out", "failed") for path in (bucket / folder).rglob("*") if path.is_file()]
    extra = len([path for path in unasked if path not in known])
    repeated = sum(tries - 1 for tries in asked.tries.values())
    if extra > repeated:
        found.append(f"{extra} results that nobody asked for, and only {repeated} calls were repeated")
    found += _of_queue(stand, asked, killed_s, heard)
    found += [f"left behind: {path}" for path in (stand.data_dir / "async").rglob("*")]
    found += [f"left behind: {path}" for path in stand.temporary.rglob("*")]
    return [*found, *(f"process {pid} is left" for pid in stand.marked())]


def _of_result(ask: Ask, result: Path, failure: Path) -> list[str]:
    right = ask.answer
    if right is None:
        said = failure.read_bytes() if failure.exists() else b""
        wrong = [] if REFUSED.encode() in said else [f"the failure object says {said[:200]!r}"]
        return [*wrong, *(["it has a result"] if result.exists() else [])]
    if not result.exists():
        why = failure.read_text()[:200] if failure.exists() else "and no failure"
        return [f"no result, {why}"]
    return [] if result.read_bytes() == right else ["a wrong result"]


def _of_queue(stand: Stand, asked: Asked, killed_s: Sequence[float], heard: Mapping[str, int]) -> list[str]:
    found = []
    with closing(sqlite3.connect(stand.data_dir / "async.sqlite")) as database:
        rows = database.execute("SELECT request, state, ended_s, notice FROM requests").fetchall()
    ended = {json.loads(request)["output"]: kept for request, *kept in rows}
    for id, output in asked.accepted.items():
        if output not in ended:
            found.append(f"{id}: it is not in the queue's records")
            continue
        state, ended_s, notice = ended[output]
        if state == "Queued":
            found.append(f"{id}: it waits yet")
        if notice is not None:
            found.append(f"{id}: its topic has no notice of its end")
        elif not heard.get(id) and ended_s is not None and not _before_a_kill(ended_s, killed_s):
            found.append(f"{id}: nobody heard of its end")
    return found


def _before_a_kill(at_s: float, killed_s: Sequence[float]) -> bool:
    place = bisect_left(killed_s, at_s)
    return place < len(killed_s) and killed_s[place] - at_s < UNREAD_S


def _path(bucket: Path, url: str) -> Path:
    return bucket / url.removeprefix(f"s3://{BUCKET}/")
