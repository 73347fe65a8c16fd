"""Reads a trace from an endpoint's ledger, which has the exact times of cold starts, and warm requests by the minute,
with the times of some of them."""

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from torpor.time_units import MINUTE_S
from torpor.workloads.trace import CHUNK_REQUESTS, BadTrace, Chunk, Sizes, Times, TraceFile
from torpor.workloads.trace_formats.marked_seconds import placed_in_span
from torpor.workloads.trace_formats.stays import KNOWN_WITHIN_S, ReportedLoad, Stays, WarmStretch
from torpor_endpoint.core.ledger import Span

ONE = "endpoint = ? AND variant = ?"
KEY = "minute_s, endpoint, variant, model"
VARIANTS = """SELECT DISTINCT endpoint, variant FROM minutes
    WHERE coalesce(:endpoint, endpoint) = endpoint AND coalesce(:variant, variant) = variant AND minute_s < :until_s
    ORDER BY 1, 2"""
MINUTES = f"""SELECT minute_s, model, sum(requests), sum(request_bytes) FROM minutes
    WHERE +endpoint = ? AND +variant = ? AND minute_s > ? AND minute_s < ? GROUP BY {KEY} ORDER BY {KEY}"""
"""In the order of the table's key, so that SQLite need not sort before the first row. Without the `+`, it would use
only a part of the key, and sort."""
SPANS = (
    f"SELECT minute_s, model, first_s, last_s, {{}}, {{}} FROM spans WHERE {ONE} AND minute_s >= ? AND minute_s <= ?"
)
SPANS_HAVE = "SELECT name FROM pragma_table_info('spans')"
"""A ledger of an earlier version has no spans, or their seconds are not known."""
KEPT_LATER = {"seconds": "0", "moments": "''"}
"""The columns of spans that an earlier version did not write, and what stands for them."""
UNMARKED = f"""SELECT coalesce(sum(requests), 0) FROM (
    SELECT minute_s, endpoint, variant, model, sum(requests) - sum(cold) AS requests
    FROM minutes WHERE {ONE} AND minute_s >= ? AND minute_s < ? GROUP BY {KEY}
) {{}}"""
WITHOUT_SECONDS = f"LEFT JOIN spans USING ({KEY}) WHERE coalesce(seconds, 0) = 0"
"""The warm requests of which only the minute is known."""
COLD = f"SELECT at_s, model, request_bytes FROM cold_starts WHERE {ONE} AND at_s >= ? AND at_s < ? ORDER BY at_s"
ALL = f"""SELECT model, sum(requests), sum(requests) - sum(errors) FROM minutes
    WHERE {ONE} AND minute_s < ? GROUP BY model"""
TOLD = f"""SELECT instance, model, at_s + total_s
        - coalesce(json_extract(steps, '$.predict'), 0) - coalesce(json_extract(steps, '$.overhead'), 0),
        json_extract(cold, '$.took_s'), json_extract(cold, '$.left')
    FROM cold_starts WHERE {ONE} AND json_extract(cold, '$.left') IS NOT NULL"""
SERVED = f"SELECT since_s, until_s FROM served WHERE {ONE}"
TABLES = ("minutes", "cold_starts", "lives")
"""The tables of every ledger since the first version."""
SHOWN = 8
WRITTEN_WITHIN_S = 5.0
"""How long after a minute its requests are complete: the endpoint writes answered requests each second."""


class Minute(NamedTuple):
    begins_s: float
    model: str
    requests: int
    request_bytes: int
    span: Span | None = None  # of the warm requests

    @property
    def called(self) -> WarmStretch:
        if self.span is None:
            return WarmStretch(self.requests, self.begins_s, self.begins_s + MINUTE_S, seen=False)
        return WarmStretch(self.requests, self.span.first_s, self.span.last_s + KNOWN_WITHIN_S, seen=True)


Cold = tuple[float, str, int]  # when, model, bytes


class LedgerPart(NamedTuple):
    """Some successive minutes, and the cold starts in them that have rows of their own."""

    minutes: list[Minute]
    cold: list[Cold]

    def without(self, names: Container[str]) -> "LedgerPart":
        return LedgerPart(
            [row for row in self.minutes if row[1] not in names], [row for row in self.cold if row[1] not in names]
        )


