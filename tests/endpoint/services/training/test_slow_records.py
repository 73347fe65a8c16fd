"""The records of jobs and the disk they are on, which may be slow."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from tests.endpoint.services.helpers.training_in_folder import TrainingApi, TrainingFolder, job
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.stages import begun
from torpor_endpoint.services.training.lifecycle import TrainingJob, TrainingStage
from torpor_endpoint.storage.schema import RECORDS


def test_a_slow_disk_delays_only_its_own_caller(training: TrainingFolder) -> None:
    def busy(api: TrainingApi, taken: Event, free: Event) -> bool:
        with api.database.transaction():
            taken.set()
            return free.wait(60.0)

    async def story() -> None:
        async with training.open() as api:
            for operation, params in (("CreateTrainingJob", job()), ("StopTrainingJob", {"TrainingJobName": "job"})):
                taken, free = Event(), Event()
                holder = asyncio.create_task(asyncio.to_thread(busy, api, taken, free))
                await asyncio.to_thread(taken.wait)
                calling = asyncio.create_task(api(operation, **params))
                assert await asyncio.wait({calling}, timeout=0.1) == (set(), {calling})
                free.set()
                assert await holder, "the event loop stood still until the disk was free"
                await calling

    asyncio.run(story())


def test_exactly_one_of_many_moves_at_once_succeeds() -> None:
    database = SqliteFile(":memory:", RECORDS)
    jobs = JobRecords(database, "training_jobs", TrainingJob, lambda: 1.0)
    created = begun(TrainingJob, "job", "arn", {}, 0.0)
    jobs.add(created)
    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(lambda _: jobs.move(created, TrainingStage.DOWNLOADING), range(64))) == 1
    found = jobs.get("job")
    assert found is not None
    assert [past.stage for past in found.transitions] == [TrainingStage.STARTING, TrainingStage.DOWNLOADING]
    database.close()
