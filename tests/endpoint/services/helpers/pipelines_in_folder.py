"""Executions of pipelines in a folder: real records and files, and a SageMaker that keeps what it is asked for."""

import asyncio
import inspect
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.helpers.waiting import PATIENCE_S
from torpor_account.aws.calls import Call
from torpor_account.aws.errors import AwsError
from torpor_account.s3.access.embedded import EmbeddedStorage, as_endpoint
from torpor_account.s3.object_store import ObjectStore
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_account.storage.record_table import RecordTable
from torpor_endpoint.services.jobs.job_queue import JobQueue
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.pipelines import execution_operations, pipeline_operations
from torpor_endpoint.services.pipelines.pipeline_operations import Pipelines
from torpor_endpoint.services.pipelines.pipeline_records import Pipeline, PipelineExecution
from torpor_endpoint.services.pipelines.running.execution_work import ExecutionWork
from torpor_endpoint.services.pipelines.running.sagemaker_calls import CallRefused
from torpor_endpoint.services.pipelines.running.step_running import StepSite
from torpor_endpoint.storage.schema import RECORDS

OPERATIONS = {**pipeline_operations.OPERATIONS, **execution_operations.OPERATIONS}
ROLE = "arn:aws:iam::123456789012:role/pipelines"
Ending = Callable[[str, dict[str, Any]], dict[str, Any]]


def completed(name: str, request: dict[str, Any]) -> dict[str, Any]:
    return {"TrainingJobStatus": "Completed"}


@dataclass
class KeptSageMaker:
    """Keeps training jobs, models and packages. A job ends as `ending` says, once `go` lets it."""

    ending: Ending = completed
    held: bool = False
    """Whether jobs run until they are stopped."""
    kept: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    stopped: dict[str, asyncio.Event] = field(default_factory=dict)

    async def __call__(self, operation: str, region: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append((operation, dict(params)))
        kind, name = operation, str(next((value for key, value in params.items() if key.endswith("Name")), ""))
        if kind.startswith("Create"):
            arn = f"arn:aws:sagemaker:{region}:123456789012:{kind.removeprefix('Create')}/{name.lower()}"
            self.kept[name] = {**params, "TrainingJobArn": arn, "ModelArn": arn, "ModelPackageArn": name}
            self.stopped[name] = asyncio.Event()
            return self.kept[name]
        if name not in self.kept:
            raise CallRefused("ValidationException", f"there is no {name}", 400)
        if kind == "StopTrainingJob":
            self.kept[name]["TrainingJobStatus"] = "Stopped"
            self.stopped[name].set()
        return self.kept[name]

    async def ended(self, name: str) -> None:
        if self.held:
            await self.stopped[name].wait()
        else:
            self.kept[name].update(self.ending(name, self.kept[name]))

    def created(self) -> list[str]:
        return [params["TrainingJobName"] for operation, params in self.asked if operation == "CreateTrainingJob"]


@dataclass(frozen=True)
class PipelinesApi:
    pipelines: Pipelines
    sagemaker: KeptSageMaker

    async def __call__(self, operation: str, **params: Any) -> Any:
        call = Call(operation, params, "us-east-1", "123456789012", "id")
        answer = OPERATIONS[operation](self.pipelines, call)
        return await answer if inspect.isawaitable(answer) else answer

    async def refusal(self, operation: str, **params: Any) -> tuple[str, str]:
        """The code and the message of a refused call."""
        try:
            await self(operation, **params)
        except AwsError as error:
            return error.code, error.message
        raise AssertionError(f"{operation} was not refused")

    async def create(self, *steps: Any, name: str = "p", **members: Any) -> None:
        text = json.dumps({"Version": "2020-12-01", "Steps": steps, **members})
        await self("CreatePipeline", PipelineName=name, PipelineDefinition=text, RoleArn=ROLE)

    async def start(self, token: str = "a", **params: Any) -> str:
        started = await self("StartPipelineExecution", PipelineName="p", ClientRequestToken=token, **params)
        await asyncio.sleep(0)  # the queue begins it on the loop
        return str(started["PipelineExecutionArn"])

    async def ended(self, arn: str) -> Any:
        """DescribePipelineExecution's answer once the execution is over."""
        await asyncio.wait_for(self.pipelines.queue.ended(arn.rpartition("/")[2]), PATIENCE_S)
        return await self("DescribePipelineExecution", PipelineExecutionArn=arn)

    async def steps(self, arn: str) -> dict[str, Any]:
        """The steps that began, in that order, by name."""
        listed = await self("ListPipelineExecutionSteps", PipelineExecutionArn=arn, SortOrder="Ascending")
        return {step["StepName"]: step for step in listed["PipelineExecutionSteps"]}


@asynccontextmanager
async def open_pipelines(folder: Path, sagemaker: KeptSageMaker) -> AsyncIterator[PipelinesApi]:
    """One life of the endpoint."""
    (folder / "s3/bucket").mkdir(parents=True, exist_ok=True)
    database, objects = SqliteFile(folder / "torpor.sqlite", RECORDS), ObjectStore(folder / "s3")
    records = JobRecords(database, "pipeline_executions", PipelineExecution, time.time)
    storage, ended = EmbeddedStorage(objects), {"Training": sagemaker.ended}
    work = ExecutionWork(
        records, lambda note: StepSite(lambda execution: sagemaker, ended, storage, as_endpoint, time.time, note)
    )
    queue = JobQueue(records, work, 9)
    await queue.start()
    try:
        table = RecordTable(database, "pipelines", Pipeline)
        yield PipelinesApi(
            Pipelines(table, records, queue, lambda arn, tags: None, lambda arn: None, time.time), sagemaker
        )
    finally:
        await queue.close()
        objects.close()
        database.close()
