"""A transform job goes on where its control starts again, with nothing but the database and the store: what was done is
done, and the rest is transformed there."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tests.account.helpers.databases import OpenPart
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.s3.access.embedded import EmbeddedStorage
from torpor_account.s3.object_store import ObjectStore
from torpor_account.storage.databases.database import Database
from torpor_endpoint.core.resource_records import Container
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.services.jobs.job_queue import JobQueue
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.stages import begun
from torpor_endpoint.services.jobs.work import WorkThreads
from torpor_endpoint.services.transform.lifecycle import TransformJob, TransformStage
from torpor_endpoint.services.transform.running.instances import JobInstances, JobPayload, Patience
from torpor_endpoint.services.transform.running.objects_done import TABLES
from torpor_endpoint.services.transform.running.transform_work import TransformSite, TransformWork
from torpor_endpoint.storage.schema import RECORDS

OBJECTS = 12
REQUEST: dict[str, Any] = {
    "TransformInput": {"DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://scores/in/"}}},
    "TransformOutput": {"S3OutputPath": "s3://scores/out"},
    "TransformResources": {"InstanceType": "ml.m5.large", "InstanceCount": 1},
    "MaxConcurrentTransforms": 2,
}


class Answering:
    """Instances that answer so many payloads, and then none: their machine is gone."""

    def __init__(self, answers: int, asked: list[bytes]) -> None:
        self._answers = answers
        self._asked = asked
        self.gone = asyncio.Event()

    def bound(self, at_once: int) -> None:
        """They take all that come."""

    async def advice(self) -> Mapping[str, Any]:
        return {}

    async def answer(self, payload: JobPayload, patience: Patience) -> bytes:
        self._asked.append(payload.body)
        if self._answers == 0:
            self.gone.set()
            await asyncio.Event().wait()
        self._answers -= 1
        return payload.body.upper()


class Work(TransformWork):
    """Transforms with those instances."""

    def __init__(self, site: TransformSite, answering: Answering) -> None:
        super().__init__(site)
        self._answering = answering

    @asynccontextmanager
    async def _instances(self, job: TransformJob) -> AsyncIterator[JobInstances]:
        yield cast(JobInstances, self._answering)


def jobs_on(machine: Path, database: Database, store: EmbeddedStorage, answering: Answering) -> JobQueue[TransformJob]:
    async def vacated(endpoint: str, variant: str) -> None:
        """No instance left a folder."""

    site = TransformSite(
        database,
        machine / "work",
        machine / "logs",
        store,
        WorkThreads("transform", 2),
        cast(InstanceFactory, SimpleNamespace(vacated=vacated)),
        MetricRegistry(lambda: 1000.0),
        lambda: 1000.0,
        lambda path: None,
    )
    return JobQueue(records_in(database), Work(site, answering))


def records_in(database: Database) -> JobRecords[TransformJob]:
    return JobRecords(database, "transform_jobs", TransformJob, lambda: 1000.0, TABLES)


def test_nothing_is_transformed_twice_but_what_was_in_hand(opened: OpenPart, tmp_path: Path) -> None:
    objects = ObjectStore(tmp_path / "s3")
    objects.buckets.create("scores")
    store = EmbeddedStorage(objects)
    for number in range(OBJECTS):
        store.write(f"row {number}".encode(), "scores", f"in/{number}")
    before, after = list[bytes](), list[bytes]()

    async def first_machine() -> None:
        database, answering = opened(RECORDS), Answering(7, before)
        job = begun(TransformJob, "j", "arn:aws:sagemaker:us-east-1:123456789012:transform-job/j", REQUEST, 1000.0)
        assert records_in(database).add(replace(job, containers=(Container("torpor"),)))
        queue = jobs_on(tmp_path / "first", database, store, answering)
        queue.begin(job)
        await answering.gone.wait()
        await queue.close()

    async def second_machine() -> TransformJob:
        database = opened(RECORDS)
        queue = jobs_on(tmp_path / "second", database, store, Answering(OBJECTS, after))
        await queue.start()
        await queue.ended("j")
        assert [database.rows(f"SELECT * FROM {table}") for table in TABLES] == [[], []]
        ended = records_in(database).get("j")
        assert ended is not None
        return ended

    asyncio.run(first_machine())
    assert asyncio.run(second_machine()).stage is TransformStage.COMPLETED
    results = {path.name: path.read_text() for path in (tmp_path / "s3" / "scores" / "out").iterdir()}
    assert results == {f"{number}.out": f"ROW {number}" for number in range(OBJECTS)}
    assert {*before, *after} == {f"row {number}".encode() for number in range(OBJECTS)}
    assert len({*before} & {*after}) <= 2  # MaxConcurrentTransforms
    objects.close()
