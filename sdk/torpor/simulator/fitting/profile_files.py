"""Reads, writes and checks profiles in a CSV file: a row for each model, sizes in bytes, times in seconds."""

import csv
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, fields
from pathlib import Path

from torpor.simulator.fitting.times import TIMES
from torpor.value_rules import AMOUNT, BYTES, Kind, a, check, optional, whole, wrong
from torpor.workloads.profile import ModelProfile
from torpor.workloads.trace import BadTrace
from torpor.workloads.trace_formats.delimited import opened, same_width
from torpor.workloads.trace_formats.usual_columns import with_commas

COLUMNS = ("model", *(one.name for one in fields(ModelProfile)[1:]))
NEEDED = ("model", "memory_bytes")
COUNTED = ("mapped_bytes", "workers", "artifact_bytes", "device_bytes")
"""Columns of whole numbers that are 0 if they are missing."""

PROFILES = a(Mapping, "is a CSV file's name, or a ModelProfile by the name of each model")
PROFILE = a(ModelProfile, "is a ModelProfile")
FIELDS: Mapping[str, Kind] = {
    "memory_bytes": BYTES,
    "disk_bytes": BYTES,
    **dict.fromkeys(TIMES, AMOUNT),
    "mapped_bytes": BYTES,
    "workers": whole(0),
    "further_s": optional(AMOUNT),
    "artifact_bytes": BYTES,
    "device_bytes": BYTES,
}


def read_profiles(path: Path | str) -> dict[str, ModelProfile]:
    """Read a CSV file with the columns that `write` writes. Only `model` and `memory_bytes` are needed: the size on
    disk is then that in memory, and the times are ModelProfile's. Raises BadTrace, which names the row and the
    column."""
    profiles: dict[str, ModelProfile] = {}
    path = Path(path)
    with opened(path, "rt") as file:
        rows = filter(None, csv.reader(file))
        header = _header(path, next(rows, []))
        for number, row in enumerate(rows, 1):
            where = f"{path}: row {number}"
            same_width(path, [row], len(header), number)
            profile = _read_profile(where, dict(zip(header, row, strict=True)))
            if profile.name in profiles:
                raise BadTrace(f"{where}: model {profile.name!r} has two rows: keep one of them")
            profiles[profile.name] = profile
    if not profiles:
        raise BadTrace(f"{path} has no models: write a row for each below the header")
    return profiles


def write(profiles: Mapping[str, ModelProfile], path: Path | str) -> None:
    """Write profiles, which `read_profiles` reads back unchanged. Raises BadTrace."""
    with opened(path, "wt") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(astuple(profile) for profile in profiles.values())


def _header(path: Path | str, row: Sequence[str]) -> list[str]:
    with_commas(path, row)
    names = [name.strip() for name in row]
    for name in names:
        if name not in COLUMNS:
            raise BadTrace(f"{path}: column {name!r} is unknown: the columns are {', '.join(COLUMNS)}")
        if names.count(name) > 1:
            raise BadTrace(f"{path}: there are two columns {name}: keep one of them")
    for name in NEEDED:
        if name not in names:
            raise BadTrace(f"{path} has no column {name}: the header needs {' and '.join(NEEDED)}")
    return names


def _read_profile(where: str, cells: Mapping[str, str]) -> ModelProfile:
    """The profile of a row, in which an empty cell counts as missing."""
    there = {column: text for column, text in cells.items() if text.strip()}
    for name in NEEDED:
        if name not in there:
            raise BadTrace(f"{where}: {name} is empty, and is needed")
    times_s = {column: _number(where, column, there[column]) for column in TIMES if column in there}
    memory_bytes = _whole(where, "memory_bytes", there["memory_bytes"])
    disk_bytes = _whole(where, "disk_bytes", there["disk_bytes"]) if "disk_bytes" in there else memory_bytes
    mapped_bytes, workers, artifact_bytes, device_bytes = (
        _whole(where, column, there.get(column, "0")) for column in COUNTED
    )
    further_s = _number(where, "further_s", there["further_s"]) if "further_s" in there else None
    profile = ModelProfile(
        there["model"],
        memory_bytes,
        disk_bytes,
        **times_s,
        mapped_bytes=mapped_bytes,
        workers=workers,
        further_s=further_s,
        artifact_bytes=artifact_bytes,
        device_bytes=device_bytes,
    )
    if wrong_field := first_wrong_field(profile):
        raise BadTrace(f"{where}: {wrong_field}")
    return profile


def _whole(where: str, column: str, text: str) -> int:
    """A whole number, which may be written as 2e9."""
    with suppress(ValueError):
        return int(text)
    number = _number(where, column, text)
    if not number.is_integer():
        unit = " of bytes" if column.endswith("_bytes") else ""
        raise BadTrace(f"{where}: {column} {text!r} is not a whole number{unit}")
    return int(number)


def _number(where: str, column: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadTrace(f"{where}: {column} {text!r} is not a number") from None


def checked(profiles: Mapping[str, ModelProfile]) -> Mapping[str, ModelProfile]:
    """The profiles, after a check. Raises BadTrace, which names the model and the field."""
    check(BadTrace, {"profiles": PROFILES}, {"profiles": profiles})
    for name, profile in profiles.items():
        at = f"profiles[{name!r}]"
        check(BadTrace, {at: PROFILE}, {at: profile})
        if wrong_field := first_wrong_field(profile):
            raise BadTrace(f"{at}: {wrong_field}")
    return profiles


def first_wrong_field(profile: ModelProfile) -> str:
    """The first field with an impossible value, in words; empty if there is none."""
    found = next(filter(None, (wrong(name, getattr(profile, name), kind) for name, kind in FIELDS.items())), "")
    if not found and profile.mapped_bytes > profile.memory_bytes:
        return "mapped_bytes is more than memory_bytes, of which it is a part"
    if not found and profile.device_bytes and not profile.device_predict_s:
        return "device_predict_s is 0: say how long a prediction takes on the device, where the model has device_bytes"
    return found
