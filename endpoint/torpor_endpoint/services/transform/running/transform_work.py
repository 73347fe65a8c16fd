"""Runs one transform job: starts instances for it, transforms its objects, and stops the instances.

A job that was interrupted goes on with the objects that are not done: the database has a list of those that are.
"""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import field
from enum import StrEnum
from functools import partial
from itertools import count
from pathlib import Path
from typing import ParamSpec, TypeVar

from torpor_account.metrics.registry import MetricRegistry
from torpor_account.s3.access.embedded import AsRole, Storage, StorageError, as_endpoint
from torpor_account.storage.databases.database import Database
from torpor_account.storage.outage_log import OutageLog
from torpor_container.frozen_class import frozen
from torpor_endpoint.core.ledger_records import TRANSFORM_JOB
from torpor_endpoint.core.pages.transform_jobs import JobProgress
from torpor_endpoint.core.sending.machine import ACCEPT, CONTENT_TYPE
from torpor_endpoint.core.transform.payload_settings import BadAdvice, settings
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.services.jobs.data_log import DataLog
from torpor_endpoint.services.jobs.work import Failed, WorkThreads, client_error, outlasting, unless
from torpor_endpoint.services.transform.lifecycle import TransformJob, TransformStage
from torpor_endpoint.services.transform.rules import (
    MODEL_FILTER,
    VARIANT,
    accept_of,
    capture_bucket,
    processing_of,
    variant_of,
)
from torpor_endpoint.services.transform.running.captured_manifests import stamp_of, write_manifests
from torpor_endpoint.services.transform.running.inputs import (
    InputUnreadable,
    JobObject,
    check_models,
    listed,
    objects,
    split,
)
from torpor_endpoint.services.transform.running.instances import JobInstances, NoInstance, PayloadTraces
from torpor_endpoint.services.transform.running.job_metrics import JobMetrics
from torpor_endpoint.services.transform.running.object_progress import ObjectProgress, RunningProgress
from torpor_endpoint.services.transform.running.object_work import ObjectFailed, ObjectWork
from torpor_endpoint.services.transform.running.objects_done import ObjectList

P = ParamSpec("P")
T = TypeVar("T")

OUTAGE = ("transform jobs wait for the machine", "transform jobs go on")
REMEMBERED = 100
"""The progress of so many ended jobs can be read."""
FAILED_OBJECTS = "See job logs for more information. {failed} of {all} objects have no result, the first one: {first}"


TracesOfJob = Callable[[str, str, InstancePool], PayloadTraces | None]
"""Takes a job's name, its ARN and its instances; returns what traces its payloads, if anything does."""


@frozen
class TransformSite:
    """What all jobs share. Each has a folder of its name below `folder` until it has ended, for what is not whole yet.
    `database` has its list of objects, and of those that are done.

    `noted` is called with a data log that has grown. `strict`: AWS's limits hold between containers too. `traces` gives
    the payloads of a job, by its name and ARN, a trace each. `as_role` makes of `storage` one that acts as the role of
    a job's model.
    """

    database: Database
    folder: Path
    logs: Path
    storage: Storage
    threads: WorkThreads
    factory: InstanceFactory
    registry: MetricRegistry
    clock: Callable[[], float]
    noted: Callable[[Path], object]
    strict: bool = False
    traces: TracesOfJob | None = None
    as_role: AsRole = as_endpoint
    outage: OutageLog = field(default_factory=lambda: OutageLog(*OUTAGE))


