"""No object of a transform job is lost while the disk, the database or the store fails: the machine fails each step
of a job in turn, comes back, and the job ends as it earned, with exactly the results of its objects."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.endpoint.helpers.virtual_time import ThreadlessTime
from tests.endpoint.services.helpers.failing_machine import (
    DISK,
    KINDS,
    FailingDatabase,
    FailingMachine,
    FailingStorage,
    FailingThreads,
)
from tests.helpers.thorough_values import thorough
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.s3.access.embedded import EmbeddedStorage
from torpor_account.s3.object_store import ObjectStore
from torpor_account.storage.databases.database import DatabaseAway, OutcomeUnknown
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.resource_records import Container
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.services.jobs.job_queue import JobQueue
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.stages import begun
from torpor_endpoint.services.transform.lifecycle import TransformJob, TransformStage
from torpor_endpoint.services.transform.running.instances import JobInstances, JobPayload, Patience, PayloadFailed
from torpor_endpoint.services.transform.running.objects_done import TABLES
from torpor_endpoint.services.transform.running.transform_work import TransformSite, TransformWork
from torpor_endpoint.storage.schema import RECORDS

OBJECTS = {"a": b"a", "b": b"b", "refused": b"refuse"}
RESULTS = {"a.out": b"A", "b.out": b"B"}


class Answering:
    """The instances of a job: they answer in capitals, and refuse one payload."""

    def bound(self, at_once: int) -> None:
        """They take all that come."""

    async def advice(self) -> Mapping[str, Any]:
        return {}

    async def answer(self, payload: JobPayload, patience: Patience) -> bytes:
        if payload.body == b"refuse":
            raise PayloadFailed("ClientError: 400", "no")
        return payload.body.upper()


class Work(TransformWork):
    """Transforms with those instances."""

    @asynccontextmanager
    async def _instances(self, job: TransformJob) -> AsyncIterator[JobInstances]:
        yield cast(JobInstances, Answering())


class Jobs:
    """Transform jobs with all that they write to, and what they come to."""

    def __init__(self, folder: Path, machine: FailingMachine) -> None:
        self.folder = folder
        self.objects = ObjectStore(folder / "s3")
        self.objects.buckets.create("scores")
        self.file = SqliteFile(folder / "torpor.sqlite", RECORDS)
        self.seen = JobRecords(self.file, "transform_jobs", TransformJob, lambda: 1000.0)

        async def vacated(endpoint: str, variant: str) -> None:
            """No instance left a folder."""

        site = TransformSite(
            FailingDatabase(self.file, machine),
            folder / "work",
            folder / "logs",
            FailingStorage(EmbeddedStorage(self.objects), machine),
            FailingThreads(machine),
            cast(InstanceFactory, SimpleNamespace(vacated=vacated)),
            MetricRegistry(lambda: 1000.0),
            lambda: 1000.0,
            lambda path: None,
        )
        failing = FailingDatabase(self.file, machine)
        records = JobRecords(failing, "transform_jobs", TransformJob, lambda: 1000.0, TABLES)
        self.records, self.queue = records, JobQueue(records, Work(site))
        for name, body in OBJECTS.items():
            EmbeddedStorage(self.objects).write(body, "scores", f"in/{name}")

    def create(self, name: str, prefix: str) -> TransformJob:
        """As CreateTransformJob does; while the database is away, again until the job is accepted."""
        request = {
            "TransformInput": {
                "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"s3://scores/{prefix}"}}
            },
            "TransformOutput": {"S3OutputPath": f"s3://scores/{name}"},
            "TransformResources": {"InstanceType": "ml.m5.large", "InstanceCount": 1},
            "DataCaptureConfig": {"DestinationS3Uri": f"s3://scores/{name}-captured"},
        }
        arn = f"arn:aws:sagemaker:us-east-1:123456789012:transform-job/{name}"
        job = TransformJob(**{**vars(begun(TransformJob, name, arn, request, 1000.0)), "containers": (CONTAINER,)})
        while True:
            try:
                self.records.add(job)
                return job
            except OutcomeUnknown:
                return job
            except DatabaseAway:
                continue

    async def ended(self, job: TransformJob) -> TransformJob:
        self.queue.begin(job)
        await self.queue.ended(job.name)
        ended = self.seen.of(job)
        assert ended is not None
        return ended

    def results(self, name: str) -> dict[str, bytes]:
        folder = self.folder / "s3" / "scores" / name
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    def captured(self, name: str) -> int:
        return len(list((self.folder / "s3" / "scores" / f"{name}-captured").rglob("*.json")))


CONTAINER = Container("torpor")


@pytest.mark.parametrize("away", [1, *thorough(5)])
@pytest.mark.parametrize("kind", [*thorough(DISK), *(kind for kind in KINDS if kind != DISK)])
def test_each_job_ends_as_it_earned_whatever_step_the_machine_fails(tmp_path: Path, kind: str, away: int) -> None:
    machine = FailingMachine(kind)

    async def story() -> None:
        jobs = Jobs(tmp_path, machine)
        first = last = 0
        while first == 0 or machine.failed > last:  # until no step is left that could fail
            last = machine.failed
            machine.fail_next(first, away)
            for name, prefix, stage in (
                (f"whole-{first}", "in/", TransformStage.FAILED),
                (f"good-{first}", "in/a", TransformStage.COMPLETED),
            ):
                job = await jobs.ended(jobs.create(name, prefix))
                assert job.stage is stage, (first, job.failure_reason)
                results = RESULTS if prefix == "in/" else {"a.out": b"A"}
                assert jobs.results(name) == results, first
                assert jobs.captured(name) == 2, first
                if stage is TransformStage.FAILED:
                    told = (
                        "ClientError: See job logs for more information. 1 of 3 objects have no result, the first one: "
                    )
                    assert job.failure_reason == f"{told}scores/in/refused: ClientError: 400 no", first
                    log = (tmp_path / "logs" / name / "data-log.log").read_text()
                    assert "scores/in/refused: no" in log, first
            machine.away = range(0)
            first += 1
        assert first > 4  # it failed indeed
        jobs.objects.close()
        jobs.file.close()

    with asyncio.Runner(loop_factory=ThreadlessTime) as runner:
        runner.run(story())
