"""Definitions of pipelines: what is read, and what is refused by name."""

import json
import re
from typing import Any

import pytest

from torpor_endpoint.core.pipelines.pipeline_definition import (
    BadDefinition,
    Guard,
    PipelineParameter,
    read_definition,
)


def step(name: str, kind: str = "Training", arguments: Any = None, **members: Any) -> dict[str, Any]:
    return {"Name": name, "Type": kind, "Arguments": arguments or {}, **members}


def condition(name: str, yes: list[Any], no: list[Any], value: Any = 1, **members: Any) -> dict[str, Any]:
    conditions = [{"Type": "Equals", "LeftValue": value, "RightValue": 1}]
    return step(name, "Condition", {"Conditions": conditions, "IfSteps": yes, "ElseSteps": no}, **members)


def definition(*steps: Any, **members: Any) -> str:
    return json.dumps({"Version": "2020-12-01", "Steps": steps, **members})


GET = {"Get": "Steps.a.ModelArtifacts.S3ModelArtifacts"}


def test_a_step_comes_after_those_that_it_names_and_those_that_its_values_name() -> None:
    read = read_definition(definition(step("a"), step("b"), step("c", arguments={"x": [GET]}, DependsOn=["b"])))
    assert [(one.name, one.after) for one in read.steps] == [("a", ()), ("b", ()), ("c", ("a", "b"))]


def test_the_steps_of_a_condition_have_its_branch() -> None:
    inner = condition("inner", [step("deep")], [])
    read = read_definition(definition(step("a"), condition("if", [step("yes", arguments={"x": GET})], [inner])))
    guards = {one.name: one.guard for one in read.steps}
    assert guards == {
        "a": None,
        "if": None,
        "yes": Guard("if", True),
        "inner": Guard("if", False),
        "deep": Guard("inner", True),
    }
    assert read.step("if").after == ()
    assert read.step("yes").after == ("a",)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [("String", "a", "a"), ("Integer", "3", 3), ("Float", "0.5", 0.5), ("Boolean", "True", True)],
)
def test_a_parameter_reads_its_type(kind: str, text: str, value: Any) -> None:
    assert PipelineParameter("x", kind, None).read(text) == value


@pytest.mark.parametrize(
    ("parameter", "text", "said"),
    [
        (PipelineParameter("x", "Integer", None), "a", "must be of type Integer"),
        (PipelineParameter("x", "Boolean", None), "yes", "must be of type Boolean"),
        (PipelineParameter("x", "String", None, ("a", "b")), "c", "must be one of a, b"),
    ],
)
def test_a_parameter_refuses_what_is_not_of_its_type(parameter: PipelineParameter, text: str, said: str) -> None:
    with pytest.raises(BadDefinition, match=said):
        parameter.read(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no", "must be JSON"),
        ("[]", "an object with Steps"),
        (definition(), "an object with Steps"),
        (json.dumps({"Version": "1", "Steps": [step("a")]}), "Version must be 2020-12-01"),
        (definition(step("a"), Other=1), "PipelineDefinition: Other is not supported"),
        (definition({"Name": "a"}), "must have a Name, a Type and Arguments"),
        (definition(step("a", "Lambda")), "The step a: Type Lambda is not supported"),
        (definition(step("a", Other=1)), "The step a: Other is not supported"),
        (definition(step("a", arguments=[1])), "Arguments must be an object"),
        (definition(step("a"), step("a")), "the name a must be given to one step"),
        (definition(step("a"), condition("if", [step("a")], [])), "the name a must be given to one step"),
        (definition(condition("if", [], []) | {"Arguments": {"IfSteps": 1}}), "IfSteps must be a list"),
        (definition(step("a", DependsOn=["b"])), "a depends on b, which is no step"),
        (definition(step("b", arguments={"x": GET})), "b depends on a, which is no step"),
        (definition(step("a", arguments={"x": {"Get": "Parameters.p"}})), "refers to p, which is no parameter"),
        (definition(step("a", arguments={"x": {"Get": "Other.p"}})), "The step a: Get 'Other.p' is not supported"),
        (definition(step("a", arguments={"x": {"Std:Split": {}}})), "function Std:Split is not supported"),
        (definition(step("a"), Parameters=[{"Name": "x"}]), "must have a Name and a Type"),
        (definition(step("a"), Parameters=[{"Name": "x", "Type": "Date"}]), "Type must be one of"),
        (definition(step("a", DependsOn=["b"]), step("b", DependsOn=["a"])), "wait for each other in a circle"),
        (definition(step("a", arguments={"x": GET})), "wait for each other in a circle"),
        (definition(step("a", DependsOn=["if"]), condition("if", [], [], GET)), "wait for each other in a circle"),
        (
            definition(condition("if", [step("in", DependsOn=["a"])], []), step("a", DependsOn=["if"])),
            "wait for each other in a circle",
        ),
    ],
)
def test_what_is_not_understood_is_refused_by_name(text: str, said: str) -> None:
    with pytest.raises(BadDefinition, match=re.escape(said)):
        read_definition(text)
