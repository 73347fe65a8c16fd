"""Traffic as an endpoint's own ledger has it: cold starts to the moment, warm requests by the minute. It only reads."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from torpor.simulator.workloads.spread import within
from torpor.simulator.workloads.trace import CHUNK_REQUESTS, BadTrace, Chunk, Names, checked
from torpor.spans import MINUTE_S

ONE = "endpoint = ? AND variant = ?"
VARIANTS = """SELECT DISTINCT endpoint, variant FROM minutes
    WHERE coalesce(?1, endpoint) = endpoint AND coalesce(?2, variant) = variant ORDER BY 1, 2"""
MINUTES = f"""SELECT minute_s, model, sum(requests), sum(request_bytes) FROM minutes
    WHERE {ONE} GROUP BY minute_s, model ORDER BY minute_s, model"""
COLD = f"SELECT at_s, model, request_bytes FROM cold_starts WHERE {ONE} AND at_s >= ? AND at_s < ? ORDER BY at_s"

Minute = tuple[float, str, int, int]  # when it begins, model, requests, their bytes
Cold = tuple[float, str, int]  # when, model, bytes


@dataclass(frozen=True, eq=False)
class Ledger:
    """`ledger.sqlite` of an endpoint, also of one that runs. Times are epoch seconds.

    A warm request is set at a random moment of its minute, with the seed, and has the mean size of those. So is a
    cold start that the ledger no longer keeps whole. A variant with one model has its own name for the model's.
    """

    path: Path
    endpoint: str | None = None
    variant: str | None = None
    seed: int = 0
    _names: Names = field(default_factory=Names, repr=False)

    @property
    def names(self) -> Sequence[str]:
        return self._names.met

    def chunks(self) -> Iterator[Chunk]:
        return checked(str(self.path), self._chunks())

    def _chunks(self) -> Iterator[Chunk]:
        rng = np.random.default_rng(self.seed)
        try:
            with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)) as ledger:
                one = one_variant(ledger, self.path, self.endpoint, self.variant)
                for minutes in _batches(ledger.execute(MINUTES, one)):
                    bounds = (minutes[0][0], minutes[-1][0] + MINUTE_S)
                    yield self._chunk(minutes, ledger.execute(COLD, (*one, *bounds)).fetchall(), rng, one[1])
        except sqlite3.Error as error:
            raise BadTrace(f"{self.path} cannot be read as a ledger: {error}") from error

    def _chunk(self, minutes: list[Minute], cold: list[Cold], rng: np.random.Generator, own: str) -> Chunk:
        warm = _less(minutes, cold)
        counts = np.array([count for *_, count, _ in warm], dtype=np.int64)
        warm_s = within(rng, np.array([begins_s for begins_s, *_ in warm]), counts)
        times_s = np.concatenate(([at_s for at_s, *_ in cold], warm_s))
        order = np.argsort(times_s, kind="stable")
        models = [self._names[row[1] or own] for row in cold] + [self._names[row[1] or own] for row in warm]
        sizes = [row[-1] for row in cold] + [row[-1] for row in warm]
        each = np.concatenate((np.ones(len(cold), np.int64), counts))
        return Chunk(
            times_s[order],
            np.repeat(np.array(models, np.int32), each)[order],
            np.repeat(np.array(sizes, np.int64), each)[order],
        )


def one_variant(ledger: sqlite3.Connection, path: Path, endpoint: str | None, variant: str | None) -> tuple[str, str]:
    """The endpoint and the variant that are meant, of those that `path` tells of. Raises BadTrace."""
    found: list[tuple[str, str]] = ledger.execute(VARIANTS, (endpoint, variant)).fetchall()
    if not found:
        asked = "/".join(filter(None, (endpoint, variant))) or "any endpoint"
        raise BadTrace(f"{path} tells of no requests to {asked}")
    if len(found) > 1:
        there = ", ".join(map("/".join, found))
        raise BadTrace(f"{path} tells of several variants: say which of {there}, as in {path.name}#endpoint/variant")
    return found[0]


def _batches(rows: Iterator[Minute]) -> Iterator[list[Minute]]:
    """Whole minutes, until they are enough requests for a chunk."""
    batch: list[Minute] = []
    for _, minute in groupby(rows, itemgetter(0)):
        batch.extend(minute)
        if sum(row[2] for row in batch) >= CHUNK_REQUESTS:
            yield batch
            batch = []
    if batch:
        yield batch


def _less(minutes: list[Minute], cold: list[Cold]) -> list[Minute]:
    """What is left of each minute's sums without the cold starts that are known one by one, as its mean size."""
    requests, sizes = Counter[tuple[float, str]](), Counter[tuple[float, str]]()
    for at_s, model, request_bytes in cold:
        minute = (at_s // MINUTE_S * MINUTE_S, model)
        requests[minute] += 1
        sizes[minute] += request_bytes
    rows = []
    for begins_s, model, count, total_bytes in minutes:
        left = max(0, count - requests[begins_s, model])
        rows.append((begins_s, model, left, max(0, total_bytes - sizes[begins_s, model]) // max(1, left)))
    return rows
