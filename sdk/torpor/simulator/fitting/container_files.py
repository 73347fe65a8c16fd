"""Reads the containers of a pipeline from a CSV file: a row for each, in their order, sizes in bytes, times in
seconds."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from torpor.simulator.pipeline_containers import wrong_containers
from torpor.workloads.profile import ContainerProfile
from torpor.workloads.trace import BadTrace
from torpor.workloads.trace_formats.delimited import opened, same_width
from torpor.workloads.trace_formats.usual_columns import with_commas

COLUMNS = ("container", *(one.name for one in fields(ContainerProfile)[1:]))
SWITCHES: Mapping[str, bool] = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def read_containers(path: Path | str) -> tuple[ContainerProfile, ...]:
    """Read a CSV file whose columns are `container` and any fields of ContainerProfile. One row has `models` true. An
    empty cell counts as missing. Raises BadTrace, which names the row and the column."""
    path = Path(path)
    with opened(path, "rt") as file:
        rows = filter(None, csv.reader(file))
        header = _header(path, next(rows, []))
        found = []
        for number, row in enumerate(rows, 1):
            same_width(path, [row], len(header), number)
            found.append(_container(f"{path}: row {number}", dict(zip(header, row, strict=True))))
    if not found:
        raise BadTrace(f"{path} has no containers: write a row for each below the header")
    if wrong := wrong_containers(found):
        raise BadTrace(f"{path}: {wrong}")
    return tuple(found)


def _header(path: Path, row: Sequence[str]) -> list[str]:
    with_commas(path, row)
    names = [name.strip() for name in row]
    for name in names:
        if name not in COLUMNS:
            raise BadTrace(f"{path}: column {name!r} is unknown: the columns are {', '.join(COLUMNS)}")
        if names.count(name) > 1:
            raise BadTrace(f"{path}: there are two columns {name}: keep one of them")
    if COLUMNS[0] not in names:
        raise BadTrace(f"{path} has no column {COLUMNS[0]}, with the name of each")
    return names


def _container(where: str, cells: Mapping[str, str]) -> ContainerProfile:
    there = {column: text.strip() for column, text in cells.items() if text.strip()}
    if COLUMNS[0] not in there:
        raise BadTrace(f"{where}: {COLUMNS[0]} is empty, and is needed")
    name = there.pop(COLUMNS[0])
    return ContainerProfile(name, **{column: _value(where, column, text) for column, text in there.items()})


def _value(where: str, column: str, text: str) -> Any:
    """A whole number may be written as 2e9."""
    if column == "models":
        if text.lower() not in SWITCHES:
            raise BadTrace(f"{where}: models is true or false, not {text!r}")
        return SWITCHES[text.lower()]
    try:
        number = float(text)
    except ValueError:
        raise BadTrace(f"{where}: {column} {text!r} is not a number") from None
    return int(number) if column in ("memory_bytes", "threads", "workers") and number.is_integer() else number
