"""Stores the records of training jobs, and moves them from stage to stage. As on AWS, they are never deleted."""

from collections.abc import Callable, Mapping
from typing import Any

from torpor_endpoint.services.training.lifecycle import MOVES, JobStage, TrainingJob, Transition, moved
from torpor_endpoint.storage.record_table import Database, RecordTable


class Jobs:
    """Any thread may call its methods. Each waits for the disk."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._table = RecordTable(database, "training_jobs", _decoded)
        self._clock = clock

    def add(self, job: TrainingJob) -> bool:
        """Add the job. False, without a change, if the name is taken."""
        return self._table.add(job)

    def get(self, name: str) -> TrainingJob | None:
        return self._table.get(name)

    def all(self) -> tuple[TrainingJob, ...]:
        return self._table.all()

    def has(self, arn: str) -> bool:
        """Whether there is a job with this ARN."""
        job = self._table.at(arn.rpartition("/")[2])
        return job is not None and job.arn == arn

    def move(self, name: str, stage: JobStage, reason: str | None = None) -> bool:
        """Move a job to another stage. False, without a change, if its present stage does not allow that."""
        while (job := self._table.get(name)) is not None and stage in MOVES[job.stage]:
            if self._table.replace(moved(job, stage, self._clock(), reason), still=job.__eq__):
                return True
        return False


def _decoded(record: Mapping[str, Any]) -> TrainingJob:
    transitions = tuple(Transition(**{**past, "stage": JobStage(past["stage"])}) for past in record["transitions"])
    return TrainingJob(**{**record, "transitions": transitions})