class TransformWork:
    def __init__(self, site: TransformSite) -> None:
        self._site = site
        self._progress: dict[str, RunningProgress] = {}

    def progress(self) -> list[JobProgress]:
        """The jobs that began since the endpoint started, those that run and the latest others, the newest last."""
        return [one.shown(name, self._site.clock()) for name, one in self._progress.items()]

    async def run(
        self, job: TransformJob, stop: asyncio.Event, entered: Callable[[StrEnum], Awaitable[object]]
    ) -> StrEnum:
        """As `JobWork` has it."""
        await entered(TransformStage.TRANSFORMING)
        try:
            await unless(stop, self._transform(job))
        except (StorageError, InputUnreadable, BadAdvice, NoInstance) as error:
            raise Failed(client_error(error)) from error
        finally:
            self._ended(job.name)
            if not _cancelled():
                await self.clear(job)
        return TransformStage.COMPLETED

    def resumes(self, job: TransformJob) -> bool:
        return job.stage is TransformStage.TRANSFORMING

    async def clear(self, job: TransformJob) -> None:
        """Remove what the job left, except its logs."""
        await self._site.threads.finished(shutil.rmtree, self._site.folder / job.name, ignore_errors=True)
        await self._site.factory.vacated(f"{TRANSFORM_JOB}{job.name}", VARIANT)

    # -- one job ---------------------------------------------------------------------------------------------------
    @asynccontextmanager
    async def _instances(self, job: TransformJob) -> AsyncIterator[JobInstances]:
        variant, site = variant_of(job), self._site
        pool = InstancePool(f"{TRANSFORM_JOB}{job.name}", variant, site.factory, SlotNumbers())
        pool.scale(variant.instance_count, "its transform job runs")
        metrics = JobMetrics(job.name, pool, site.registry, site.clock)
        reading = asyncio.create_task(metrics.run())
        try:
            traces = None if site.traces is None else site.traces(job.name, job.arn, pool)
            yield JobInstances(pool, time.perf_counter, site.strict, traces)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            await pool.close("its transform job has ended")

    async def _transform(self, job: TransformJob) -> None:
        """Raises Failed, StorageError, InputUnreadable, BadAdvice, NoInstance."""
        progress = self._progress[job.name] = RunningProgress(self._site.clock())
        listing = ObjectList(self._site.database, job.name)
        todo = await self._outlasted(listing.read, lambda: self._objects(job))
        check_models(todo, job.containers[0].multi_model, MODEL_FILTER in job.request.get("Environment", {}))
        progress.objects, progress.done_before = len(todo), len(listing.results)
        progress.records_before = sum(listing.results.values())
        async with self._instances(job) as instances:
            await self._transform_all(job, instances, listing, todo)

    async def _transform_all(
        self, job: TransformJob, instances: JobInstances, listing: ObjectList, todo: list[JobObject]
    ) -> None:
        request, folder, progress = job.request, self._site.folder / job.name, self._progress[job.name]
        chosen = settings(request, await instances.advice())
        log = DataLog(self._site.logs / job.name, self._site.clock, self._site.noted)
        await self._outlasted(log.write, str(chosen))
        instances.bound(chosen.at_once)
        at_once = chosen.at_once * request["TransformResources"]["InstanceCount"]
        work = ObjectWork(
            self._storage(job),
            self._site.threads,
            instances,
            chosen,
            processing_of(request, partial(stamp_of, job), job.containers[0].multi_model),
            _headers(job),
            split(request["TransformOutput"]["S3OutputPath"])[0],
            request["TransformInput"].get("CompressionType") == "Gzip",
            asyncio.Semaphore(at_once),
        )
        first_failure = ""
        left = iter([one for one in todo if one.result not in listing.results])
        numbers = count()

        async def worker() -> None:
            nonlocal first_failure
            for one in left:
                own, about = folder / str(next(numbers)), ObjectProgress()
                progress.running.add(about)
                try:
                    await self._outlasted(own.mkdir, parents=True, exist_ok=True)
                    await outlasting(self._site.outage, partial(work.transform, one, own, about))
                    await self._outlasted(listing.add, one.result, about.records)
                    progress.done += 1
                    progress.records += about.records
                except ObjectFailed as failure:
                    progress.failed += 1
                    first_failure = first_failure or f"{one.bucket}/{one.key}: {failure} {failure.message}".strip()
                    await self._outlasted(log.write, *_told(f"{one.bucket}/{one.key}", failure))
                finally:
                    progress.running.discard(about)
                    await self._site.threads.finished(shutil.rmtree, own, ignore_errors=True)

        workers = [asyncio.create_task(worker()) for _ in range(at_once)]
        try:
            await asyncio.gather(*workers)
        finally:
            for one in workers:
                one.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        if "DataCaptureConfig" in request:
            captured = [one for one in todo if one.result in listing.results]
            await self._outlasted(write_manifests, self._storage(job), job, captured, self._site.clock())
        if progress.failed:
            reason = FAILED_OBJECTS.format(failed=progress.failed, all=len(todo), first=first_failure)
            raise Failed(client_error(reason))

    async def _outlasted(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the function in a thread, and again after each failure of the machine."""
        return await outlasting(self._site.outage, lambda: self._site.threads.finished(function, *args, **kwargs))

    def _ended(self, name: str) -> None:
        if name in self._progress:
            self._progress[name].ended_s = self._site.clock()
        ended = [name for name, one in self._progress.items() if one.ended_s is not None]
        for name in ended[:-REMEMBERED]:
            del self._progress[name]

    def _objects(self, job: TransformJob) -> list[JobObject]:
        """Raises StorageError, InputUnreadable."""
        source, storage = job.request["TransformInput"]["DataSource"]["S3DataSource"], self._storage(job)
        bucket, key = split(source["S3Uri"])
        output_bucket, output = split(job.request["TransformOutput"]["S3OutputPath"])
        storage.check(output_bucket)
        if (captured := capture_bucket(job.request)) is not None:
            storage.check(captured)
        output = f"{output.rstrip('/')}/" if output else ""
        if source["S3DataType"] == "ManifestFile":
            manifest = self._site.folder / job.name / "manifest"
            manifest.parent.mkdir(parents=True, exist_ok=True)
            storage.fetch(bucket, key, manifest)
            found = listed(manifest.read_bytes(), output)
        else:
            found = objects(storage.keys(bucket, key), bucket, key, output)
        if not found:
            raise InputUnreadable(f'No S3 objects found under S3 URL "{source["S3Uri"]}" given in input data source.')
        storage.check_writable(output_bucket, found[0].result)
        return found

    def _storage(self, job: TransformJob) -> Storage:
        return self._site.as_role(self._site.storage, job.containers[0].role, job.arn)


def _told(key: str, failure: ObjectFailed) -> list[str]:
    """The lines about an object without a result, as AWS's data log has them."""
    lines = [f"{key}: {failure}"]
    if failure.message:
        lines += [f"{key}: ", f"{key}: Message:", *(f"{key}: {line}" for line in failure.message.splitlines())]
    return lines


def _headers(job: TransformJob) -> dict[bytes, bytes]:
    kind = job.request["TransformInput"].get("ContentType")
    given = ((CONTENT_TYPE, kind), (ACCEPT, accept_of(job.request)))
    return {name: value.encode() for name, value in given if value}


def _cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
