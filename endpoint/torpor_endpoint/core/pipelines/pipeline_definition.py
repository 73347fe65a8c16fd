"""Reads the definition of a pipeline, and refuses by name what Torpor does not understand.

https://aws-sagemaker-mlops.github.io/sagemaker-model-building-pipeline-definition-JSON-schema/
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from math import inf
from typing import Any, Final, TypeVar

from torpor_container.typed_json import UnreadableRecord, read
from torpor_endpoint.core.pipelines.pipeline_conditions import check_conditions
from torpor_endpoint.core.pipelines.pipeline_members import (
    GivenBranches,
    GivenDefinition,
    GivenParameter,
    GivenPropertyFile,
    GivenRetryPolicy,
    GivenStep,
)
from torpor_endpoint.core.pipelines.pipeline_values import BadExpression, references
from torpor_endpoint.core.pipelines.step_retries import LIMITS

VERSIONS: Final = ("2020-12-01",)
STEP_TYPES: Final = (
    "Processing", "Training", "Transform", "Tuning", "Model", "RegisterModel", "Condition", "Fail",
)  # fmt: skip
PARAMETER_TYPES: Final = ("String", "Integer", "Float", "Boolean")
NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""AWS's pattern of the names of steps; paths refer to steps and parameters by it."""

G = TypeVar("G")


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
            raise self._refused(text) from None
        return self.checked(value)

    def checked(self, value: Any) -> Any:
        """This value. Raises BadDefinition for one of another type, or one that is not allowed."""
        if type(value) not in _TYPES[self.kind] or value in (inf, -inf) or value != value:
            raise self._refused(value)
        if self.allowed and value not in self.allowed:
            raise BadDefinition(f"The parameter {self.name} must be one of {', '.join(map(str, self.allowed))}.")
        return value

    def _refused(self, value: Any) -> BadDefinition:
        return BadDefinition(f"The parameter {self.name} must be of type {self.kind}: {value!r} is none.")


_READERS: Final[Mapping[str, Any]] = {
    "String": str,
    "Integer": int,
    "Float": float,
    "Boolean": lambda text: {"true": True, "false": False}[text.lower()],
}
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "String": (str,),
    "Integer": (int,),
    "Float": (float, int),
    "Boolean": (bool,),
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
    property_files: tuple[GivenPropertyFile, ...] = ()
    retries: tuple[GivenRetryPolicy, ...] = ()
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
        return _read(json.loads(text))
    except RecursionError:
        raise BadDefinition("PipelineDefinition must not be nested so deeply.") from None
    except json.JSONDecodeError:
        raise BadDefinition("PipelineDefinition must be JSON.") from None


def _read(values: object) -> PipelineDefinition:
    if not isinstance(values, Mapping) or not isinstance(values.get("Steps"), list) or not values["Steps"]:
        raise BadDefinition("PipelineDefinition must be an object with Steps.")
    if values.get("Version") not in VERSIONS:
        raise BadDefinition(f"PipelineDefinition: Version must be {VERSIONS[0]}.")
    given = _given(GivenDefinition, values, "PipelineDefinition")
    parameters = tuple(map(_parameter, given.get("Parameters") or ()))
    _check_names([one.name for one in parameters], "Parameters", "parameter")
    steps = tuple(_steps(given["Steps"], None))
    _check_names([one.name for one in steps], "Steps", "step")
    definition = PipelineDefinition(parameters, _related(steps, {one.name for one in parameters}))
    _check_order(definition.steps)
    return definition


def _parameter(values: Any) -> PipelineParameter:
    given = _given(GivenParameter, values, f"The parameter {_name_of(values)}")
    name, kind, default = given["Name"], given["Type"], given.get("DefaultValue")
    if kind not in PARAMETER_TYPES:
        raise BadDefinition(f"The parameter {name}: Type must be one of {', '.join(PARAMETER_TYPES)}.")
    parameter = PipelineParameter(name, kind, default, tuple(given.get("EnumValues", ())))
    if default is not None:
        parameter.checked(default)
    return parameter


def _steps(given: Sequence[Any], guard: Guard | None) -> Iterator[PipelineStep]:
    for one in given:
        step = _step(one, guard)
        yield step
        if step.kind == "Condition":
            yield from _steps(_branch(step, "IfSteps"), Guard(step.name, True))
            yield from _steps(_branch(step, "ElseSteps"), Guard(step.name, False))


def _branch(step: PipelineStep, name: str) -> Sequence[Any]:
    return step.arguments.get(name) or ()


def _step(values: Any, guard: Guard | None) -> PipelineStep:
    where = f"The step {_name_of(values)}"
    given = _given(GivenStep, values, where)
    kind, arguments = given["Type"], given["Arguments"]
    if kind not in STEP_TYPES:
        raise BadDefinition(f"{where}: Type {kind} is not supported by Torpor, which knows {', '.join(STEP_TYPES)}.")
    if kind == "Condition":
        _check_condition(_given(GivenBranches, arguments, where), where)
    return PipelineStep(
        given["Name"],
        kind,
        arguments,
        tuple(sorted(set(given.get("DependsOn", ())))),
        guard,
        tuple(given.get("PropertyFiles", ())),
        tuple(_policy(one, where) for one in given.get("RetryPolicies", ())),
        given.get("DisplayName"),
        given.get("Description"),
    )


def _check_condition(given: GivenBranches, where: str) -> None:
    if not given.get("Conditions"):
        raise BadDefinition(f"{where} must have Conditions.")
    try:
        check_conditions(given["Conditions"])
    except BadExpression as bad:
        raise BadDefinition(f"{where}: {bad}") from None


def _policy(given: GivenRetryPolicy, where: str) -> GivenRetryPolicy:
    for member, (least, most) in LIMITS.items():
        if not least <= given.get(member, least) <= most:
            raise BadDefinition(f"{where}: RetryPolicies: {member} must be from {least} to {most}.")
    return given


def _given(kind: type[G], values: Any, where: str) -> G:
    """The object with its members, of their types. Raises BadDefinition for others."""
    try:
        given = read(kind, values)
    except UnreadableRecord as wrong:
        raise BadDefinition(f"{where}: {str(wrong).partition(': ')[2]}.") from None
    for name in sorted(set(values) - set(kind.__annotations__)):
        raise BadDefinition(f"{where}: {name} is not supported by Torpor.")
    return given


def _name_of(values: Any) -> str:
    return str(values.get("Name", "without a Name")) if isinstance(values, Mapping) else repr(values)


def _check_names(names: Sequence[str], where: str, what: str) -> None:
    for at, name in enumerate(names):
        if NAME.fullmatch(name) is None:
            raise BadDefinition(f"{where}: the Name {name!r} must be 1 to 64 letters, digits, hyphens or underscores.")
        if name in names[:at]:
            raise BadDefinition(f"{where}: the name {name} must be given to one {what}.")


def _related(steps: Sequence[PipelineStep], parameters: set[str]) -> tuple[PipelineStep, ...]:
    """The steps, each after all that it refers to."""
    names = {step.name for step in steps}
    related = []
    for step in steps:
        own = {name: value for name, value in step.arguments.items() if name not in ("IfSteps", "ElseSteps")}
        try:
            of_steps, of_parameters = references(own)
        except BadExpression as bad:
            raise BadDefinition(f"The step {step.name}: {bad}") from None
        after = {*step.after, *of_steps}
        for name in sorted(after - names):
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
