"""The record of a training job, and the table of its stages."""

from enum import StrEnum
from typing import ClassVar

from torpor_container.frozen_class import frozen
from torpor_endpoint.services.jobs.stages import JobKind, JobRecord


class TrainingStage(StrEnum):
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
STAGES: dict[TrainingStage, tuple[str, str]] = {
    TrainingStage.STARTING: ("InProgress", "Starting the training job"),
    TrainingStage.DOWNLOADING: ("InProgress", "Downloading input data"),
    TrainingStage.TRAINING: ("InProgress", "Training in-progress"),
    TrainingStage.UPLOADING: ("InProgress", "Uploading generated training model"),
    TrainingStage.STOPPING: ("Stopping", "Stopping the training job"),
    TrainingStage.COMPLETED: ("Completed", "Training job completed"),
    TrainingStage.FAILED: ("Failed", "Training job failed"),
    TrainingStage.STOPPED: ("Stopped", "Training job stopped"),
    TrainingStage.MAX_RUNTIME_EXCEEDED: ("Stopped", "Training job runtime exceeded MaxRuntimeInSeconds provided"),
}

_INTERRUPTED = frozenset({TrainingStage.STOPPING, TrainingStage.FAILED})

MOVES: dict[TrainingStage, frozenset[TrainingStage]] = {
    TrainingStage.STARTING: _INTERRUPTED | {TrainingStage.DOWNLOADING},
    TrainingStage.DOWNLOADING: _INTERRUPTED | {TrainingStage.TRAINING},
    TrainingStage.TRAINING: _INTERRUPTED | {TrainingStage.UPLOADING},
    TrainingStage.UPLOADING: _INTERRUPTED | {TrainingStage.COMPLETED, TrainingStage.MAX_RUNTIME_EXCEEDED},
    TrainingStage.STOPPING: frozenset({TrainingStage.STOPPED, TrainingStage.FAILED}),
    TrainingStage.COMPLETED: frozenset(),
    TrainingStage.FAILED: frozenset(),
    TrainingStage.STOPPED: frozenset(),
    TrainingStage.MAX_RUNTIME_EXCEEDED: frozenset(),
}


@frozen
class TrainingJob(JobRecord[TrainingStage]):
    """One training job. `request` is that of CreateTrainingJob, without tags. `tuning_job_arn` is that of the tuning
    job that began it."""

    KIND: ClassVar[JobKind[TrainingStage]] = JobKind(
        noun="training job",
        first=TrainingStage.STARTING,
        stopping=TrainingStage.STOPPING,
        stopped=TrainingStage.STOPPED,
        failed=TrainingStage.FAILED,
        statuses={stage: status for stage, (status, _) in STAGES.items()},
        moves=MOVES,
    )

    tuning_job_arn: str | None = None

    @property
    def started_s(self) -> float | None:
        """When the job began to run; None for a job that never did."""
        return next((past.started_s for past in self.transitions if past.stage is TrainingStage.DOWNLOADING), None)
