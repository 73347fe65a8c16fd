"""A training job as a value, and the stages it goes through as one table; pure: time comes in as an argument."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

REASON_MAX = 1024
"""What a FailureReason holds, by the service model."""


class Stage(StrEnum):
    """AWS's SecondaryStatus, those of them that a job has here."""

    STARTING = "Starting"
    DOWNLOADING = "Downloading"
    TRAINING = "Training"
    UPLOADING = "Uploading"
    STOPPING = "Stopping"
    COMPLETED = "Completed"
    FAILED = "Failed"
    STOPPED = "Stopped"
    MAX_RUNTIME_EXCEEDED = "MaxRuntimeExceeded"


# TrainingJobStatus and StatusMessage of each stage. SageMaker's SDK prints the message, and indexes it unasked.
STAGES: dict[Stage, tuple[str, str]] = {
    Stage.STARTING: ("InProgress", "Starting the training job"),
    Stage.DOWNLOADING: ("InProgress", "Downloading input data"),
    Stage.TRAINING: ("InProgress", "Training in-progress"),
    Stage.UPLOADING: ("InProgress", "Uploading generated training model"),
    Stage.STOPPING: ("Stopping", "Stopping the training job"),
    Stage.COMPLETED: ("Completed", "Training job completed"),
    Stage.FAILED: ("Failed", "Training job failed"),
    Stage.STOPPED: ("Stopped", "Training job stopped"),
    Stage.MAX_RUNTIME_EXCEEDED: ("Stopped", "Training job runtime exceeded MaxRuntimeInSeconds provided"),
}

_BROKEN_OFF = frozenset({Stage.STOPPING, Stage.FAILED})

MOVES: dict[Stage, frozenset[Stage]] = {
    Stage.STARTING: _BROKEN_OFF | {Stage.DOWNLOADING},
    Stage.DOWNLOADING: _BROKEN_OFF | {Stage.TRAINING},
    Stage.TRAINING: _BROKEN_OFF | {Stage.UPLOADING},
    Stage.UPLOADING: _BROKEN_OFF | {Stage.COMPLETED, Stage.MAX_RUNTIME_EXCEEDED},
    Stage.STOPPING: frozenset({Stage.STOPPED, Stage.FAILED}),
    Stage.COMPLETED: frozenset(),
    Stage.FAILED: frozenset(),
    Stage.STOPPED: frozenset(),
    Stage.MAX_RUNTIME_EXCEEDED: frozenset(),
}


@dataclass(frozen=True)
class Transition:
    """One stage of a job, and when it was in it; `ended_s` is None while it is."""

    stage: Stage
    started_s: float
    ended_s: float | None = None


@dataclass(frozen=True)
class TrainingJob:
    """`request` is CreateTrainingJob's, without its tags. The last transition is where the job is now."""

    name: str
    arn: str
    created_s: float
    request: Mapping[str, Any]
    transitions: tuple[Transition, ...] = field(default=())
    failure_reason: str | None = None

    @property
    def stage(self) -> Stage:
        return self.transitions[-1].stage

    @property
    def status(self) -> str:
        return STAGES[self.stage][0]

    @property
    def modified_s(self) -> float:
        return self.transitions[-1].started_s

    @property
    def started_s(self) -> float | None:
        """When its turn came; None for a job that never had one."""
        return next((past.started_s for past in self.transitions if past.stage is Stage.DOWNLOADING), None)

    @property
    def ended_s(self) -> float | None:
        return None if MOVES[self.stage] else self.modified_s


def begun(name: str, arn: str, request: Mapping[str, Any], now_s: float) -> TrainingJob:
    return TrainingJob(name, arn, now_s, request, (Transition(Stage.STARTING, now_s),))


def moved(job: TrainingJob, stage: Stage, now_s: float, reason: str | None = None) -> TrainingJob:
    """The job in another stage. Raises ValueError for a move that is not in the table."""
    if stage not in MOVES[job.stage]:
        raise ValueError(f"a training job does not go from {job.stage} to {stage}")
    *past, last = job.transitions
    now = Transition(stage, now_s, None if MOVES[stage] else now_s)
    transitions = (*past, replace(last, ended_s=now_s), now)
    return replace(job, transitions=transitions, failure_reason=reason and reason[:REASON_MAX])
