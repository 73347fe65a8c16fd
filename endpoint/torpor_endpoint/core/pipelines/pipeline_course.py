"""The course of an execution: which steps begin next, whatever the order in which others end."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from torpor_endpoint.core.pipelines.pipeline_definition import PipelineDefinition, PipelineStep


class StepStatus(StrEnum):
    """AWS's, of steps that have begun."""

    EXECUTING = "Executing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    STOPPED = "Stopped"


@dataclass(frozen=True)
class StepSeen:
    """A step that has begun. `outcome` is that of a condition that has succeeded."""

    status: StepStatus
    outcome: bool | None = None


@dataclass(frozen=True)
class Advance:
    """What comes next: these steps begin, in this order. `over` says that none runs, and none will."""

    begin: tuple[str, ...] = ()
    over: bool = False


def advance(definition: PipelineDefinition, seen: Mapping[str, StepSeen], parallel: int, stopping: bool) -> Advance:
    """What comes next. After a failed step, or once it is `stopping`, nothing begins."""
    running = sum(step.status is StepStatus.EXECUTING for step in seen.values())
    broken = any(step.status in (StepStatus.FAILED, StepStatus.STOPPED) for step in seen.values())
    if broken or stopping:
        return Advance(over=not running)
    ready = [step.name for step in definition.steps if step.name not in seen and _is_ready(definition, step, seen)]
    begin = tuple(ready[: max(parallel - running, 0)])
    return Advance(begin, over=not running and not begin)


def _is_ready(definition: PipelineDefinition, step: PipelineStep, seen: Mapping[str, StepSeen]) -> bool:
    if not _is_taken(definition, step, seen):
        return False
    return all(_is_done(definition, name, step, seen) for name in step.after)


def _is_taken(definition: PipelineDefinition, step: PipelineStep, seen: Mapping[str, StepSeen]) -> bool:
    """Whether the conditions around the step have the outcome of its branch."""
    if step.guard is None:
        return True
    outer = seen.get(step.guard.condition)
    return outer is not None and outer.status is StepStatus.SUCCEEDED and outer.outcome is step.guard.outcome


def _is_done(definition: PipelineDefinition, name: str, waiting: PipelineStep, seen: Mapping[str, StepSeen]) -> bool:
    """Whether the step has succeeded, and if it is a condition, its branch too; for the steps of that branch, which
    wait for the condition alone, not."""
    step = seen.get(name)
    if step is None or step.status is not StepStatus.SUCCEEDED:
        return False
    if waiting.guard is not None and waiting.guard.condition == name:
        return True
    inside = (one for one in definition.steps if one.guard is not None and one.guard.condition == name)
    return all(
        _is_done(definition, one.name, waiting, seen)
        for one in inside
        if one.guard is not None and one.guard.outcome is step.outcome
    )
