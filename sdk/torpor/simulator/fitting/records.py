"""What a ledger has of one variant, as far as its service times show in it. They read nothing and fit nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from torpor.simulator.fitting.times import BROUGHT
from torpor_container.wire import Step
from torpor_endpoint.core.ledger import ERROR_FROM, TOLERANCE_S

STORE, DISK, MEMORY = "store", "disk", "memory"
"""The tiers that models come from, and the one that they leave."""


class Cold(NamedTuple):
    """How a model came in, as its instance told it."""

    memory_bytes: int
    took_s: float
    evicted: bool  # whether others had to leave first


class Whole(NamedTuple):
    """A request that the ledger keeps whole: it waited for something."""

    model: str
    instance: str
    status: int
    steps: Mapping[str, float]
    cold: Cold | None

    @property
    def brought_s(self) -> float:
        return sum(self.steps.get(step, 0.0) for step in BROUGHT.values())

    @property
    def predict_s(self) -> float | None:
        return self.steps.get(Step.PREDICT) if self.status < ERROR_FROM else None

    def saw_all_of(self, cold: Cold) -> bool:
        """Whether it waited from the load's beginning: one that came later has only a part of the steps."""
        return self.brought_s + self.steps.get(Step.QUEUE, 0.0) >= cold.took_s - TOLERANCE_S


class Warm(NamedTuple):
    """One model's warm requests, added up."""

    requests: int
    spent_s: float
    predict_s: float


@dataclass(frozen=True)
class Load:
    """A model that was brought into memory, as a request that waited for all of it saw it."""

    model: str
    memory_bytes: int
    tier: str
    times_s: Mapping[str, float]  # of ModelProfile's
    queue_s: float
    predict_s: float | None
    evicted: bool  # whether others had to leave first


@dataclass(frozen=True)
class Record:
    """What the ledger has of one variant."""

    path: Path
    endpoint: str
    variant: str
    models: frozenset[str]
    single_model: str | None  # named after its variant
    whole: Sequence[Whole]
    warm: Mapping[str, Warm]
    alone: Sequence[tuple[str, float]]  # predictions of requests that were the only warm one of their minute
    starts_s: Sequence[float]

    def __str__(self) -> str:
        return f"{self.path}: {self.endpoint}/{self.variant}"

    @cached_property
    def loads(self) -> list[Load]:
        """Each as the first who asked for it saw it: whoever came while it went on was told the same of it."""
        seen: dict[tuple[str, str, float], tuple[Whole, Cold]] = {}
        for row in self.whole:
            if row.cold is not None and row.saw_all_of(row.cold):
                key = row.model, row.instance, row.cold.took_s
                if key not in seen or row.brought_s > seen[key][0].brought_s:
                    seen[key] = row, row.cold
        return [_load(row, cold) for row, cold in seen.values()]


def _load(row: Whole, cold: Cold) -> Load:
    tier = STORE if Step.DOWNLOAD in row.steps or Step.UNPACK in row.steps else DISK
    times_s = {what: row.steps[step] for what, step in BROUGHT.items() if step in row.steps}
    queue_s = row.steps.get(Step.QUEUE, 0.0)
    return Load(row.model, cold.memory_bytes, tier, times_s, queue_s, row.predict_s, cold.evicted)
