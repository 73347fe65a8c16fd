"""Runs one job through its stages, in a folder of its own that is removed afterwards."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from torpor_account.iam.execution.refused import RoleRefused
from torpor_account.s3.access.embedded import AsRole, Storage, StorageError, as_endpoint
from torpor_container.running.requirements import FILE, unmet
from torpor_endpoint.services.jobs.work import Failed, client_error, finished, unless
from torpor_endpoint.services.training.failure_reasons import algorithm_error
from torpor_endpoint.services.training.lifecycle import TrainingJob, TrainingStage
from torpor_endpoint.services.training.running.command import TrainingCommand, command
from torpor_endpoint.services.training.running.process import Ending, Fork, How, ScriptEnd, run, script
from torpor_endpoint.services.training.running.script_output import Output, log_path
from torpor_endpoint.services.training.running.toolkit import ToolkitFolders
from torpor_endpoint.services.training.running.transport import InputMissing, Transport, results

UNASSUMED = "SageMaker was unable to assume the role '{role}'"
"""AWS's FailureReason."""

RUNTIME_MAX_S = 86_400
"""MaxRuntimeInSeconds: "If not specified, the default value is 1 day"."""

END = {
    How.BY_ITSELF: TrainingStage.COMPLETED,
    How.TOO_LONG: TrainingStage.MAX_RUNTIME_EXCEEDED,
    How.STOPPED: TrainingStage.STOPPED,
}


JobCredentials = Callable[[str, str], AbstractAsyncContextManager[Mapping[str, str]]]
"""Lends a role's credentials to a job while its script runs: takes the ARNs of the role and of the job, and gives the
variables that lead to them. Raises RoleRefused."""


@asynccontextmanager
async def without_credentials(role: str, job: str) -> AsyncIterator[Mapping[str, str]]:
    """Lend nothing: roles are names only."""
    yield {}


@dataclass(frozen=True)
class TrainingSite:
    """What all jobs share. Each job has a folder of its name: below `folder` while it runs, and below `logs` for good.

    Every script gets the variables of `wiring` and its role's `credentials`, and inherits no variable that begins with
    one of `forgotten`. `as_role` makes of `storage` one that acts as the job's role.
    """

    folder: Path
    logs: Path
    storage: Storage
    fork: Fork
    wiring: Mapping[str, str]
    forgotten: tuple[str, ...]
    cpus: int
    clock: Callable[[], float]
    grace_s: float = 120.0
    as_role: AsRole = as_endpoint
    credentials: JobCredentials = without_credentials


class TrainingWork:
    def __init__(self, site: TrainingSite) -> None:
        self.writing: set[Path] = set()  # the logs of the scripts that run
        self._site = site

    async def run(
        self, job: TrainingJob, stop: asyncio.Event, entered: Callable[[StrEnum], Awaitable[object]]
    ) -> TrainingStage:
        """As `JobWork` has it."""
        await entered(TrainingStage.DOWNLOADING)
        transport = Transport(self._site.as_role(self._site.storage, job.request["RoleArn"], job.arn))
        async with self._folder(job.name) as layout:
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

    async def clear(self, name: str) -> None:
        """Remove what an interrupted job left, except its log."""
        await finished(shutil.rmtree, self._layout(name).root, ignore_errors=True)

    async def _run(self, job: TrainingJob, layout: ToolkitFolders, stop: asyncio.Event) -> ScriptEnd:
        role = job.request["RoleArn"]
        try:
            async with self._site.credentials(role, job.arn) as variables:
                return await self._run_with(job, layout, stop, {**self._site.wiring, **variables})
        except RoleRefused:
            raise Failed(client_error(UNASSUMED.format(role=role))) from None

    async def _run_with(
        self, job: TrainingJob, layout: ToolkitFolders, stop: asyncio.Event, wiring: Mapping[str, str]
    ) -> ScriptEnd:
        planned = command(job, layout, self._site.cpus, wiring)
        launch = layout.root / "launch.json"
        await finished(launch.write_text, planned.json())
        seconds = job.request.get("StoppingCondition", {}).get("MaxRuntimeInSeconds", RUNTIME_MAX_S)
        ending = Ending(stop, seconds, self._site.grace_s)
        path = log_path(self._site.logs, job.name, self._site.clock())
        self.writing.add(path)
        try:
            with Output(path) as output:
                output.write((await finished(_preamble, planned, layout)).encode())
                ended = await run(self._site.fork, script(launch, self._site.forgotten), output, ending)
        finally:
            self.writing.discard(path)
        if ended.how is How.BY_ITSELF and ended.code != 0:
            failure = await finished(_failure, layout)
            raise Failed(algorithm_error(planned, ended.code, output.last_line, failure))
        return ended

    async def _deliver(self, job: TrainingJob, layout: ToolkitFolders, transport: Transport) -> None:
        try:
            await transport.deliver(layout.model, f"{results(job)}/model.tar.gz")
            await transport.deliver(layout.output_files, f"{results(job)}/output.tar.gz")
        except (StorageError, OSError) as error:
            raise Failed(client_error(f"Artifact upload failed: {error}")) from error

    def _layout(self, name: str) -> ToolkitFolders:
        return ToolkitFolders(self._site.folder / name)

    @asynccontextmanager
    async def _folder(self, name: str) -> AsyncIterator[ToolkitFolders]:
        try:
            yield self._layout(name)
        finally:
            await self.clear(name)


def _preamble(planned: TrainingCommand, layout: ToolkitFolders) -> str:
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
