"""Stores the records of one kind of job, and moves them from stage to stage. Only one that is over can be removed."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, Generic

from torpor_account.storage.databases.database import Database
from torpor_account.storage.record_table import RecordTable, nothing_further
from torpor_endpoint.services.jobs.stages import J, JobKind, moved


class JobRecords(Generic[J]):
    """Any thread may call its methods. Each waits for the disk."""

    def __init__(
        self, database: Database, table: str, job: type[J], clock: Callable[[], float], beside: Sequence[str] = ()
    ) -> None:
        """`beside` are tables with rows of jobs that are not over, each with its name in the column `job`."""
        self._database = database
        self._beside = beside
        self._table = RecordTable(database, table, job)
        self._job = job
        self._clock = clock

    @property
    def kind(self) -> JobKind[Any]:
        return self._job.KIND

    def add(self, job: J) -> bool:
        """Add the job. False, without a change, if the name is taken."""
        return self._table.add(job)

    def get(self, name: str) -> J | None:
        return self._table.get(name)

    def all(self) -> tuple[J, ...]:
        return self._table.all()

    def has(self, arn: str) -> bool:
        """Whether there is a job with this ARN."""
        job = self._table.at(arn.rpartition("/")[2])
        return job is not None and job.arn == arn

    def remove(self, name: str) -> bool:
        """Remove a job that is over. False, without a change, for one that is not there or not over."""
        return self._table.remove_if(name, lambda job: job.is_over)

    def update(self, name: str, changed: Callable[[J], J]) -> None:
        """Replace what a job's record says beside its stage. Without a change if there is no such job."""
        while (job := self._table.get(name)) is not None and not self._table.replace(changed(job), still=job.__eq__):
            pass

    def move(self, name: str, stage: StrEnum, reason: str | None = None) -> bool:
        """Move a job to another stage. False, without a change, if its present stage does not allow that."""
        moves = self.kind.moves
        while (job := self._table.get(name)) is not None and stage in moves[job.stage]:
            now = moved(job, stage, self._clock(), reason)
            left = partial(self._forget, name) if now.is_over else nothing_further
            if self._table.replace(now, still=job.__eq__, further=left):
                return True
        return False

    def _forget(self, name: str) -> None:
        for table in self._beside:
            self._database.changed(f"DELETE FROM {table} WHERE job = ?", name)
