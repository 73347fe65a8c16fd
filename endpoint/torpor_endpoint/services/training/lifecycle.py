"""The record of a training job, and the table of its stages. Pure: callers give the time."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

REASON_MAX = 1024
"""The most characters of a FailureReason, by the service model."""


class JobStage(StrEnum):
    """The values of AWS's SecondaryStatus that a job can have here."""

    STARTING = "Starting"
    DOWNLOADING = "Downloading"
    TRAINING = "Training"
    UPLOADING = "Uploading"
    STOPPING = "Stopping"
    COMPLETED = "Completed"
    FAILED = "Failed"
    STOPPED = "Stopped"
    MAX_RUNTIME_EXCEEDED = "MaxRuntimeExceeded"


# TrainingJobStatus and StatusMessage of each stage. The SageMaker SDK prints the message, and requires it.
STAGES: dict[JobStage, tuple[str, str]] = {
    JobStage.STARTING: ("InProgress", "Starting the training job"),
    JobStage.DOWNLOADING: ("InProgress", "Downloading input data"),
    JobStage.TRAINING: ("InProgress", "Training in-progress"),
    JobStage.UPLOADING: ("InProgress", "Uploading generated training model"),
    JobStage.STOPPING: ("Stopping", "Stopping the training job"),
    JobStage.COMPLETED: ("Completed", "Training job completed"),
    JobStage.FAILED: ("Failed", "Training job failed"),
    JobStage.STOPPED: ("Stopped", "Training job stopped"),
    JobStage.MAX_RUNTIME_EXCEEDED: ("Stopped", "Training job runtime exceeded MaxRuntimeInSeconds provided"),
}

_INTERRUPTED = frozenset({JobStage.STOPPING, JobStage.FAILED})

MOVES: dict[JobStage, frozenset[JobStage]] = {
    JobStage.STARTING: _INTERRUPTED | {JobStage.DOWNLOADING},
    JobStage.DOWNLOADING: _INTERRUPTED | {JobStage.TRAINING},
    JobStage.TRAINING: _INTERRUPTED | {JobStage.UPLOADING},
    JobStage.UPLOADING: _INTERRUPTED | {JobStage.COMPLETED, JobStage.MAX_RUNTIME_EXCEEDED},
    JobStage.STOPPING: frozenset({JobStage.STOPPED, JobStage.FAILED}),
    JobStage.COMPLETED: frozenset(),
    JobStage.FAILED: frozenset(),
    JobStage.STOPPED: frozenset(),
    JobStage.MAX_RUNTIME_EXCEEDED: frozenset(),
}


@dataclass(frozen=True)
class Transition:
    """One stage of a job, with its times in epoch seconds. `ended_s` is None for the present stage."""

    stage: JobStage
    started_s: float
    ended_s: float | None = None


@dataclass(frozen=True)
class TrainingJob:
    """One training job. `request` is that of CreateTrainingJob, without tags. The last transition is the present
    stage."""

    name: str
    arn: str
    created_s: float
    request: Mapping[str, Any]
    transitions: tuple[Transition, ...] = field(default=())
    failure_reason: str | None = None

    @property
    def stage(self) -> JobStage:
        return self.transitions[-1].stage

    @property
    def status(self) -> str:
        return STAGES[self.stage][0]

    @property
    def modified_s(self) -> float:
        return self.transitions[-1].started_s

    @property
    def started_s(self) -> float | None:
        """When the job began to run; None for a job that never did."""
        return next((past.started_s for past in self.transitions if past.stage is JobStage.DOWNLOADING), None)

    @property
    def ended_s(self) -> float | None:
        return None if MOVES[self.stage] else self.modified_s


def begun(name: str, arn: str, request: Mapping[str, Any], now_s: float) -> TrainingJob:
    """A new job."""
    return TrainingJob(name, arn, now_s, request, (Transition(JobStage.STARTING, now_s),))


def moved(job: TrainingJob, stage: JobStage, now_s: float, reason: str | None = None) -> TrainingJob:
    """The job in another stage. Raises ValueError for a move that is not in the table."""
    if stage not in MOVES[job.stage]:
        raise ValueError(f"a training job does not go from {job.stage} to {stage}")
    *past, last = job.transitions
    now = Transition(stage, now_s, None if MOVES[stage] else now_s)
    transitions = (*past, replace(last, ended_s=now_s), now)
    return replace(job, transitions=transitions, failure_reason=reason and reason[:REASON_MAX])
