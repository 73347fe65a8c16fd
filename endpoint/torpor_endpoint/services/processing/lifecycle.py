"""The record of a processing job, and the table of its stages."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from torpor_endpoint.services.jobs.stages import JobKind, JobRecord


class ProcessingStage(StrEnum):
    """AWS shows a status only. `Starting` waits for its turn."""

    STARTING = "Starting"
    DOWNLOADING = "Downloading"
    PROCESSING = "Processing"
    UPLOADING = "Uploading"
    STOPPING = "Stopping"
    COMPLETED = "Completed"
    FAILED = "Failed"
    STOPPED = "Stopped"
    RAN_TOO_LONG = "RanTooLong"


STATUSES: dict[ProcessingStage, str] = {
    ProcessingStage.STARTING: "InProgress",
    ProcessingStage.DOWNLOADING: "InProgress",
    ProcessingStage.PROCESSING: "InProgress",
    ProcessingStage.UPLOADING: "InProgress",
    ProcessingStage.STOPPING: "Stopping",
    ProcessingStage.COMPLETED: "Completed",
    ProcessingStage.FAILED: "Failed",
    ProcessingStage.STOPPED: "Stopped",
    ProcessingStage.RAN_TOO_LONG: "Stopped",
}

_INTERRUPTED = frozenset({ProcessingStage.STOPPING, ProcessingStage.FAILED})

MOVES: dict[ProcessingStage, frozenset[ProcessingStage]] = {
    ProcessingStage.STARTING: _INTERRUPTED | {ProcessingStage.DOWNLOADING},
    ProcessingStage.DOWNLOADING: _INTERRUPTED | {ProcessingStage.PROCESSING},
    ProcessingStage.PROCESSING: _INTERRUPTED | {ProcessingStage.UPLOADING, ProcessingStage.RAN_TOO_LONG},
    ProcessingStage.UPLOADING: _INTERRUPTED | {ProcessingStage.COMPLETED},
    ProcessingStage.STOPPING: frozenset({ProcessingStage.STOPPED, ProcessingStage.FAILED}),
    ProcessingStage.COMPLETED: frozenset(),
    ProcessingStage.FAILED: frozenset(),
    ProcessingStage.STOPPED: frozenset(),
    ProcessingStage.RAN_TOO_LONG: frozenset(),
}


@dataclass(frozen=True)
class ProcessingJob(JobRecord[ProcessingStage]):
    """One processing job. `request` is that of CreateProcessingJob, without tags. `exit_message` is what its script
    wrote for it."""

    KIND: ClassVar[JobKind[ProcessingStage]] = JobKind(
        noun="processing job",
        first=ProcessingStage.STARTING,
        stopping=ProcessingStage.STOPPING,
        stopped=ProcessingStage.STOPPED,
        failed=ProcessingStage.FAILED,
        statuses=STATUSES,
        moves=MOVES,
    )

    exit_message: str | None = None

    @property
    def started_s(self) -> float | None:
        """When the script began to run; None for a job whose script never did."""
        return next((past.started_s for past in self.transitions if past.stage is ProcessingStage.PROCESSING), None)
