"""The records of pipelines and of their executions, and the table of an execution's stages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from torpor_endpoint.services.jobs.stages import JobKind, JobRecord


@dataclass(frozen=True)
class Pipeline:
    """One pipeline. `request` is that of CreatePipeline, with what UpdatePipeline changed, without tags; it has the
    definition as a text."""

    name: str
    arn: str
    created_s: float
    modified_s: float
    request: Mapping[str, Any]
    last_run_s: float | None = None


class ExecutionStage(StrEnum):
    """AWS shows a status only. `Waiting` waits for its turn."""

    WAITING = "Waiting"
    EXECUTING = "Executing"
    STOPPING = "Stopping"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    STOPPED = "Stopped"


STATUSES: dict[ExecutionStage, str] = {
    stage: "Executing" if stage is ExecutionStage.WAITING else stage.value for stage in ExecutionStage
}

_INTERRUPTED = frozenset({ExecutionStage.STOPPING, ExecutionStage.FAILED})

MOVES: dict[ExecutionStage, frozenset[ExecutionStage]] = {
    ExecutionStage.WAITING: _INTERRUPTED | {ExecutionStage.EXECUTING},
    ExecutionStage.EXECUTING: _INTERRUPTED | {ExecutionStage.SUCCEEDED},
    ExecutionStage.STOPPING: frozenset({ExecutionStage.STOPPED, ExecutionStage.FAILED}),
    ExecutionStage.SUCCEEDED: frozenset(),
    ExecutionStage.FAILED: frozenset(),
    ExecutionStage.STOPPED: frozenset(),
}


@dataclass(frozen=True)
class BegunStep:
    """One step that has begun. `status` is AWS's. `resource` is the name of its job or model, `properties` what the
    Describe operation showed once it had succeeded, and `outcome` that of a condition."""

    name: str
    began_s: float
    status: str = "Executing"
    ended_s: float | None = None
    tried: int = 1
    resource: str = ""
    arn: str = ""
    outcome: bool | None = None
    failure_reason: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        return self.ended_s is not None


@dataclass(frozen=True)
class PipelineExecution(JobRecord[ExecutionStage]):
    """One execution; its name is its id. `request` is that of StartPipelineExecution, with the pipeline's ARN, role
    and definition when it began. `steps` are in the order in which they began."""

    KIND: ClassVar[JobKind[ExecutionStage]] = JobKind(
        noun="pipeline execution",
        first=ExecutionStage.WAITING,
        stopping=ExecutionStage.STOPPING,
        stopped=ExecutionStage.STOPPED,
        failed=ExecutionStage.FAILED,
        statuses=STATUSES,
        moves=MOVES,
    )

    steps: tuple[BegunStep, ...] = field(default=())
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The value of each parameter, those by default too."""
