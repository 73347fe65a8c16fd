"""The record of a recommendations job, and the table of its stages."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from torpor_endpoint.core.recommendations.benchmark_records import RecommendationAnswer
from torpor_endpoint.services.jobs.stages import JobKind, JobRecord


class RecommendationStage(StrEnum):
    """AWS's statuses. `PENDING` waits for its turn."""

    PENDING = "PENDING"
    IN_PROGRESS = "IN_PROGRESS"
    STOPPING = "STOPPING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    STOPPED = "STOPPED"


_INTERRUPTED = frozenset({RecommendationStage.STOPPING, RecommendationStage.FAILED})

MOVES: dict[RecommendationStage, frozenset[RecommendationStage]] = {
    RecommendationStage.PENDING: _INTERRUPTED | {RecommendationStage.IN_PROGRESS},
    RecommendationStage.IN_PROGRESS: _INTERRUPTED | {RecommendationStage.COMPLETED},
    RecommendationStage.STOPPING: frozenset({RecommendationStage.STOPPED, RecommendationStage.FAILED}),
    RecommendationStage.COMPLETED: frozenset(),
    RecommendationStage.FAILED: frozenset(),
    RecommendationStage.STOPPED: frozenset(),
}


@dataclass(frozen=True)
class RecommendationsJob(JobRecord[RecommendationStage]):
    """One job. `request` is that of CreateInferenceRecommendationsJob, without tags. `answer` is what the simulator
    said about the variant `measured`, an endpoint's and its own name."""

    KIND: ClassVar[JobKind[RecommendationStage]] = JobKind(
        noun="recommendations job",
        first=RecommendationStage.PENDING,
        stopping=RecommendationStage.STOPPING,
        stopped=RecommendationStage.STOPPED,
        failed=RecommendationStage.FAILED,
        statuses={stage: stage.value for stage in RecommendationStage},
        moves=MOVES,
    )

    answer: RecommendationAnswer | None = None
    measured: tuple[str, ...] = ()

    @property
    def begun_s(self) -> float | None:
        """When the simulator began."""
        stages = (past.started_s for past in self.transitions if past.stage is RecommendationStage.IN_PROGRESS)
        return next(stages, None)
