"""Runs one transform job: starts instances for it, transforms its objects, and stops the instances.

A job that was interrupted goes on with the objects that are not done: it keeps a list of those that are.
"""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from pathlib import Path

from torpor_endpoint.core.records import ModelRecord
from torpor_endpoint.core.transform.settings import BadAdvice, settings
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.services.jobs.work import Failed, client_error, finished, unless
from torpor_endpoint.services.s3.access.embedded import Storage, StorageError
from torpor_endpoint.services.transform.lifecycle import TransformJob, TransformStage
from torpor_endpoint.services.transform.rules import processing_of, variant_of
from torpor_endpoint.services.transform.running.data_log import DataLog
from torpor_endpoint.services.transform.running.inputs import InputUnreadable, JobObject, listed, objects, split
from torpor_endpoint.services.transform.running.instances import JobInstances, NoInstance
from torpor_endpoint.services.transform.running.object_work import ObjectFailed, ObjectWork

JOB = "transform."
"""What the folders and sockets of a job's instances have before its name: no endpoint has a name with a dot."""

FAILED_OBJECTS = "{failed} of {all} objects have no result. See the job's logs: {first}"


@dataclass(frozen=True)
class TransformSite:
    """What all jobs share. Each has a folder of its name below `folder` until it has ended."""

    folder: Path
    logs: Path
    storage: Storage
    factory: InstanceFactory
    clock: Callable[[], float]


class TransformWork:
    def __init__(
        self,
        site: TransformSite,
        model: Callable[[str], ModelRecord | None],
    ) -> None:
        """`model` gives the record of a model by its name."""
        self._site = site
        self._model = model

    async def run(
        self, job: TransformJob, stop: asyncio.Event, entered: Callable[[StrEnum], Awaitable[object]]
    ) -> StrEnum:
        """As `JobWork` has it."""
        await entered(TransformStage.TRANSFORMING)
        try:
            async with self._instances(job) as instances:
                await unless(stop, self._transform(job, instances))
        except (StorageError, InputUnreadable, BadAdvice, NoInstance) as error:
            raise Failed(client_error(error)) from error
        finally:
            if not _cancelled():
                await self.clear(job.name)
        return TransformStage.COMPLETED

    def resumes(self, job: TransformJob) -> bool:
        return job.stage is TransformStage.TRANSFORMING

    async def clear(self, name: str) -> None:
        """Remove what an interrupted job left, except its logs."""
        await finished(shutil.rmtree, self._site.folder / name, ignore_errors=True)

    # -- one job ---------------------------------------------------------------------------------------------------
    @asynccontextmanager
    async def _instances(self, job: TransformJob) -> AsyncIterator[JobInstances]:
        model = await finished(self._model, job.request["ModelName"])
        if model is None:
            raise Failed(client_error(f"The model {job.request['ModelName']} was deleted before the job ran."))
        variant = variant_of(model, job.request)
        name = f"{JOB}{job.name}"
        pool = InstancePool(name, variant, self._site.factory, SlotNumbers())
        pool.scale(variant.instance_count, "its transform job runs")
        try:
            yield JobInstances(pool)
        finally:
            await pool.close("its transform job has ended")
            await self._site.factory.vacated(name, variant.name)

    async def _transform(self, job: TransformJob, instances: JobInstances) -> None:
        """Raises Failed, StorageError, InputUnreadable, BadAdvice, NoInstance."""
        request, folder = job.request, self._site.folder / job.name
        chosen = settings(request, await instances.advice())
        log = DataLog(self._site.logs / job.name, self._site.clock)
        log.line(str(chosen))
        todo = await finished(self._objects, job)
        done = await finished(Done.read, folder)
        instances_count = request["TransformResources"]["InstanceCount"]
        at_once = chosen.at_once * instances_count
        output_bucket, _ = split(request["TransformOutput"]["S3OutputPath"])
        work = ObjectWork(
            self._site.storage,
            instances,
            chosen,
            processing_of(job.request),
            _headers(job),
            output_bucket,
            request["TransformInput"].get("CompressionType") == "Gzip",
            asyncio.Semaphore(at_once),
        )
        failures: list[str] = []
        left = iter([one for one in todo if one.result not in done.results])
        numbers = count()

        async def worker() -> None:
            for one in left:
                own = folder / str(next(numbers))
                await finished(own.mkdir, parents=True, exist_ok=True)
                try:
                    await work.transform(one, own)
                    await finished(done.add, one.result)
                except ObjectFailed as failure:
                    failures.append(f"{one.bucket}/{one.key}: {failure}")
                    log.line(failures[-1])
                finally:
                    await finished(shutil.rmtree, own, ignore_errors=True)

        workers = [asyncio.create_task(worker()) for _ in range(at_once)]
        try:
            await asyncio.gather(*workers)
        finally:
            for one in workers:
                one.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        if failures:
            raise Failed(client_error(FAILED_OBJECTS.format(failed=len(failures), all=len(todo), first=failures[0])))

    def _objects(self, job: TransformJob) -> list[JobObject]:
        source = job.request["TransformInput"]["DataSource"]["S3DataSource"]
        bucket, key = split(source["S3Uri"])
        _, output = split(job.request["TransformOutput"]["S3OutputPath"])
        output = f"{output.rstrip('/')}/" if output else ""
        if source["S3DataType"] == "ManifestFile":
            manifest = self._site.folder / job.name / "manifest"
            manifest.parent.mkdir(parents=True, exist_ok=True)
            self._site.storage.fetch(bucket, key, manifest)
            found = listed(manifest.read_bytes(), output)
        else:
            found = objects(self._site.storage.keys(bucket, key), bucket, key, output)
        if not found:
            raise InputUnreadable(f'No S3 objects found under S3 URL "{source["S3Uri"]}" given in input data source.')
        return found


@dataclass(frozen=True)
class Done:
    """The results that are there, kept in a file so that they are known after a restart."""

    path: Path
    results: frozenset[str]

    @classmethod
    def read(cls, folder: Path) -> "Done":
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "done"
        lines = path.read_text().splitlines() if path.is_file() else []
        whole = [line for line in lines if len(line) > 1 and line[0] == line[-1] == '"']  # a crash may cut the last one
        return cls(path, frozenset(map(json.loads, whole)))

    def add(self, result: str) -> None:
        with self.path.open("a") as file:
            file.write(f"\n{json.dumps(result)}\n")


def _headers(job: TransformJob) -> list[tuple[bytes, bytes]]:
    kind = job.request["TransformInput"].get("ContentType")
    accept = job.request["TransformOutput"].get("Accept")
    given = ((b"content-type", kind), (b"accept", accept))
    return [(name, value.encode()) for name, value in given if value]


def _cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
