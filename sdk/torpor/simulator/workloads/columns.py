"""Which column of a table is the time, which the model and which the bytes, by the names that people give them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torpor.simulator.workloads.trace import BadTrace

TIME, MODEL, BYTES = "time", "model", "bytes"
NAMES: Mapping[str, Sequence[str]] = {
    TIME: ("time_s", "time", "timestamp", "timestamp_s", "ts", "at_s", "at", "seconds", "arrival_s", "arrival"),
    MODEL: ("model", "model_name", "target_model", "targetmodel", "name"),
    BYTES: ("request_bytes", "bytes", "size_bytes", "size", "body_bytes"),
}
"""The first of each is the one that is written. Letter case, spaces and hyphens do not count."""
MILLISECONDS = ("time_ms", "timestamp_ms", "ts_ms", "at_ms", "milliseconds", "arrival_ms")
WANTED = (TIME, MODEL)


@dataclass(frozen=True)
class Columns:
    """The places of the columns in a table. `bytes` is None where there is none."""

    time: int
    model: int
    bytes: int | None
    scale: float = 1.0  # of the times, to seconds


def found(source: str, header: Sequence[str], chosen: Mapping[str, str] | None = None) -> Columns:
    """`chosen` names columns by what they are, as in `{"time": "t0", "model": "func"}`; others are then left unread.

    Raises BadTrace for a column that is missing, there twice, or unknown.
    """
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
    scale = 1e-3 if _plain(header[places[TIME]]) in MILLISECONDS else 1.0
    return Columns(places[TIME], places[MODEL], places.get(BYTES), scale)


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
        if plain in names or (what == TIME and plain in MILLISECONDS):
            return what
    raise BadTrace(
        f"{source}: column {name!r} is unknown: say which ones to read, as in"
        " workloads.read(file, {'time': 'ts', 'model': 'id'}), or leave it out"
    )


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")
