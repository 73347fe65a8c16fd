"""Runs one processing job through its stages, in a folder of its own that is removed afterwards."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path

from torpor_account.s3.access.embedded import Storage, StorageError
from torpor_account.storage.outage_log import OutageLog
from torpor_endpoint.services.jobs.s3_inputs import InputMissing, fetched, split
from torpor_endpoint.services.jobs.scripts.script_command import ScriptCommand
from torpor_endpoint.services.jobs.scripts.script_process import How
from torpor_endpoint.services.jobs.scripts.script_runs import EndedScript, ScriptRuns, ScriptSite
from torpor_endpoint.services.jobs.work import Failed, client_error, finished, outlasting, unless
from torpor_endpoint.services.processing.lifecycle import ProcessingJob, ProcessingStage
from torpor_endpoint.services.processing.running.processing_command import command
from torpor_endpoint.services.processing.running.processing_folders import ProcessingFolders

UNDELIVERED = OutageLog("outputs of processing jobs wait to be written", "outputs of processing jobs are written again")
TRIED = "output"
"""The key below an output's prefix for which the role is asked before the job runs. Nothing is written to it."""


class ProcessingWork:
    """`runs` are its scripts. `said` is called, in a thread, with a job and what its script left as its
    ExitMessage. `analyzer` is the module that stands for Model Monitor's image; None where there is none."""

    def __init__(
        self, site: ScriptSite, said: Callable[[ProcessingJob, str], object], analyzer: str | None = None
    ) -> None:
        self.runs = ScriptRuns(site)
        self._site = site
        self._said = said
        self._analyzer = analyzer

    async def run(
        self, job: ProcessingJob, stop: asyncio.Event, entered: Callable[[StrEnum], Awaitable[object]]
    ) -> ProcessingStage:
        """Run the job, and return its final stage. Call `entered` at each stage before. Raises Stopped, Failed."""
        await entered(ProcessingStage.DOWNLOADING)
        storage = self._site.as_role(self._site.storage, job.request["RoleArn"], job.arn)
        async with self._folders(job) as folders:
            await self._prepare(job, folders, storage, stop)
            await entered(ProcessingStage.PROCESSING)
            ended = await self._run(job, folders, stop)
            if message := await finished(folders.message):
                await finished(self._said, job, message)
            if stop.is_set() or ended.end.how is How.STOPPED:
                return ProcessingStage.STOPPED
            if ended.end.how is How.TOO_LONG:
                return ProcessingStage.RAN_TOO_LONG
            if ended.end.code != 0:
                raise Failed(_reason(ended))
            await entered(ProcessingStage.UPLOADING)
            await _deliver(job, folders, storage)
        return ProcessingStage.COMPLETED

    def resumes(self, job: ProcessingJob) -> bool:
        """Never: a script that was killed has lost what it knew."""
        return False

    async def clear(self, job: ProcessingJob) -> None:
        """Remove what an interrupted job left, except its log."""
        await finished(shutil.rmtree, self._site.folder / job.name, ignore_errors=True)

    async def _prepare(
        self, job: ProcessingJob, folders: ProcessingFolders, storage: Storage, stop: asyncio.Event
    ) -> None:
        try:
            for output in _outputs(job):  # better now than after the work
                bucket, prefix = split(output["S3Uri"])
                await finished(storage.check, bucket)
                await finished(storage.check_writable, bucket, f"{prefix.rstrip('/')}/{TRIED}".lstrip("/"))
        except StorageError as error:
            raise Failed(client_error(f"Output upload failed: {error}")) from error
        try:
            await unless(stop, _bring(job, folders, storage))
        except (InputMissing, StorageError, OSError) as error:
            raise Failed(client_error(f"Data download failed: {error}")) from error

    async def _run(self, job: ProcessingJob, folders: ProcessingFolders, stop: asyncio.Event) -> EndedScript:
        async with self.runs.variables(job) as wiring:
            planned = command(job, folders, wiring, self._analyzer)
            return await self.runs.run(job, planned, stop, lambda: _preamble(planned))

    @asynccontextmanager
    async def _folders(self, job: ProcessingJob) -> AsyncIterator[ProcessingFolders]:
        try:
            yield ProcessingFolders(self._site.folder / job.name)
        finally:
            await self.clear(job)


def _outputs(job: ProcessingJob) -> list[dict[str, str]]:
    return [one["S3Output"] for one in job.request.get("ProcessingOutputConfig", {}).get("Outputs", ())]


async def _bring(job: ProcessingJob, folders: ProcessingFolders, storage: Storage) -> None:
    await finished(folders.make, job)
    for given in job.request.get("ProcessingInputs", ()):
        await fetched(storage, given["S3Input"]["S3Uri"], folders.place(given["S3Input"]["LocalPath"]))


async def _deliver(job: ProcessingJob, folders: ProcessingFolders, storage: Storage) -> None:
    """Put the files of each output to S3. While the machine fails, it waits: the work is not done twice."""
    try:
        for output in _outputs(job):
            folder, (bucket, prefix) = folders.place(output["LocalPath"]), split(output["S3Uri"].rstrip("/"))
            for file in await outlasting(UNDELIVERED, partial(finished, _files, folder)):
                key = "/".join(part for part in (prefix, file.relative_to(folder).as_posix()) if part)
                await outlasting(UNDELIVERED, partial(finished, storage.put, file, bucket, key))
    except (StorageError, OSError) as error:
        raise Failed(client_error(f"Output upload failed: {error}")) from error


def _files(folder: Path) -> list[Path]:
    """The files of an output, without links: what these lead to is not the job's to give away."""
    found = (path for path in folder.rglob("*") if not path.is_symlink() and path.is_file())
    return sorted(path for path in found if path.resolve().is_relative_to(folder.resolve()))


def _reason(ended: EndedScript) -> str:
    """AWS's words, with what the log says last."""
    text = f"AlgorithmError: See job logs for more information, exit code: {ended.end.code}"
    return f'{text}. Last line: "{ended.last_line}"' if ended.last_line else text


def _preamble(planned: ScriptCommand) -> str:
    """The first lines of a job's log."""
    return f"Running the following command:\n\n{planned}\n\n"
