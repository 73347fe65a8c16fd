"""Runs the scripts of jobs of one kind: as the job's role, with its log, to the end of the script."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from torpor_account.iam.execution.refused import RoleRefused
from torpor_account.s3.access.embedded import AsRole, Storage, as_endpoint
from torpor_endpoint.services.jobs.scripts.script_command import ScriptCommand
from torpor_endpoint.services.jobs.scripts.script_output import Output, log_path
from torpor_endpoint.services.jobs.scripts.script_process import Ending, Fork, ScriptEnd, run, script
from torpor_endpoint.services.jobs.stages import JobRecord
from torpor_endpoint.services.jobs.work import Failed, client_error, finished

UNASSUMED = "SageMaker was unable to assume the role '{role}'"
"""AWS's FailureReason."""

RUNTIME_MAX_S = 86_400
"""MaxRuntimeInSeconds: "If not specified, the default value is 1 day"."""

JobCredentials = Callable[[str, str], AbstractAsyncContextManager[Mapping[str, str]]]
"""Lends a role's credentials to a job while its script runs: takes the ARNs of the role and of the job, and gives the
variables that lead to them. Raises RoleRefused."""


@asynccontextmanager
async def without_credentials(role: str, job: str) -> AsyncIterator[Mapping[str, str]]:
    """Lend nothing: roles are names only."""
    yield {}


@dataclass(frozen=True)
class ScriptSite:
    """What all jobs of one kind share. Each job has a folder of its name: below `folder` while it runs, and below
    `logs` for good.

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


class EndedScript(NamedTuple):
    """How a script ended, and the last line that it printed."""

    end: ScriptEnd
    last_line: str


class ScriptRuns:
    """`writing` has the logs of the scripts that run."""

    def __init__(self, site: ScriptSite) -> None:
        self.writing: set[Path] = set()
        self._site = site

    @asynccontextmanager
    async def variables(self, job: JobRecord[Any]) -> AsyncIterator[Mapping[str, str]]:
        """What leads the job's script to this endpoint as the job's role. Raises Failed."""
        role = job.request["RoleArn"]
        try:
            async with self._site.credentials(role, job.arn) as lent:
                yield {**self._site.wiring, **lent}
        except RoleRefused:
            raise Failed(client_error(UNASSUMED.format(role=role))) from None

    async def run(
        self, job: JobRecord[Any], command: ScriptCommand, stop: asyncio.Event, preamble: Callable[[], str]
    ) -> EndedScript:
        """Run the command to its end. `preamble` gives the first lines of the log; it may wait for the disk."""
        launch = command.opt_ml / "launch.json"
        await finished(launch.write_text, command.json())
        seconds = job.request.get("StoppingCondition", {}).get("MaxRuntimeInSeconds", RUNTIME_MAX_S)
        ending = Ending(stop, seconds, self._site.grace_s)
        path = log_path(self._site.logs, job.name, self._site.clock())
        self.writing.add(path)
        try:
            with Output(path) as output:
                output.write((await finished(preamble)).encode())
                end = await run(self._site.fork, script(launch, self._site.forgotten), output, ending)
        finally:
            self.writing.discard(path)
        return EndedScript(end, output.last_line)
