"""The records of one variant in a ledger from which its service times are fitted. They neither read nor fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from torpor.simulator.fitting.room_of_evictions import MemoryReport
from torpor.simulator.fitting.times import BROUGHT, DELAYS
from torpor_container import wire
from torpor_container.wire import UNLOAD, WaitStep
from torpor_endpoint.core.ledger import ERROR_FROM, TOLERANCE_S
from torpor_endpoint.core.variant_setup import VariantSetup

STORE, DISK, MEMORY = "store", "disk", "memory"
"""The tiers from which models are loaded, and the tier from which they are unloaded."""


class RecordedLoad(NamedTuple):
    """A load of a model, as its instance reported it."""

    memory_bytes: int
    took_s: float
    evicted: bool  # whether it evicted other models first
    efforts: Mapping[str, wire.EffortFields]  # of the steps that were measured
    workers: int | None = None  # the model's own processes; None if that was not recorded
    once_s: float = 0.0  # of its load step: for what its machine needs once for it
    imports_s: float = 0.0  # of its load step: for libraries that were not imported yet


class RecordedEffort(NamedTuple):
    """Seconds of work, and of delay beside it. A time that was not measured counts as work."""

    work_s: float
    delay_s: float = 0.0

    @property
    def whole_s(self) -> float:
        return self.work_s + self.delay_s


class Whole(NamedTuple):
    """A cold request, which the ledger keeps as a row of its own."""

    model: str
    instance: str
    status: int
    steps: Mapping[str, float]
    cold: RecordedLoad | None
    effort: wire.EffortFields | None  # of its prediction
    container_s: Mapping[str, float] = {}  # seconds in each container of a pipeline

    @property
    def waited_s(self) -> float:
        """The seconds of all waits for the model."""
        return self.brought_s + self.steps.get(WaitStep.QUEUE, 0.0)

    @property
    def brought_s(self) -> float:
        return sum(self.steps.get(step, 0.0) for step in BROUGHT.values())

    @property
    def prediction(self) -> RecordedEffort | None:
        """The prediction; None if there was none, or it failed."""
        if self.status >= ERROR_FROM or WaitStep.PREDICT not in self.steps:
            return None
        if self.effort is None:
            return RecordedEffort(self.steps[WaitStep.PREDICT])
        return RecordedEffort(**self.effort)

    def saw_all_of(self, cold: RecordedLoad) -> bool:
        """Whether it waited from the load's beginning: a request that came later has only a part of the steps."""
        return self.waited_s >= cold.took_s - TOLERANCE_S


class RecordedContainer(NamedTuple):
    """The sums of one model's warm requests in one container of a pipeline."""

    model: str
    container: str
    warm: int
    warm_s: float


class RecordedWarm(NamedTuple):
    """The sums of one model's warm requests, and of the measured efforts among them."""

    requests: int
    spent_s: float
    predict_s: float
    measured: int
    work_s: float
    delay_s: float

    @property
    def prediction(self) -> RecordedEffort:
        """The mean prediction."""
        if self.measured:
            return RecordedEffort(max(0.0, self.work_s) / self.measured, max(0.0, self.delay_s) / self.measured)
        return RecordedEffort(max(0.0, self.predict_s) / self.requests)


@dataclass(frozen=True)
class RecordedWait:
    """A load of a model, as seen by a request that waited for all of it."""

    model: str
    memory_bytes: int
    tier: str
    times_s: Mapping[str, float]  # of ModelProfile's
    queue_s: float
    first: RecordedEffort | None
    evicted: bool  # whether it evicted other models first
    unload: RecordedEffort | None  # of one of the evicted models, if it was measured
    in_line: float | None  # the share of its measured steps that it waited for a processor
    workers: int | None = None  # the model's own processes; None if that was not recorded
    once_s: float = 0.0  # before its load, for what its machine needs once for it
    imports_s: float = 0.0  # before its load, for libraries that were not imported yet


class Memory(NamedTuple):
    """The memory of an instance, and what it takes of it beside its models, on average."""

    size: str  # its ml.* type, or a serverless one
    budget_bytes: int
    own_bytes: int


class RecordedSetup(NamedTuple):
    """How the variant was set up at last, and whether the ledger has requests of an earlier setup."""

    setup: VariantSetup
    changed: bool


