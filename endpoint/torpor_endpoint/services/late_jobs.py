"""Makes the parts of jobs when the first is needed: an endpoint that runs no jobs never imports them."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from torpor_account.aws.wire.asgi import App
from torpor_account.storage.databases.database import Database

if TYPE_CHECKING:
    from torpor_endpoint.services.job_parts import JobParts

TABLES = (
    *("training_jobs", "processing_jobs", "transform_jobs", "tuning_jobs"),
    *("recommendation_jobs", "pipeline_executions"),
)
"""The tables of the records of jobs. `job_parts` has a queue for each."""


class LateJobs:
    """The parts of jobs, which `make` makes once. Any thread may call `made` and `has`, which wait for the disk.

    `sagemaker` is the service whose operations the steps of pipelines are; it is set once the service is made.
    """

    sagemaker: App

    def __init__(self, database: Database, make: "Callable[[], JobParts]") -> None:
        self._database = database
        self._make = make
        self._making = Lock()
        self._made: JobParts | None = None

    def made(self) -> "JobParts":
        """The parts. The first call makes them."""
        with self._making:
            if self._made is None:
                self._made = self._make()
            return self._made

    def has(self, arn: str) -> bool:
        """Whether a job has this ARN."""
        return self.made().has(arn)

    def writing(self) -> set[Path]:
        """The logs of the scripts that run."""
        return set() if self._made is None else self._made.writing()

    async def start(self) -> None:
        """Resume the jobs of the endpoint's life before, if it had any."""
        if await asyncio.to_thread(self._has_records):
            for queue in (await asyncio.to_thread(self.made)).queues():
                await queue.start()

    async def close(self) -> None:
        """Cancel the running jobs. Their records stay as they are, for the next `start`."""
        if self._made is not None:
            await asyncio.gather(*(queue.close() for queue in self._made.queues()))

    def _has_records(self) -> bool:
        return any(self._database.rows(f"SELECT 1 FROM {table} LIMIT 1") for table in TABLES)
