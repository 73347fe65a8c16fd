"""Which column of a table is the time, which the model and which the bytes, by the names that people give them; and
what a number in the column of the time is in seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torpor.workloads.trace import BadTrace, Times

TIME, MODEL, BYTES = "time", "model", "bytes"
NAMES: Mapping[str, Sequence[str]] = {
    TIME: ("time_s", "time", "timestamp", "timestamp_s", "ts", "at_s", "at", "seconds", "arrival_s", "arrival"),
    MODEL: ("model", "model_name", "target_model", "targetmodel", "name"),
    BYTES: ("request_bytes", "bytes", "size_bytes", "size", "body_bytes"),
}
"""The first of each is the one that is written. Letter case, spaces and hyphens do not count."""
UNITS: Mapping[str, tuple[str, float]] = {
    "ms": ("milliseconds", 1e-3),
    "us": ("microseconds", 1e-6),
    "ns": ("nanoseconds", 1e-9),
}
"""What a time's name may end in, as in `time_ms`, or be; and what one of these is in seconds. Others are seconds."""
IN_SECONDS = frozenset(name for name in NAMES[TIME] if name.endswith("_s")) | {"seconds"}
"""Who is called so has seconds, however many."""
FAR_S = 3e11
"""Later than the year 9999. In milliseconds it is 1979, so what is later is a moment in a smaller unit."""
WANTED = (TIME, MODEL)


@dataclass(frozen=True)
class TraceColumns:
    """The places of the columns in a table. `bytes` is None where there is none."""

    time: int
    model: int
    bytes: int | None
    time_name: str = NAMES[TIME][0]

    @property
    def unit(self) -> str:
        """Of the times."""
        return UNITS[end][0] if (end := _end(self.time_name)) else "seconds"

    def seconds(self, source: str, times: Times, read: int) -> Times:
        """Such times, of which so many came before. Raises BadTrace for what is a moment in a smaller unit."""
        if end := _end(self.time_name):
            return times * UNITS[end][1]
        far = times >= FAR_S
        if _plain(self.time_name) in IN_SECONDS or not far.any():
            return times
        row = int(far.argmax())
        raise BadTrace(
            f"{source}: row {read + row + 1}: time {times[row]:.0f} in column {self.time_name!r} is no moment in"
            f" seconds: name the column by its unit: time_{' or time_'.join(UNITS)}, or time_s if it has seconds"
        )


def found(source: str, header: Sequence[str], chosen: Mapping[str, str] | None = None) -> TraceColumns:
    """`chosen` names columns by what they are, as in `{"time": "t0", "model": "func"}`; others are then left unread.

    Raises BadTrace for a column that is missing, there twice, or unknown.
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
    missing = [what for what in (chosen or WANTED) if what not in places]
    if missing:
        names = chosen[missing[0]] if chosen else ", ".join(NAMES[missing[0]])
        raise BadTrace(f"{source} has no column for the {missing[0]}: looked for {names}, among {', '.join(header)}")
    return TraceColumns(places[TIME], places[MODEL], places.get(BYTES), header[places[TIME]])


def with_commas(source: object, header: Sequence[str]) -> None:
    """Raises BadTrace for a header whose columns are parted by something else."""
    for letter, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(header) == 1 and letter in header[0]:
            raise BadTrace(f"{source}: its columns are parted by {name}: write it with commas between them")


def no_size(value: object) -> str:
    """What is said of such a value in the column of the bytes."""
    return f"{value} is no size in bytes: that is a whole number, less than 2^63"


def _meaning(source: str, name: str, chosen: Mapping[str, str] | None) -> str | None:
    if chosen is not None:
        if unknown := [what for what in chosen if what not in NAMES]:
            raise BadTrace(
                f"{source}: there is no {unknown[0]!r} to be read from a column: choose of {', '.join(NAMES)}"
            )
        if missing := [what for what in WANTED if what not in chosen]:
            raise BadTrace(f"{source}: name the column of the {missing[0]} too")
        return next((what for what, column in chosen.items() if column == name), None)
    plain = _plain(name)
    for what, names in NAMES.items():
        if plain in names or (what == TIME and _is_time(plain)):
            return what
    raise BadTrace(
        f"{source}: column {name!r} is unknown: a trace has {', '.join(known[0] for known in NAMES.values())}. Rename"
        " it or leave it out; in Python, workloads.read(file, {'time': 'ts', 'model': 'id'}) says which ones to read"
    )


def _is_time(plain: str) -> bool:
    """One of the names, and its unit; or just the unit."""
    end = _end(plain)
    return bool(end) and (plain == UNITS[end][0] or plain.removesuffix(f"_{end}") in NAMES[TIME])


def _end(name: str) -> str:
    """Its unit, if that is less than a second."""
    plain = _plain(name)
    return next((end for end, (word, _) in UNITS.items() if plain == word or plain.endswith(f"_{end}")), "")


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")
