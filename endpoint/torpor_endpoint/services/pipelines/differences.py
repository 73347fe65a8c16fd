"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

_KNOWN = (
    "Knows the steps Processing, Training, Transform, Tuning, Model, RegisterModel, Condition and Fail, and the functions Get, Std:Join and Std:JsonGet "
    "(`docs/how-to/pipelines.md`). Refuses other steps, functions and members by name, and steps that wait for each other. Definitions come in the call, not by PipelineDefinitionS3Location. "
)

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreatePipeline": f"{_KNOWN}Steps are never taken from a cache.",
    "UpdatePipeline": f"{_KNOWN}There are no versions.",
    "DeletePipeline": "A pipeline with an execution that is not over is refused with ConflictException. Its executions go with it.",
    "StartPipelineExecution": "With `--auth` each step's operation needs the rights of the pipeline's role, and an execution may name another role only by iam:PassRole; with `--s3-endpoint` beside it, it is refused, since roles are names only there. After a step has failed, no other begins, "
    "and those that run go on. Refuses SelectiveExecutionConfig and versions.",
    "ListPipelineExecutionSteps": "The latest steps come first, unless SortOrder says otherwise.",
    "StopPipelineExecution": "Accepts an execution that is Stopping already, and does nothing.",
}
