"""Reads the definition of a pipeline, and refuses by name what Torpor does not understand.

https://aws-sagemaker-mlops.github.io/sagemaker-model-building-pipeline-definition-JSON-schema/
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from torpor_endpoint.core.pipelines.pipeline_values import BadExpression, references

VERSIONS: Final = ("2020-12-01",)
STEP_TYPES: Final = (
    "Processing", "Training", "Transform", "Tuning", "Model", "RegisterModel", "Condition", "Fail",
)  # fmt: skip
PARAMETER_TYPES: Final = ("String", "Integer", "Float", "Boolean")
STEP_MEMBERS: Final = frozenset(
    (
        "Name", "Type", "Arguments", "DependsOn", "DisplayName", "Description", "PropertyFiles", "RetryPolicies",
        "CacheConfig",
    )
)  # fmt: skip
TOP_MEMBERS: Final = frozenset(("Version", "Metadata", "Parameters", "PipelineExperimentConfig", "Steps"))


class BadDefinition(ValueError):
    """A definition that cannot be run. The text says where, and why."""


@dataclass(frozen=True)
class PipelineParameter:
    """One parameter. `default` is None for one that an execution must be given."""

    name: str
    kind: str
    default: Any
    allowed: tuple[Any, ...] = ()

    def read(self, text: str) -> Any:
        """The value of a text. Raises BadDefinition for one of another type, or one that is not allowed."""
        try:
            value = _READERS[self.kind](text)
        except (ValueError, KeyError):
            raise BadDefinition(f"The parameter {self.name} must be of type {self.kind}: {text!r} is none.") from None
        if self.allowed and value not in self.allowed:
            raise BadDefinition(f"The parameter {self.name} must be one of {', '.join(map(str, self.allowed))}.")
        return value


_READERS: Final[Mapping[str, Any]] = {
    "String": str,
    "Integer": int,
    "Float": float,
    "Boolean": lambda text: {"true": True, "false": False}[text.lower()],
}


@dataclass(frozen=True)
class Guard:
    """The branch of a condition that a step is in."""

    condition: str
    outcome: bool


@dataclass(frozen=True)
class PipelineStep:
    """One step. `after` are the steps that must have succeeded before it, in order of their names."""

    name: str
    kind: str
    arguments: Mapping[str, Any]
    after: tuple[str, ...] = ()
    guard: Guard | None = None
    property_files: tuple[Mapping[str, str], ...] = ()
    retries: tuple[Mapping[str, Any], ...] = ()
    display_name: str | None = None
    description: str | None = None


@dataclass(frozen=True)
class PipelineDefinition:
    """One definition. `steps` has those of branches after their conditions."""

    parameters: tuple[PipelineParameter, ...]
    steps: tuple[PipelineStep, ...]

    def step(self, name: str) -> PipelineStep:
        return next(step for step in self.steps if step.name == name)


def read_definition(text: str) -> PipelineDefinition:
    """The definition in this text. Raises BadDefinition."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise BadDefinition("PipelineDefinition must be JSON.") from None
    if not isinstance(given, Mapping) or not isinstance(given.get("Steps"), list) or not given["Steps"]:
        raise BadDefinition("PipelineDefinition must be an object with Steps.")
    if given.get("Version") not in VERSIONS:
        raise BadDefinition(f"PipelineDefinition: Version must be {VERSIONS[0]}.")
    _check_members(given, TOP_MEMBERS, "PipelineDefinition")
    parameters = tuple(map(_parameter, given.get("Parameters", ())))
    steps = tuple(_steps(given["Steps"], None))
    definition = PipelineDefinition(parameters, _related(steps, {one.name for one in parameters}))
    _check_order(definition.steps)
    return definition