@dataclass(frozen=True)
class VariantRecord:
    """The records of one variant in the ledger."""

    path: Path
    endpoint: str
    variant: str
    models: frozenset[str]
    single_model: str | None  # of a single-model variant, named after the variant
    whole: Sequence[Whole]
    warm: Mapping[str, RecordedWarm]
    delays_s: Sequence[tuple[str, float]]  # of predictions: a model and the mean of a minute
    alone: Sequence[tuple[str, float]]  # warm predictions that were the only one in their minute
    starts_s: Sequence[float]
    memory: Memory | None = None  # of the newest instances; None in a ledger of an earlier version
    pipeline: Sequence[str] = ()  # the containers of the newest pipeline, in order; empty without one
    containers: Sequence[RecordedContainer] = ()  # of a pipeline
    container_bytes: Mapping[str, int] = field(default_factory=dict)  # of a pipeline: the memory of each beside models
    container_workers: Mapping[str, int] = field(default_factory=dict)
    """The workers of the one model of a container, by its name in a pipeline, or ""; those that the ledger knows."""
    setup: RecordedSetup | None = None  # None in a ledger of an earlier version
    size: str = ""  # of its newest instance: an ml.* type, or a serverless one
    response_bytes: float = 0.0  # of an answer, on average
    artifacts_bytes: Mapping[str, int] = field(default_factory=dict)  # of models in S3, as far as they are known
    memory_reports: Sequence[MemoryReport] = ()  # of instances with the memory of the newest, from their first load on

    def __str__(self) -> str:
        return f"{self.path}: {self.endpoint}/{self.variant}"

    @cached_property
    def busy(self) -> float:
        """How busy the machine was, from 0 to 1: the median share of a load that waited for a processor. 0 if not
        known."""
        known = [load.in_line for load in self.loads if load.in_line is not None]
        return median(known) if known else 0.0

    @cached_property
    def loads(self) -> list[RecordedWait]:
        """Each load once, as its first request saw it: requests that came during a load have the same record of it."""
        seen: dict[tuple[str, str, float], tuple[Whole, RecordedLoad]] = {}
        for row in self.whole:
            if row.cold is not None and row.saw_all_of(row.cold):
                key = row.model, row.instance, row.cold.took_s
                if key not in seen or row.brought_s > seen[key][0].brought_s:
                    seen[key] = row, row.cold
        return [_load(row, cold) for row, cold in seen.values()]


def quiet_s(seconds: Sequence[float], busy: float) -> float:
    """The usual wait, for anything but a processor, on a machine at rest. The busier the machine was, the lower the
    quantile: whatever waits for a processor also makes others wait, for their turn or for an answer."""
    return float(np.quantile(seconds, (1 - busy) / 2))


def _load(row: Whole, cold: RecordedLoad) -> RecordedWait:
    tier = STORE if WaitStep.DOWNLOAD in row.steps or WaitStep.UNPACK in row.steps else DISK
    steps: dict[str, float] = {step: row.steps[step] for step in BROUGHT.values() if step in row.steps}
    if WaitStep.LOAD in steps:
        steps[WaitStep.LOAD] = max(0.0, steps[WaitStep.LOAD] - cold.once_s - cold.imports_s)
    times_s = {what: steps[step] for what, step in BROUGHT.items() if step in steps}
    for what, delay in DELAYS.items():
        effort = cold.efforts.get(BROUGHT[what])
        if what in times_s and effort is not None:
            times_s |= {what: effort["work_s"], delay: effort["delay_s"]}
    queue_s, left = row.steps.get(WaitStep.QUEUE, 0.0), cold.efforts.get(UNLOAD)
    if cold.workers:  # a script's request may wait for its turn once the model is there
        queue_s = max(0.0, min(queue_s, cold.took_s - row.brought_s))
    unload = None if left is None else RecordedEffort(**left)
    in_line = _in_line(steps, cold.efforts)
    return RecordedWait(
        row.model,
        cold.memory_bytes,
        tier,
        times_s,
        queue_s,
        row.prediction,
        cold.evicted,
        unload,
        in_line,
        cold.workers,
        cold.once_s,
        cold.imports_s,
    )


def _in_line(steps: Mapping[str, float], efforts: Mapping[str, wire.EffortFields]) -> float | None:
    measured = [step for step in BROUGHT.values() if step in steps and step in efforts]
    wall_s = sum(steps[step] for step in measured)
    known_s = sum(RecordedEffort(**efforts[step]).whole_s for step in measured)
    return max(0.0, 1 - known_s / wall_s) if wall_s else None
