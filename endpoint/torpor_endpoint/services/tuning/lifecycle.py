"""The record of a tuning job with its training jobs, and the table of its stages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from torpor_endpoint.services.jobs.stages import JobKind, JobRecord


class TuningStage(StrEnum):
    """AWS shows a status only. `Starting` waits for its turn."""

    STARTING = "Starting"
    TUNING = "Tuning"
    STOPPING = "Stopping"
    COMPLETED = "Completed"
    FAILED = "Failed"
    STOPPED = "Stopped"
    RAN_TOO_LONG = "RanTooLong"


STATUSES: dict[TuningStage, str] = {
    TuningStage.STARTING: "InProgress",
    TuningStage.TUNING: "InProgress",
    TuningStage.STOPPING: "Stopping",
    TuningStage.COMPLETED: "Completed",
    TuningStage.FAILED: "Failed",
    TuningStage.STOPPED: "Stopped",
    TuningStage.RAN_TOO_LONG: "Stopped",
}

_INTERRUPTED = frozenset({TuningStage.STOPPING, TuningStage.FAILED})

MOVES: dict[TuningStage, frozenset[TuningStage]] = {
    TuningStage.STARTING: _INTERRUPTED | {TuningStage.TUNING},
    TuningStage.TUNING: _INTERRUPTED | {TuningStage.COMPLETED, TuningStage.RAN_TOO_LONG},
    TuningStage.STOPPING: frozenset({TuningStage.STOPPED, TuningStage.FAILED}),
    TuningStage.COMPLETED: frozenset(),
    TuningStage.FAILED: frozenset(),
    TuningStage.STOPPED: frozenset(),
    TuningStage.RAN_TOO_LONG: frozenset(),
}


@dataclass(frozen=True)
class Trial:
    """One training job of a tuning job, as it is or was: `status` is that of the training job, and `value` its
    objective metric. The record of the training job itself may be deleted."""

    name: str
    arn: str
    tuned: Mapping[str, str]
    """The hyperparameters that were proposed."""
    created_s: float
    status: str = "InProgress"
    value: float | None = None
    started_s: float | None = None
    ended_s: float | None = None
    failure_reason: str | None = None

    @property
    def is_over(self) -> bool:
        return self.ended_s is not None


@dataclass(frozen=True)
class TuningJob(JobRecord[TuningStage]):
    """One tuning job. `request` is that of CreateHyperParameterTuningJob, without tags. `trials` are in the order in
    which they began."""

    KIND: ClassVar[JobKind[TuningStage]] = JobKind(
        noun="tuning job",
        first=TuningStage.STARTING,
        stopping=TuningStage.STOPPING,
        stopped=TuningStage.STOPPED,
        failed=TuningStage.FAILED,
        statuses=STATUSES,
        moves=MOVES,
    )

    trials: tuple[Trial, ...] = field(default=())