def _parameter(given: Any) -> PipelineParameter:
    try:
        name, kind = given["Name"], given["Type"]
    except (TypeError, KeyError):
        raise BadDefinition("Parameters: each must have a Name and a Type.") from None
    if kind not in PARAMETER_TYPES:
        raise BadDefinition(f"The parameter {name}: Type must be one of {', '.join(PARAMETER_TYPES)}.")
    _check_members(given, {"Name", "Type", "DefaultValue", "EnumValues"}, f"The parameter {name}")
    return PipelineParameter(name, kind, given.get("DefaultValue"), tuple(given.get("EnumValues", ())))


def _steps(given: Sequence[Any], guard: Guard | None) -> Iterator[PipelineStep]:
    for one in given:
        step = _step(one, guard)
        yield step
        if step.kind == "Condition":
            yield from _steps(_branch(step, "IfSteps"), Guard(step.name, True))
            yield from _steps(_branch(step, "ElseSteps"), Guard(step.name, False))


def _branch(step: PipelineStep, name: str) -> Sequence[Any]:
    steps = step.arguments.get(name) or []
    if not isinstance(steps, list):
        raise BadDefinition(f"The step {step.name}: {name} must be a list.")
    return steps


def _step(given: Any, guard: Guard | None) -> PipelineStep:
    try:
        name, kind, arguments = str(given["Name"]), given["Type"], given["Arguments"]
    except (TypeError, KeyError):
        raise BadDefinition("Steps: each must have a Name, a Type and Arguments.") from None
    if kind not in STEP_TYPES:
        raise BadDefinition(
            f"The step {name}: Type {kind} is not supported by Torpor, which knows {', '.join(STEP_TYPES)}."
        )
    _check_members(given, STEP_MEMBERS, f"The step {name}")
    if not isinstance(arguments, Mapping):
        raise BadDefinition(f"The step {name}: Arguments must be an object.")
    return PipelineStep(
        name,
        kind,
        arguments,
        tuple(sorted(set(given.get("DependsOn", ())))),
        guard,
        tuple(given.get("PropertyFiles", ())),
        tuple(given.get("RetryPolicies", ())),
        given.get("DisplayName"),
        given.get("Description"),
    )


def _related(steps: Sequence[PipelineStep], parameters: set[str]) -> tuple[PipelineStep, ...]:
    """The steps, each after all that it refers to."""
    names = [step.name for step in steps]
    if repeated := [name for at, name in enumerate(names) if name in names[:at]]:
        raise BadDefinition(f"Steps: the name {repeated[0]} must be given to one step.")
    related = []
    for step in steps:
        own = {name: value for name, value in step.arguments.items() if name not in ("IfSteps", "ElseSteps")}
        try:
            of_steps, of_parameters = references(own)
        except BadExpression as bad:
            raise BadDefinition(f"The step {step.name}: {bad}") from None
        after = {*step.after, *of_steps}
        for name in sorted(after - set(names)):
            raise BadDefinition(f"The step {step.name} depends on {name}, which is no step of the pipeline.")
        for name in sorted(of_parameters - parameters):
            raise BadDefinition(f"The step {step.name} refers to {name}, which is no parameter of the pipeline.")
        related.append(replace(step, after=tuple(sorted(after))))
    return tuple(related)


def _check_order(steps: Sequence[PipelineStep]) -> None:
    """Raises BadDefinition for steps that wait for each other."""
    before = {step.name: {*step.after, *([step.guard.condition] if step.guard else [])} for step in steps}
    for step in steps:  # whoever waits for a condition waits for its branches
        for name in list(before[step.name]):
            inside = {one.name for one in steps if one.guard and one.guard.condition == name}
            if step.guard is None or step.guard.condition != name:
                before[step.name] |= inside
    try:
        TopologicalSorter(before).prepare()
    except CycleError as cycle:
        raise BadDefinition(f"Steps wait for each other in a circle: {' → '.join(cycle.args[1])}.") from None


def _check_members(given: Mapping[str, Any], known: Sequence[str] | frozenset[str] | set[str], where: str) -> None:
    for name in sorted(set(given) - set(known)):
        raise BadDefinition(f"{where}: {name} is not supported by Torpor.")
