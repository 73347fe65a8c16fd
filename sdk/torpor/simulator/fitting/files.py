"""Profiles in a CSV file: a row per model, sizes in bytes, times in seconds. They fit nothing."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields
from math import inf
from pathlib import Path

from torpor.simulator.fitting.times import TIMES
from torpor.simulator.profile import ModelProfile
from torpor.simulator.workloads.delimited import opened
from torpor.simulator.workloads.trace import BadTrace

COLUMNS = ("model", *(one.name for one in fields(ModelProfile)[1:]))
NEEDED = ("model", "memory_bytes")


def given(path: Path | str) -> dict[str, ModelProfile]:
    """From a CSV file with the columns that `write` writes. Only `model` and `memory_bytes` are needed: on disk a model
    is then as big as in memory, and the times are ModelProfile's. Raises BadTrace, naming the row and the column."""
    profiles: dict[str, ModelProfile] = {}
    with opened(Path(path), "rt") as file:
        rows = filter(None, csv.reader(file))
        header = _header(path, next(rows, []))
        for number, row in enumerate(rows, 1):
            where = f"{path}: row {number}"
            if len(row) != len(header):
                raise BadTrace(f"{where} has {len(row)} columns, and the header {len(header)}")
            profile = _given(where, dict(zip(header, row, strict=True)))
            if profile.name in profiles:
                raise BadTrace(f"{where}: model {profile.name!r} is there twice: keep one of its rows")
            profiles[profile.name] = profile
    if not profiles:
        raise BadTrace(f"{path} has no models: write a row for each below the header")
    return profiles


def write(profiles: Mapping[str, ModelProfile], path: Path | str) -> None:
    """What `given` reads back is equal. Raises BadTrace."""
    with opened(Path(path), "wt") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(astuple(profile) for profile in profiles.values())


def _header(path: Path | str, row: Sequence[str]) -> list[str]:
    names = [name.strip() for name in row]
    for name in names:
        if name not in COLUMNS:
            raise BadTrace(f"{path}: column {name!r} is unknown: the columns are {', '.join(COLUMNS)}")
        if names.count(name) > 1:
            raise BadTrace(f"{path}: column {name} is there twice: keep one of them")
    for name in NEEDED:
        if name not in names:
            raise BadTrace(f"{path} has no column {name}: the header needs {' and '.join(NEEDED)}")
    return names


def _given(where: str, cells: Mapping[str, str]) -> ModelProfile:
    """An empty cell is one that is not given."""
    there = {column: text for column, text in cells.items() if text.strip()}
    for name in NEEDED:
        if name not in there:
            raise BadTrace(f"{where}: {name} is empty, and is needed")
    memory_bytes = _bytes(where, "memory_bytes", there["memory_bytes"])
    disk_bytes = _bytes(where, "disk_bytes", there["disk_bytes"]) if "disk_bytes" in there else memory_bytes
    times_s = {column: _seconds(where, column, there[column]) for column in TIMES if column in there}
    return ModelProfile(there["model"], memory_bytes, disk_bytes, **times_s)


def _bytes(where: str, column: str, text: str) -> int:
    try:
        size_bytes = int(text)
    except ValueError:
        raise BadTrace(f"{where}: {column} {text!r} is no whole number of bytes") from None
    if not 0 <= size_bytes < 2**63:
        raise BadTrace(f"{where}: {column} {text} is {'negative' if size_bytes < 0 else 'more than can be'}")
    return size_bytes


def _seconds(where: str, column: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        raise BadTrace(f"{where}: {column} {text!r} is no number of seconds") from None
    if not 0 <= seconds < inf:
        raise BadTrace(f"{where}: {column} {text} is {'negative' if seconds < 0 else 'no time'}")
    return seconds
