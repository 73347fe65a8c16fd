"""What a ledger has of one variant, as far as its service times show in it. They read nothing and fit nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from torpor.simulator.fitting.times import BROUGHT, DELAYS
from torpor_container import wire
from torpor_container.wire import UNLOAD, WaitStep
from torpor_endpoint.core.ledger import ERROR_FROM, TOLERANCE_S

STORE, DISK, MEMORY = "store", "disk", "memory"
"""The tiers that models come from, and the one that they leave."""


class RecordedLoad(NamedTuple):
    """How a model came in, as its instance told it."""

    memory_bytes: int
    took_s: float
    evicted: bool  # whether others had to leave first
    efforts: Mapping[str, wire.EffortFields]  # of the steps that were measured


class RecordedEffort(NamedTuple):
    """Seconds of work, and of the delay beside it. What was not measured is taken for work."""

    work_s: float
    delay_s: float = 0.0

    @property
    def whole_s(self) -> float:
        return self.work_s + self.delay_s


class Whole(NamedTuple):
    """A request that the ledger keeps whole: it waited for something."""

    model: str
    instance: str
    status: int
    steps: Mapping[str, float]
    cold: RecordedLoad | None
    effort: wire.EffortFields | None  # of its prediction

    @property
    def brought_s(self) -> float:
        return sum(self.steps.get(step, 0.0) for step in BROUGHT.values())

    @property
    def prediction(self) -> RecordedEffort | None:
        """None where there was none, or it went wrong."""
        if self.status >= ERROR_FROM or WaitStep.PREDICT not in self.steps:
            return None
        if self.effort is None:
            return RecordedEffort(self.steps[WaitStep.PREDICT])
        return RecordedEffort(**self.effort)

    def saw_all_of(self, cold: RecordedLoad) -> bool:
        """Whether it waited from the load's beginning: one that came later has only a part of the steps."""
        return self.brought_s + self.steps.get(WaitStep.QUEUE, 0.0) >= cold.took_s - TOLERANCE_S


class RecordedWarm(NamedTuple):
    """One model's warm requests, added up, and the efforts of those that were measured."""

    requests: int
    spent_s: float
    predict_s: float
    measured: int
    work_s: float
    delay_s: float

    @property
    def prediction(self) -> RecordedEffort:
        """The mean."""
        if self.measured:
            return RecordedEffort(max(0.0, self.work_s) / self.measured, max(0.0, self.delay_s) / self.measured)
        return RecordedEffort(max(0.0, self.predict_s) / self.requests)


@dataclass(frozen=True)
class RecordedWait:
    """A model that was brought into memory, as a request that waited for all of it saw it."""

    model: str
    memory_bytes: int
    tier: str
    times_s: Mapping[str, float]  # of ModelProfile's
    queue_s: float
    first: RecordedEffort | None
    evicted: bool  # whether others had to leave first
    unload: RecordedEffort | None  # what letting go of one of them took, if it was measured
    in_line: float | None  # the part of its steps that it stood in line for a processor, as far as they were measured


class Memory(NamedTuple):
    """What an instance has of memory, and what it takes of it beside its models: the mean of what was seen."""

    size: str  # its ml.* type, or a serverless one
    budget_bytes: int
    own_bytes: int


@dataclass(frozen=True)
class VariantRecord:
    """What the ledger has of one variant."""

    path: Path
    endpoint: str
    variant: str
    models: frozenset[str]
    single_model: str | None  # named after its variant
    whole: Sequence[Whole]
    warm: Mapping[str, RecordedWarm]
    delays_s: Sequence[tuple[str, float]]  # of predictions, a minute's mean each
    alone: Sequence[tuple[str, float]]  # predictions that were the only one of their minute, warm and, if any, measured
    starts_s: Sequence[float]
    memory: Memory | None = None  # of the newest instances; None in a ledger of an earlier version

    def __str__(self) -> str:
        return f"{self.path}: {self.endpoint}/{self.variant}"

    @cached_property
    def busy(self) -> float:
        """How busy the machine was, 0 to 1: the part of a load that went into waiting for a processor, by the middle
        one of them. 0 where nobody knows."""
        known = [load.in_line for load in self.loads if load.in_line is not None]
        return median(known) if known else 0.0

    @cached_property
    def loads(self) -> list[RecordedWait]:
        """Each as the first who asked for it saw it: whoever came while it went on was told the same of it."""
        seen: dict[tuple[str, str, float], tuple[Whole, RecordedLoad]] = {}
        for row in self.whole:
            if row.cold is not None and row.saw_all_of(row.cold):
                key = row.model, row.instance, row.cold.took_s
                if key not in seen or row.brought_s > seen[key][0].brought_s:
                    seen[key] = row, row.cold
        return [_load(row, cold) for row, cold in seen.values()]


def quiet_s(seconds: Sequence[float], busy: float) -> float:
    """Of waits for anything but a processor, what they would be at rest. The busier the machine was, the further below
    their median that lies: who stands in line for a processor keeps others waiting for their turn, or for an answer."""
    return float(np.quantile(seconds, (1 - busy) / 2))


def _load(row: Whole, cold: RecordedLoad) -> RecordedWait:
    tier = STORE if WaitStep.DOWNLOAD in row.steps or WaitStep.UNPACK in row.steps else DISK
    times_s = {what: row.steps[step] for what, step in BROUGHT.items() if step in row.steps}
    for what, delay in DELAYS.items():
        effort = cold.efforts.get(BROUGHT[what])
        if what in times_s and effort is not None:
            times_s |= {what: effort["work_s"], delay: effort["delay_s"]}
    queue_s, left = row.steps.get(WaitStep.QUEUE, 0.0), cold.efforts.get(UNLOAD)
    unload = None if left is None else RecordedEffort(**left)
    in_line = _in_line(row.steps, cold.efforts)
    return RecordedWait(
        row.model, cold.memory_bytes, tier, times_s, queue_s, row.prediction, cold.evicted, unload, in_line
    )


def _in_line(steps: Mapping[str, float], efforts: Mapping[str, wire.EffortFields]) -> float | None:
    measured = [step for step in BROUGHT.values() if step in steps and step in efforts]
    wall_s = sum(steps[step] for step in measured)
    known_s = sum(RecordedEffort(**efforts[step]).whole_s for step in measured)
    return max(0.0, 1 - known_s / wall_s) if wall_s else None
