"""Runs one step of an execution to its end, as often as its retry policies say."""

import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from torpor_account.s3.access.embedded import AsRole, Storage, StorageError
from torpor_endpoint.core.pipelines.pipeline_conditions import all_hold
from torpor_endpoint.core.pipelines.pipeline_definition import PipelineDefinition, PipelineStep
from torpor_endpoint.core.pipelines.pipeline_members import GivenPropertyFile
from torpor_endpoint.core.pipelines.pipeline_values import BadExpression, ValueScope, evaluated, files_of
from torpor_endpoint.core.pipelines.step_retries import StepFault, retry_after_s
from torpor_endpoint.services.jobs.s3_inputs import split
from torpor_endpoint.services.jobs.work import finished
from torpor_endpoint.services.pipelines.pipeline_records import BegunStep, PipelineExecution
from torpor_endpoint.services.pipelines.running.sagemaker_calls import CallRefused
from torpor_endpoint.services.pipelines.running.step_actions import ACTIONS, StepAction, properties_of, resource_name

FILE_MAX_BYTES = 8 << 20
SUCCEEDED = ("Completed",)

Calls = Callable[[str, str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Calls an operation: takes its name, the region, and the members. Raises CallRefused."""


NoteStep = Callable[[PipelineExecution, BegunStep], Awaitable[None]]
"""Records a step of the execution of this name."""


@dataclass(frozen=True)
class StepSite:
    """What all steps share. `calls` calls operations as the role of an execution; `ended` waits for a job by the type
    of its step and its name; `note` records a step."""

    calls: Callable[[PipelineExecution], Calls]
    ended: Mapping[str, Callable[[str], Awaitable[None]]]
    storage: Storage
    as_role: AsRole
    clock: Callable[[], float]
    note: NoteStep


class StepFailed(Exception):
    """The step failed. The text is its FailureReason."""

    def __init__(self, reason: str, fault: StepFault | None = None) -> None:
        super().__init__(reason)
        self.fault = fault


class StepStopped(Exception):
    """The job of the step was stopped."""


class StepRun:
    """One step. `record` is what is recorded of it."""

    def __init__(self, site: StepSite, execution: PipelineExecution, step: PipelineStep, record: BegunStep) -> None:
        self.record = record
        self._site = site
        self._calls = site.calls(execution)
        self._execution = execution
        self._step = step
        self._region = execution.arn.split(":")[3]
        self._stopping = False

    async def run(self, scope: ValueScope) -> BegunStep:
        """The record of the step once it is over."""
        try:
            await self._done(scope)
            status, reason = "Succeeded", None
        except StepStopped:
            status, reason = "Stopped", None
        except (StepFailed, BadExpression, StorageError) as failed:
            status, reason = "Failed", str(failed)[:1024]
        return replace(self.record, status=status, failure_reason=reason, ended_s=self._site.clock())

    async def stop(self) -> None:
        """Stop the step's job, if it has one that runs, or as soon as it has."""
        self._stopping = True
        action = ACTIONS.get(self._step.kind)
        if action is not None and action.is_job and self.record.arn:
            with suppress(CallRefused):  # it is over
                await self._calls(action.stop, self._region, {action.named: self.record.resource})

    async def _done(self, scope: ValueScope) -> None:
        given = {name: one for name, one in self._step.arguments.items() if name not in ("IfSteps", "ElseSteps")}
        scope = replace(scope, files=await self._files(files_of(given, scope)))
        values = evaluated(given, scope)
        if self._step.kind == "Condition":
            self.record = replace(self.record, outcome=all_hold(values["Conditions"]))
        elif self._step.kind == "Fail":
            raise StepFailed(str(values.get("ErrorMessage", "")))
        else:
            await self._called(ACTIONS[self._step.kind], values)

    async def _called(self, action: StepAction, values: dict[str, Any]) -> None:
        while True:
            try:
                return await self._tried(action, values)
            except StepFailed as failed:
                tried, elapsed_s = self.record.tried, self._site.clock() - self.record.began_s
                pause_s = retry_after_s(self._step.retries, failed.fault, tried, elapsed_s)
                if pause_s is None or self._stopping:
                    raise
                self.record = replace(self.record, tried=tried + 1, resource="", arn="")
                await self._site.note(self._execution, self.record)
                await asyncio.sleep(pause_s)

    async def _tried(self, action: StepAction, values: dict[str, Any]) -> None:
        name = resource_name(action, self._execution.name, self._step.name, self.record.tried)
        try:
            described = await self._begun(action, name, values)
            if action.is_job:
                await self._site.ended[self._step.kind](name)
                described = await self._described(action)
        except CallRefused as refused:
            raise StepFailed(f"ClientError: {refused}", StepFault.SERVICE if refused.is_services else None) from None
        status = described.get(action.status)
        if status == "Stopped":
            raise StepStopped
        if action.is_job and status not in SUCCEEDED:
            reason = str(described.get("FailureReason") or f"The job ended with status {status}.")
            raise StepFailed(reason, StepFault.JOB if reason.startswith("InternalServerError") else None)
        trials = await self._trials(name) if self._step.kind == "Tuning" else ()
        self.record = replace(self.record, properties=properties_of(self._step.kind, described, trials))

    async def _begun(self, action: StepAction, name: str, values: dict[str, Any]) -> dict[str, Any]:
        """Create the resource, unless a life of the endpoint before has created it."""
        if not self.record.arn:
            answer = await self._created(action, name, values)
            self.record = replace(self.record, resource=name, arn=answer[action.arn])
            await self._site.note(self._execution, self.record)
            if self._stopping:
                await self.stop()
        return await self._described(action)

    async def _created(self, action: StepAction, name: str, values: dict[str, Any]) -> dict[str, Any]:
        if self._step.kind == "RegisterModel":
            return await self._registered(action, values)
        try:
            return await self._calls(action.describe, self._region, {action.named: name})
        except CallRefused:
            return await self._calls(action.create, self._region, {**values, action.named: name})

    async def _registered(self, action: StepAction, values: dict[str, Any]) -> dict[str, Any]:
        """Register a version of a group, which comes to be with its first version, as on AWS."""
        group = values.get("ModelPackageGroupName")
        if group is not None:
            try:
                await self._calls("DescribeModelPackageGroup", self._region, {"ModelPackageGroupName": group})
            except CallRefused:
                await self._calls("CreateModelPackageGroup", self._region, {"ModelPackageGroupName": group})
        return await self._calls(action.create, self._region, values)

    async def _described(self, action: StepAction) -> dict[str, Any]:
        by = self.record.arn if self._step.kind == "RegisterModel" else self.record.resource
        return await self._calls(action.describe, self._region, {action.named: by})

    async def _trials(self, name: str) -> Any:
        job = await self._calls(ACTIONS["Tuning"].describe, self._region, {"HyperParameterTuningJobName": name})
        objective = job["HyperParameterTuningJobConfig"]["HyperParameterTuningJobObjective"]["Type"]
        order = "Descending" if objective == "Maximize" else "Ascending"
        params = {"HyperParameterTuningJobName": name, "SortBy": "FinalObjectiveMetricValue", "SortOrder": order}
        listed = await self._calls("ListTrainingJobsForHyperParameterTuningJob", self._region, params)
        return listed["TrainingJobSummaries"]

    async def _files(self, addresses: tuple[str, ...]) -> dict[str, Any]:
        role = self._execution.request["RoleArn"]
        storage = self._site.as_role(self._site.storage, role, self._execution.request["PipelineArn"])
        return {address: await finished(_json_at, storage, address) for address in addresses}


def scope_of(
    execution: PipelineExecution, definition: PipelineDefinition, steps: Mapping[str, BegunStep], now_s: float
) -> ValueScope:
    """What the values of the next step may refer to."""
    pipeline = execution.request["PipelineArn"]
    known = {
        "PipelineName": execution.request["PipelineName"],
        "PipelineArn": pipeline,
        "PipelineExecutionId": execution.name,
        "PipelineExecutionArn": execution.arn,
        "StartDateTime": _date(execution.created_s),
        "CurrentDateTime": _date(now_s),
    }
    done = {name: step.properties for name, step in steps.items() if step.status == "Succeeded"}
    files = {
        (step.name, one["PropertyFileName"]): _file_address(done[step.name], one)
        for step in definition.steps
        if step.name in done
        for one in step.property_files
    }
    return ValueScope(execution.parameters, known, done, files)


def _file_address(properties: Mapping[str, Any], file: GivenPropertyFile) -> str:
    outputs = properties.get("ProcessingOutputConfig", {}).get("Outputs", ())
    address = next((one["S3Output"]["S3Uri"] for one in outputs if one["OutputName"] == file["OutputName"]), "")
    return f"{address.rstrip('/')}/{file['FilePath']}"


def _date(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _json_at(storage: Storage, address: str) -> Any:
    """The JSON of a file in S3. Raises BadExpression, StorageError."""
    if not address.startswith("s3://"):
        raise BadExpression(f"Std:JsonGet: {address} must be an s3:// address.")
    bucket, key = split(address)
    if storage.head(bucket, key).size_bytes > FILE_MAX_BYTES:
        raise BadExpression(f"Std:JsonGet: {address} is larger than {FILE_MAX_BYTES >> 20} MiB.")
    with tempfile.TemporaryDirectory() as folder:
        storage.fetch(bucket, key, Path(folder, "file"))
        try:
            return json.loads(Path(folder, "file").read_bytes())
        except (ValueError, RecursionError):
            raise BadExpression(f"Std:JsonGet: {address} is no JSON.") from None
