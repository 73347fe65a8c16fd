"""Stores the records of one kind of job, and moves them from stage to stage. Only one that is over can be removed.

A name may be used again once its job is removed. A change names its job by name and `created_s`, so what an earlier job
still had to write changes no later one.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, Generic, Protocol

from torpor_account.storage.databases.database import Database
from torpor_account.storage.record_table import RecordTable, nothing_further
from torpor_endpoint.services.jobs.stages import J, JobKind, moved


class CreatedJob(Protocol):
    """One job: its name, and when it was created, in epoch seconds."""

    @property
    def name(self) -> str: ...

    @property
    def created_s(self) -> float: ...


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

    def of(self, job: CreatedJob) -> J | None:
        """The record of this job. None if there is none, or a later job has its name."""
        stored = self._table.get(job.name)
        return stored if stored is not None and stored.created_s == job.created_s else None

    def remove(self, job: CreatedJob, further: Callable[[], object] = nothing_further) -> bool:
        """Remove a job that is over. False, without a change, for one that is not there or not over. `further` makes
        further changes in the same transaction."""
        return self._table.remove_if(job.name, lambda now: now.is_over and now.created_s == job.created_s, further)

    def update(self, job: CreatedJob, changed: Callable[[J], J]) -> None:
        """Replace what a job's record says beside its stage. Without a change if there is no such job."""
        while (now := self.of(job)) is not None and not self._table.replace(changed(now), still=now.__eq__):
            pass

    def move(self, job: CreatedJob, stage: StrEnum, reason: str | None = None) -> bool:
        """Move a job to another stage. False, without a change, if there is no such job, or its present stage does not
        allow that."""
        moves = self.kind.moves
        while (before := self.of(job)) is not None and stage in moves[before.stage]:
            now = moved(before, stage, self._clock(), reason)
            left = partial(self._forget, job.name) if now.is_over else nothing_further
            if self._table.replace(now, still=before.__eq__, further=left):
                return True
        return False

    def _forget(self, name: str) -> None:
        for table in self._beside:
            self._database.changed(f"DELETE FROM {table} WHERE job = ?", name)