@dataclass(frozen=True, eq=False)
class LedgerFile(TraceFile):
    """The `ledger.sqlite` of an endpoint, which may run meanwhile. Times are epoch seconds.

    The times of a model's first 48 or so warm requests in each minute are known to the millisecond. Any other gets a
    random time, drawn with the seed, in one of the seconds of its minute in which its model was called, at which the
    model was in memory, as far as the recorded loads show; its size is the mean of its minute. The same holds for a
    cold start that has no row of its own any more. The first and the last time of a model in a minute are known. In
    minutes that an earlier version wrote, the seconds are not known (`unmarked`). In a single-model variant, the model
    has the variant's name. A name that only ever got errors is no model, and its requests are left
    out. Only minutes that began from `since_s` on and before `until_s` are read, so that later requests do not change
    the trace.
    """

    endpoint: str | None = None
    variant: str | None = None
    seed: int = 0
    until_s: float = inf
    since_s: float = -inf

    @classmethod
    def so_far(
        cls, path: Path, endpoint: str | None = None, variant: str | None = None, last_s: float = inf
    ) -> "LedgerFile":
        """The trace up to the last minute that is over, so that it stays the same while the endpoint runs; only its
        last `last_s` seconds, if given."""
        until_s = (time.time() - WRITTEN_WITHIN_S) // MINUTE_S * MINUTE_S
        return cls(path, endpoint, variant, until_s=until_s, since_s=until_s - last_s)

    @cached_property
    def refused(self) -> Mapping[str, int]:
        """The names that only ever got errors, with the number of their requests. Raises BadTrace, also if there is no
        other name."""
        with _opened(self.path) as ledger:
            one = one_variant(ledger, self.path, self.endpoint, self.variant, self.until_s)
            called = ledger.execute(ALL, (*one, self.until_s)).fetchall()
        if not any(answered for *_, answered in called):
            raise BadTrace(f"{self.path}: every request to {'/'.join(one)} was an error")
        return {model: requests for model, requests, answered in called if not answered}

    @cached_property
    def unmarked(self) -> int:
        """The warm requests whose second in their minute is not known: an earlier version wrote them. Quiet times
        shorter than a minute are lost between them. Raises BadTrace."""
        with _opened(self.path) as ledger:
            one = one_variant(ledger, self.path, self.endpoint, self.variant, self.until_s)
            known = WITHOUT_SECONDS if "seconds" in _span_columns(ledger) else ""
            counted = ledger.execute(UNMARKED.format(known), (*one, self.since_s, self.until_s)).fetchone()
        return int(counted[0])

    @cached_property
    def _stays(self) -> Stays:
        """When models were in memory, as far as instances reported evictions. Earlier versions did not report them."""
        with _opened(self.path) as ledger:
            one = one_variant(ledger, self.path, self.endpoint, self.variant, self.until_s)
            rows = ledger.execute(TOLD, one)
            return Stays.of(ReportedLoad._make((*row[:-1], json.loads(row[-1]))) for row in rows)

    @cached_property
    def lasts_s(self) -> float | None:
        """How many seconds the variant was served, or as long as the ledger has its minutes. Raises BadTrace."""
        with _opened(self.path) as ledger:
            one = one_variant(ledger, self.path, self.endpoint, self.variant, self.until_s)
            served = ledger.execute(SERVED, one).fetchall()
        known = ((max(since_s, self.since_s), min(until_s, self.until_s)) for since_s, until_s in served)
        return max((until_s - since_s for since_s, until_s in known), default=None)

    def _chunks(self) -> Iterator[Chunk]:
        rng, refused = np.random.default_rng(self.seed), self.refused
        with _opened(self.path) as ledger:
            one = one_variant(ledger, self.path, self.endpoint, self.variant, self.until_s)
            since_s = self.since_s - MINUTE_S  # of the minute before the first one
            while (part := _part(ledger, one, since_s, self.until_s)).minutes:
                yield self._chunk(part.without(refused), rng, one[1])
                since_s = part.minutes[-1][0]

    def _chunk(self, part: LedgerPart, rng: np.random.Generator, own: str) -> Chunk:
        cold, warm = part.cold, _less(*part)
        counts = np.array([row.requests for row in warm], dtype=np.int64)
        warm_s = self._moments_s(rng, warm, counts)
        times_s = np.concatenate(([at_s for at_s, *_ in cold], warm_s))
        order = np.argsort(times_s, kind="stable")
        models = [self._names[row[1] or own] for row in cold] + [self._names[row[1] or own] for row in warm]
        sizes = [row[-1] for row in cold] + [row.request_bytes for row in warm]
        each = np.concatenate((np.ones(len(cold), np.int64), counts))
        return Chunk(
            times_s[order],
            np.repeat(np.array(models, np.int32), each)[order],
            np.repeat(np.array(sizes, np.int64), each)[order],
        )

    def _moments_s(self, rng: np.random.Generator, warm: list[Minute], counts: Sizes) -> Times:
        """The times of warm requests, in the order of the rows."""
        called = [row.called for row in warm]
        first_s, last_s = np.array([(one.first_s, one.last_s) for one in called]).reshape(-1, 2).T
        moments_s: Times = np.repeat(first_s, counts) + np.repeat(last_s - first_s, counts) * rng.random(counts.sum())
        known, firsts = self._stays, np.cumsum(counts) - counts
        for first, one, row in zip(firsts.tolist(), called, warm, strict=True):
            if row.span is not None and row.span.seconds and one.requests:
                stays = known.by_model.get(row.model, ())
                moments_s[first : first + one.requests] = placed_in_span(rng, row.span, one.requests, stays)
            elif (placed_s := known.placed(rng, one, row.model)) is not None:
                moments_s[first : first + one.requests] = placed_s
        return moments_s


