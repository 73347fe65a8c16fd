"""Recognises the columns for time, model and bytes by their usual names, and converts times to seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torpor.workloads.trace import BadTrace, Times

TIME, MODEL, BYTES = "time", "model", "bytes"
NAMES: Mapping[str, Sequence[str]] = {
    TIME: ("time_s", "time", "timestamp", "timestamp_s", "ts", "at_s", "at", "seconds", "arrival_s", "arrival"),
    MODEL: ("model", "model_name", "target_model", "targetmodel", "name"),
    BYTES: ("request_bytes", "bytes", "size_bytes", "size", "body_bytes"),
}
"""The first name of each is the one that is written. Case, spaces and hyphens do not count."""
UNITS: Mapping[str, tuple[str, float]] = {
    "ms": ("milliseconds", 1e-3),
    "us": ("microseconds", 1e-6),
    "ns": ("nanoseconds", 1e-9),
}
"""Units by the end of the time column's name, as in `time_ms`, or by the whole name, with their seconds. Others are
seconds."""
IN_SECONDS = frozenset(name for name in NAMES[TIME] if name.endswith("_s")) | {"seconds"}
"""Columns with these names are in seconds, however large the numbers are."""
FAR_S = 3e11
"""Beyond the year 9999 in seconds, but 1979 in milliseconds: a larger number is a time in a smaller unit."""
NEEDED = (TIME, MODEL)


@dataclass(frozen=True)
class TraceColumns:
    """The indexes of the columns in a table. `bytes` is None if there is no such column."""

    time: int
    model: int
    bytes: int | None
    time_name: str = NAMES[TIME][0]

    @property
    def unit(self) -> str:
        """The unit of the times."""
        return UNITS[end][0] if (end := _end(self.time_name)) else "seconds"

    def seconds(self, source: str, times: Times, read: int) -> Times:
        """The times in seconds; `read` rows came before. Raises BadTrace for a time that must be in a smaller unit."""
        if end := _end(self.time_name):
            return times * UNITS[end][1]
        far = times >= FAR_S
        if _plain(self.time_name) in IN_SECONDS or not far.any():
            return times
        row = int(far.argmax())
        raise BadTrace(
            f"{source}: row {read + row + 1}: time {times[row]:.0f} in column {self.time_name!r} cannot be in"
            f" seconds: name the column by its unit: time_{' or time_'.join(UNITS)}, or time_s if it has seconds"
        )


def found(source: str, header: Sequence[str], chosen: Mapping[str, str] | None = None) -> TraceColumns:
    """Find the columns. `chosen` names them, as in `{"time": "t0", "model": "func"}`; others are then ignored.

    Raises BadTrace for a column that is missing, duplicate, or unknown.
    """
    with_commas(source, header)
    places: dict[str, int] = {}
    for place, name in enumerate(header):
        what = _meaning(source, name, chosen)
        if what is None:
            continue
        if what in places:
            raise BadTrace(f"{source}: columns {header[places[what]]!r} and {name!r} are both the {what}")
        places[what] = place
    missing = [what for what in (chosen or NEEDED) if what not in places]
    if missing:
        names = chosen[missing[0]] if chosen else ", ".join(NAMES[missing[0]])
        raise BadTrace(f"{source} has no column for the {missing[0]}: none of {names} is among {', '.join(header)}")
    return TraceColumns(places[TIME], places[MODEL], places.get(BYTES), header[places[TIME]])


def with_commas(source: object, header: Sequence[str]) -> None:
    """Raises BadTrace for a header with other separators than commas."""
    for letter, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(header) == 1 and letter in header[0]:
            raise BadTrace(f"{source}: its columns are separated by {name}: separate them by commas")


def no_size(value: object) -> str:
    """The error message for a value in the column of bytes."""
    return f"{value} is not a size in bytes: that is a whole number less than 2^63"


def _meaning(source: str, name: str, chosen: Mapping[str, str] | None) -> str | None:
    if chosen is not None:
        if unknown := [what for what in chosen if what not in NAMES]:
            raise BadTrace(f"{source}: a trace has no {unknown[0]!r}: choose from {', '.join(NAMES)}")
        if missing := [what for what in NEEDED if what not in chosen]:
            raise BadTrace(f"{source}: name the column of the {missing[0]} too")
        return next((what for what, column in chosen.items() if column == name), None)
    plain = _plain(name)
    for what, names in NAMES.items():
        if plain in names or (what == TIME and _is_time(plain)):
            return what
    raise BadTrace(
        f"{source}: column {name!r} is unknown: a trace has {', '.join(known[0] for known in NAMES.values())}. Rename"
        " it or leave it out; in Python, workloads.read(file, {'time': 'ts', 'model': 'id'}) names the columns to read"
    )


def _is_time(plain: str) -> bool:
    """Whether a column's name is a time's: one of the names with a unit, or only a unit."""
    end = _end(plain)
    return bool(end) and (plain == UNITS[end][0] or plain.removesuffix(f"_{end}") in NAMES[TIME])


def _end(name: str) -> str:
    """The unit in a time column's name, if that is shorter than a second."""
    plain = _plain(name)
    return next((end for end, (word, _) in UNITS.items() if plain == word or plain.endswith(f"_{end}")), "")


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")
