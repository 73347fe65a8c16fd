"""The record of a transform job, and the table of its stages."""

from enum import StrEnum
from typing import ClassVar

from torpor_container.frozen_class import frozen
from torpor_endpoint.core.resource_records import Container
from torpor_endpoint.services.jobs.stages import JobKind, JobRecord


class TransformStage(StrEnum):
    """AWS shows a status only. `Starting` waits for its turn; `Transforming` has instances."""

    STARTING = "Starting"
    TRANSFORMING = "Transforming"
    STOPPING = "Stopping"
    COMPLETED = "Completed"
    FAILED = "Failed"
    STOPPED = "Stopped"


STATUSES: dict[TransformStage, str] = {
    TransformStage.STARTING: "InProgress",
    TransformStage.TRANSFORMING: "InProgress",
    TransformStage.STOPPING: "Stopping",
    TransformStage.COMPLETED: "Completed",
    TransformStage.FAILED: "Failed",
    TransformStage.STOPPED: "Stopped",
}

MOVES: dict[TransformStage, frozenset[TransformStage]] = {
    TransformStage.STARTING: frozenset({TransformStage.TRANSFORMING, TransformStage.STOPPING, TransformStage.FAILED}),
    TransformStage.TRANSFORMING: frozenset({TransformStage.COMPLETED, TransformStage.STOPPING, TransformStage.FAILED}),
    TransformStage.STOPPING: frozenset({TransformStage.STOPPED, TransformStage.FAILED}),
    TransformStage.COMPLETED: frozenset(),
    TransformStage.FAILED: frozenset(),
    TransformStage.STOPPED: frozenset(),
}


@frozen
class TransformJob(JobRecord[TransformStage]):
    """One transform job. `request` is that of CreateTransformJob, without tags.

    `containers` are those of its model, so that the job outlives the model's record.
    """

    KIND: ClassVar[JobKind[TransformStage]] = JobKind(
        noun="transform job",
        first=TransformStage.STARTING,
        stopping=TransformStage.STOPPING,
        stopped=TransformStage.STOPPED,
        failed=TransformStage.FAILED,
        statuses=STATUSES,
        moves=MOVES,
    )

    containers: tuple[Container, ...] = ()

    @property
    def started_s(self) -> float | None:
        """When the job got its instances; None for a job that never did."""
        return next((past.started_s for past in self.transitions if past.stage is TransformStage.TRANSFORMING), None)
