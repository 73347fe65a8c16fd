"""Runs one job through its stages, in a folder of its own that is removed afterwards."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from enum import StrEnum
from functools import partial

from torpor_account.s3.access.embedded import StorageError
from torpor_container.running.requirements import FILE, unmet
from torpor_endpoint.services.jobs.s3_inputs import InputMissing
from torpor_endpoint.services.jobs.scripts.script_command import ScriptCommand
from torpor_endpoint.services.jobs.scripts.script_process import How, ScriptEnd
from torpor_endpoint.services.jobs.scripts.script_runs import ScriptRuns, ScriptSite
from torpor_endpoint.services.jobs.work import Failed, client_error, finished, unless
from torpor_endpoint.services.training.failure_reasons import algorithm_error
from torpor_endpoint.services.training.lifecycle import TrainingJob, TrainingStage
from torpor_endpoint.services.training.running.command import command
from torpor_endpoint.services.training.running.toolkit import ToolkitFolders
from torpor_endpoint.services.training.running.transport import Transport, results

END = {
    How.BY_ITSELF: TrainingStage.COMPLETED,
    How.TOO_LONG: TrainingStage.MAX_RUNTIME_EXCEEDED,
    How.STOPPED: TrainingStage.STOPPED,
}


class TrainingWork:
    """`runs` are its scripts."""

    def __init__(self, site: ScriptSite) -> None:
        self.runs = ScriptRuns(site)
        self._site = site

    async def run(
        self, job: TrainingJob, stop: asyncio.Event, entered: Callable[[StrEnum], Awaitable[object]]
    ) -> TrainingStage:
        """As `JobWork` has it."""
        await entered(TrainingStage.DOWNLOADING)
        transport = Transport(self._site.as_role(self._site.storage, job.request["RoleArn"], job.arn))
        async with self._folder(job) as layout:
            try:
                await transport.check_output(job)
                await unless(stop, transport.bring(job, layout))
            except InputMissing as missing:
                raise Failed(client_error(missing)) from missing
            except StorageError as error:
                raise Failed(client_error(f"Artifact upload failed: {error}")) from error
            await entered(TrainingStage.TRAINING)
            ended = await self._run(job, layout, stop)
            await entered(TrainingStage.UPLOADING)
            await self._deliver(job, layout, transport)
        return TrainingStage.STOPPED if stop.is_set() else END[ended.how]

    def resumes(self, job: TrainingJob) -> bool:
        """Never: a script that was killed has lost what it knew."""
        return False

    async def clear(self, job: TrainingJob) -> None:
        """Remove what an interrupted job left, except its log."""
        await finished(shutil.rmtree, self._layout(job).root, ignore_errors=True)

    async def _run(self, job: TrainingJob, layout: ToolkitFolders, stop: asyncio.Event) -> ScriptEnd:
        async with self.runs.variables(job) as wiring:
            planned = command(job, layout, self._site.cpus, wiring)
            ended = await self.runs.run(job, planned, stop, partial(_preamble, planned, layout))
        if ended.end.how is How.BY_ITSELF and ended.end.code != 0:
            failure = await finished(_failure, layout)
            raise Failed(algorithm_error(planned, ended.end.code, ended.last_line, failure))
        return ended.end

    async def _deliver(self, job: TrainingJob, layout: ToolkitFolders, transport: Transport) -> None:
        try:
            await transport.deliver(layout.model, f"{results(job)}/model.tar.gz")
            await transport.deliver(layout.output_files, f"{results(job)}/output.tar.gz")
        except (StorageError, OSError) as error:
            raise Failed(client_error(f"Artifact upload failed: {error}")) from error

    def _layout(self, job: TrainingJob) -> ToolkitFolders:
        return ToolkitFolders(self._site.folder / job.name)

    @asynccontextmanager
    async def _folder(self, job: TrainingJob) -> AsyncIterator[ToolkitFolders]:
        try:
            yield self._layout(job)
        finally:
            await self.clear(job)


def _preamble(planned: ScriptCommand, layout: ToolkitFolders) -> str:
    """The first lines of a job's log, like the toolkit's."""
    text = f"Invoking script with the following command:\n\n{planned}\n\n"
    requirements = layout.code / FILE
    if not requirements.is_file():
        return text
    try:
        missing = ", ".join(map(str, unmet(requirements)))
    except (OSError, ValueError, LookupError) as error:
        missing = f"it cannot be read: {error}"
    if missing:
        return f"{FILE} is not installed: the script runs with the endpoint's own packages. Not met: {missing}.\n{text}"
    return text


def _failure(layout: ToolkitFolders) -> str:
    """ "SageMaker returns the first 1024 characters from this file as FailureReason" """
    try:
        with layout.failure.open(errors="replace") as file:
            return file.read(1024).strip()
    except OSError:
        return ""