def one_variant(
    ledger: sqlite3.Connection, path: Path, endpoint: str | None, variant: str | None, until_s: float = inf
) -> tuple[str, str]:
    """The endpoint and the variant to read, of those in the ledger. Raises BadTrace if there is none, or several."""
    wanted = {"endpoint": endpoint, "variant": variant, "until_s": until_s}
    found: list[tuple[str, str]] = ledger.execute(VARIANTS, wanted).fetchall()
    if not found:
        name = "/".join(filter(None, (endpoint, variant))) or "any endpoint"
        over = "" if until_s == inf else " in a minute that is over: call it, and wait until the minute is over"
        raise BadTrace(f"{path} has no requests to {name}{over}")
    if len(found) > 1:
        there = ", ".join(map("/".join, found))
        raise BadTrace(f"{path} has several variants: name one of {there}, as in {path.name}#endpoint/variant")
    return found[0]


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The ledger, open for reading; errors become BadTrace. Several threads of a replay read it, one at a time."""
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        ) as ledger:
            check_tables(ledger, path)
            yield ledger
    except sqlite3.Error as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: sqlite3.Error) -> BadTrace:
    """What to do about a ledger that SQLite cannot read, or in which it does not find what this version looks for."""
    if str(error).startswith("no such"):
        todo = "`torpor up --data-dir` of this version, once with its folder, brings it up to date"
        return BadTrace(f"{path} is a ledger of an earlier version ({error}): {todo}")
    todo = "If it is cut short, copy it again: `torpor ledger` copies one that is in use"
    return BadTrace(f"{path} cannot be read as a ledger: {error}. {todo}")


def check_tables(ledger: sqlite3.Connection, path: Path) -> None:
    """Raises BadTrace, with the names of the tables, if the database is not a ledger."""
    tables = [name for (name,) in ledger.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    if missing := [name for name in TABLES if name not in tables]:
        has = f"it has {', '.join(tables[:SHOWN])}" if tables else "it is empty"
        raise BadTrace(
            f"{path} is a SQLite database, but no ledger: it has no table {missing[0]} ({has}). Name the ledger.sqlite"
            " in an endpoint's data folder"
        )


def _part(ledger: sqlite3.Connection, one: tuple[str, str], since_s: float, until_s: float) -> LedgerPart:
    """The minutes after the one that began at `since_s`, as of one moment. Each part is a new query: a statement that
    stays open during a whole replay would make the endpoint's write-ahead log grow."""
    with ledger:
        ledger.execute("BEGIN")
        with closing(ledger.execute(MINUTES, (*one, since_s, until_s))) as rows:
            minutes = _enough(Minute(*row) for row in rows)
        if not minutes:
            return LedgerPart([], [])
        if columns := _span_columns(ledger):
            known = SPANS.format(*(one if one in columns else empty for one, empty in KEPT_LATER.items()))
            kept = ledger.execute(known, (*one, minutes[0].begins_s, minutes[-1].begins_s))
            spans = {(begins_s, model): Span(*span_s) for begins_s, model, *span_s in kept}
            minutes = [row._replace(span=spans.get(row[:2])) for row in minutes]
        return LedgerPart(minutes, ledger.execute(COLD, (*one, minutes[0][0], minutes[-1][0] + MINUTE_S)).fetchall())


def _span_columns(ledger: sqlite3.Connection) -> set[str]:
    return {name for (name,) in ledger.execute(SPANS_HAVE)}


def _enough(rows: Iterator[Minute]) -> list[Minute]:
    """Whole minutes, until they have enough requests for a chunk."""
    minutes, requests = list[Minute](), 0
    for _, minute in groupby(rows, itemgetter(0)):
        if requests >= CHUNK_REQUESTS:
            break
        models = list(minute)
        minutes.extend(models)
        requests += sum(row.requests for row in models)
    return minutes


def _less(minutes: list[Minute], cold: list[Cold]) -> list[Minute]:
    """Each minute's requests without the cold starts that have rows of their own, with their mean size."""
    requests, sizes = Counter[tuple[float, str]](), Counter[tuple[float, str]]()
    for at_s, model, request_bytes in cold:
        minute = (at_s // MINUTE_S * MINUTE_S, model)
        requests[minute] += 1
        sizes[minute] += request_bytes
    rows = []
    for one in minutes:
        key = one.begins_s, one.model
        left = max(0, one.requests - requests[key])
        each = max(0, one.request_bytes - sizes[key]) // max(1, left)
        rows.append(one._replace(requests=left, request_bytes=each))
    return rows
