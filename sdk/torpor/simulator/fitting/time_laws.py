"""Laws of load times: for each format and tier, how a time depends on a model's bytes in memory."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TypeVar

import numpy as np

from torpor.simulator.fitting.regression import FittedLine, constant_line, line_through
from torpor.simulator.fitting.times import FITTED, TIMES, WAITS
from torpor.simulator.fitting.variant_records import MEMORY, STORE, RecordedWait, quiet_s

LOADS_MIN = 3
"""A model with this many recorded loads has times of its own; the others have those of a law."""
ANY = "*"
"""Stands for every format, if the ledger has no load of a model's own format."""

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class Law:
    """One of ModelProfile's times by bytes in memory, for models of one format and tier."""

    what: str
    format: str  # the artifacts' suffix, or ANY
    tier: str  # loaded from the store or the disk; or, for unloads, the memory
    line: FittedLine
    models: int = 0  # how many it was fitted to; 0 for ModelProfile's own default
    loads: int = 0


class Laws:
    """`fitted` are the laws of each format and tier in the record, and those that had to be fitted to all formats."""

    def __init__(self, loads: Sequence[RecordedWait], busy: float = 0.0) -> None:
        self._loads = loads
        self._busy = busy
        sizes = grouped((load.model, load.memory_bytes) for load in loads)
        self._sizes = {name: median(own) for name, own in sizes.items()}
        formats = grouped((_format(load.model), load) for load in loads)
        self.fitted = [law for suffix, own in sorted(formats.items()) for law in self._fitted(suffix, own)]
        self.fitted += _unload_law(loads, busy)

    def of(self, what: str, model: str) -> Law:
        """The law of a time for this model: of its format, and of the tier with the most loads."""
        suffix = _format(model)
        found = [law for law in self.fitted if law.what == what and law.format in (suffix, ANY)]
        if not found:
            found = [law for law in self._fitted(ANY, self._loads) if law.what == what]
            found = found or [Law(what, ANY, MEMORY if what == "unload_s" else STORE, FittedLine(TIMES[what]))]
            self.fitted += found
        return max(found, key=lambda law: (law.format == suffix, law.loads))

    def size_bytes(self, model: str) -> int:
        """The model's bytes in memory, or the median of its format."""
        if model in self._sizes:
            return round(self._sizes[model])
        alike = [size for name, size in self._sizes.items() if _format(name) == _format(model)]
        return round(median(alike or self._sizes.values()))

    def _fitted(self, suffix: str, loads: Sequence[RecordedWait]) -> Iterator[Law]:
        """The laws of some loads. Each model counts as one point, so that one that is loaded often has no more
        weight."""
        for tier, brought in sorted(grouped((load.tier, load) for load in loads).items()):
            for what in FITTED:
                seconds = grouped((load.model, load.times_s[what]) for load in brought if what in load.times_s)
                if seconds:
                    sizes = np.array([self._sizes[name] for name in seconds], np.float64)
                    middles = np.array([median(own) for own in seconds.values()], np.float64)
                    line, count = line_through(sizes, middles), sum(map(len, seconds.values()))
                    if what in WAITS:
                        line = self._at_rest(line, brought, what)
                    yield Law(what, suffix, tier, line, len(seconds), count)

    def _at_rest(self, line: FittedLine, loads: Sequence[RecordedWait], what: str) -> FittedLine:
        """The line for a machine at rest, which is lower."""
        lawful = [(load.times_s[what], line.seconds(self._sizes[load.model])) for load in loads if what in load.times_s]
        parts = [seconds / lawful_s for seconds, lawful_s in lawful if lawful_s]
        return line.times(quiet_s(parts, self._busy)) if parts and self._busy else line


def _format(model: str) -> str:
    """The artifact's suffix: `.tar.gz` for `houses/2.1.tar.gz`."""
    found = re.search(r"(\.tar)?\.[a-z]\w*$", model.lower())
    return found[0] if found else ""


def _unload_law(loads: Sequence[RecordedWait], busy: float) -> list[Law]:
    """The law of unloads: from measured ones, or from the queue time of loads that evicted others.

    The usual queue time of other loads is subtracted, if there are enough of them.
    """
    measured = [load.unload for load in loads if load.unload is not None]
    if len(measured) >= LOADS_MIN:
        line = constant_line(np.array([one.work_s for one in measured]))
        line = replace(line, fixed_s=line.fixed_s + quiet_s([one.delay_s for one in measured], busy))
        return [Law("unload_s", ANY, MEMORY, line, len({load.model for load in loads if load.unload}), len(measured))]
    waited = [load for load in loads if load.evicted]
    others_s = [load.queue_s for load in loads if not load.evicted]
    if len(waited) < LOADS_MIN:
        return []
    line = constant_line(np.array([load.queue_s for load in waited]))
    unload_s = max(0.0, line.fixed_s - (median(others_s) if len(others_s) >= LOADS_MIN else 0.0))
    models = len({load.model for load in waited})
    return [Law("unload_s", ANY, MEMORY, replace(line, fixed_s=unload_s), models, len(waited))]


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    groups: defaultdict[K, list[V]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return dict(groups)
