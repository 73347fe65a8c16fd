"""Definitions of pipelines: what is read, and what is refused by name."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from math import nan
from typing import Any

import pytest

from torpor_endpoint.core.pipelines.pipeline_definition import (
    BadDefinition,
    Guard,
    read_definition,
)
from torpor_endpoint.core.pipelines.pipeline_values import BadExpression, ValueScope, evaluated
from torpor_endpoint.core.pipelines.step_retries import StepFault, retry_after_s


def step(name: str, kind: str = "Training", arguments: Any = None, **members: Any) -> dict[str, Any]:
    return {"Name": name, "Type": kind, "Arguments": arguments or {}, **members}


def condition(name: str, yes: list[Any], no: list[Any], value: Any = 1, **members: Any) -> dict[str, Any]:
    conditions = [{"Type": "Equals", "LeftValue": value, "RightValue": 1}]
    return step(name, "Condition", {"Conditions": conditions, "IfSteps": yes, "ElseSteps": no}, **members)


def definition(*steps: Any, **members: Any) -> str:
    return json.dumps({"Version": "2020-12-01", "Steps": steps, **members})


INTEGER = {"Name": "n", "Type": "Integer", "EnumValues": [1, 2]}
GET = {"Get": "Steps.a.ModelArtifacts.S3ModelArtifacts"}


def test_a_step_comes_after_those_that_it_names_and_those_that_its_values_name() -> None:
    read = read_definition(definition(step("a"), step("b"), step("c", arguments={"x": [GET]}, DependsOn=["b"])))
    assert [(one.name, one.after) for one in read.steps] == [("a", ()), ("b", ()), ("c", ("a", "b"))]


def test_the_steps_of_a_condition_have_its_branch() -> None:
    inner = condition("inner", [step("deep", arguments={"x": GET})], [])
    read = read_definition(definition(step("a"), condition("if", [step("yes", arguments={"x": GET})], [inner])))
    guards = {one.name: one.guard for one in read.steps}
    assert guards == {
        "a": None,
        "if": None,
        "yes": Guard("if", True),
        "inner": Guard("if", False),
        "deep": Guard("inner", True),
    }
    assert read.step("if").after == read.step("inner").after == ()
    assert read.step("yes").after == ("a",)


@pytest.mark.parametrize("kind", ["Processing", "Training", "Transform", "Tuning", "Model", "RegisterModel", "Fail"])
def test_a_step_of_each_kind_is_read_with_all_that_it_has(kind: str) -> None:
    file = {"PropertyFileName": "r", "OutputName": "o", "FilePath": "r.json"}
    shown = {"DisplayName": "A", "Description": "first", "CacheConfig": {}}
    given = step("a", kind, {"x": 1}, PropertyFiles=[file], DependsOn=["c", "b", "c"], **shown)
    one, *_ = read_definition(definition(given, step("b"), step("c"))).steps
    assert (one.name, one.kind, one.arguments, one.after, one.guard) == ("a", kind, {"x": 1}, ("b", "c"), None)
    assert (one.property_files, one.display_name, one.description) == ((file,), "A", "first")


def test_a_name_has_sixty_four_characters_at_most() -> None:
    assert read_definition(definition(step("a" * 64), Metadata={}, PipelineExperimentConfig=None)).steps[0].after == ()
    with pytest.raises(BadDefinition, match=f"^Steps: the Name '{'a' * 65}' must be 1 to 64 letters, digits, hyphens"):
        read_definition(definition(step("a" * 65)))


def test_branches_that_are_null_or_left_out_have_no_steps() -> None:
    conditions = [{"Type": "Equals", "LeftValue": 1, "RightValue": 1}]
    for branches in ({}, {"IfSteps": None, "ElseSteps": None}):
        read = read_definition(definition(step("if", "Condition", {"Conditions": conditions, **branches})))
        assert [one.name for one in read.steps] == ["if"]


def test_steps_of_one_branch_may_wait_for_each_other_and_for_what_is_before_their_condition() -> None:
    inside = [step("first", DependsOn=["a"]), step("second", DependsOn=["first", "if"])]
    read = read_definition(definition(condition("if", inside, [], DependsOn=["a"]), step("a")))
    assert read.step("second").after == ("first", "if")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no", "must be JSON"),
        ("[]", "an object with Steps"),
        (definition(), "an object with Steps"),
        (json.dumps({"Version": "2020-12-01"}), "an object with Steps"),
        (json.dumps({"Version": "2020-12-01", "Steps": {"a": 1}}), "an object with Steps"),
        (
            definition({"Type": "Fail", "Arguments": {}}),
            "The step without a Name: Object missing required field `Name`",
        ),
        (
            definition(step("a", "Lambda")),
            "knows Processing, Training, Transform, Tuning, Model, RegisterModel, Condition, Fail.",
        ),
        (json.dumps({"Version": "1", "Steps": [step("a")]}), "Version must be 2020-12-01"),
        (definition(step("a"), Other=1), "PipelineDefinition: Other is not supported"),
        (definition({"Name": "a"}), "The step a: Object missing required field"),
        (definition(step("a", "Lambda")), "The step a: Type Lambda is not supported"),
        (definition(step("a", Other=1)), "The step a: Other is not supported"),
        (definition(step("a", arguments=[1])), "The step a: Expected `object`, got `array` - at `$.Arguments`"),
        (definition(step("a"), step("a")), "the name a must be given to one step."),
        (definition(step("a"), condition("if", [step("a")], [])), "the name a must be given to one step."),
        (definition(condition("if", [], []) | {"Arguments": {"IfSteps": 1}}), "The step if: Expected `array | null`"),
        (definition(step("a", DependsOn=["b"])), "a depends on b, which is no step"),
        (definition(step("b", arguments={"x": GET})), "b depends on a, which is no step"),
        (definition(step("a", arguments={"x": {"Get": "Parameters.p"}})), "refers to p, which is no parameter"),
        (definition(step("a", arguments={"x": {"Get": "Other.p"}})), "The step a: Get 'Other.p' is not supported"),
        (definition(step("a", arguments={"x": {"Std:Split": {}}})), "function Std:Split is not supported"),
        (definition(step("a"), Parameters=[{"Name": "x"}]), "The parameter x: Object missing required field `Type`"),
        (definition(step("a"), Parameters=[{"Name": "x", "Type": "Date"}]), "Type must be one of"),
        (definition(step("a"), Parameters=[1]), "The parameter 1: Expected `object`"),
        (definition(step("a"), Parameters=[INTEGER, INTEGER]), "the name n must be given to one parameter."),
        (definition(step("a"), Parameters=[INTEGER | {"DefaultValue": "1"}]), "n must be of type Integer: '1' is none"),
        (definition(step("a"), Parameters=[INTEGER | {"DefaultValue": 3}]), "n must be one of 1, 2"),
        (definition(step("a.b")), "the Name 'a.b' must be 1 to 64 letters"),
        (definition(step("a", DependsOn=[{"Get": "Steps.a"}])), "The step a: Expected `str`, got `object`"),
        (definition(step("a", RetryPolicies=[{"ExceptionType": ["x"], "MaxAttempts": 21}])), "must be from 1 to 20"),
        (definition(step("a", arguments={"x": {"Std:Join": {"Values": 1}}})), "Std:Join must have a list of Values"),
        (definition(step("a", arguments={"x": {"Std:JsonGet": 1}})), "Std:JsonGet must have a text Path"),
        (definition(step("a", "Condition")), "The step a must have Conditions"),
        (definition(step("a", "Condition", {"Conditions": [{"Type": "Like"}]})), "the condition Like is not supported"),
        ('{"Version": "2020-12-01", "Steps": ' + "[" * 90_000, "must not be nested so deeply"),
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


# -- whatever somebody writes ------------------------------------------------------------------------------------------
WHOLE = {
    "Version": "2020-12-01",
    "Parameters": [INTEGER | {"DefaultValue": 1}, {"Name": "f", "Type": "Float"}],
    "Steps": [
        step(
            "a",
            "Processing",
            {"x": [{"Std:Join": {"On": "/", "Values": [{"Get": "Parameters.n"}, "b"]}}]},
            PropertyFiles=[{"PropertyFileName": "r", "OutputName": "o", "FilePath": "r.json"}],
            RetryPolicies=[{"ExceptionType": ["Step.SERVICE_FAULT"], "BackoffRate": 2.0, "MaxAttempts": 3}],
        ),
        condition(
            "if",
            [step("yes", arguments={"x": GET})],
            [step("no", "Fail", {"ErrorMessage": "no"}, DependsOn=["a"])],
            {"Std:JsonGet": {"PropertyFile": {"Get": "Steps.a.PropertyFiles.r"}, "Path": "x[0]"}},
        ),
    ],
}
GETS = ["Steps.a", "Steps[0]", "Steps['a'].x", ""]
JUNK: list[Any] = [None, True, 0, -1, 1e308, nan, "", "a", "Steps.a", "é", [], [[]], [None], {}, {"": {}}]
JUNK += [{"Get": path} for path in (1, *GETS)]
JUNK += [{"Name": "a"}, {"Std:Join": []}, {"Std:JsonGet": {"S3Uri": 1, "Path": ""}}]
JUNK += [{"Std:JsonGet": {"PropertyFile": {"Get": path}, "Path": "'"}} for path in GETS]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for name, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(one, (*path, name))


def put(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    changed = copy(value)
    changed[path[0]] = put(value[path[0]], path[1:], junk)
    return changed


def outcome(text: str) -> None:
    """Read it, and resolve what each step is given. Whatever is wrong has one of two names."""
    try:
        read = read_definition(text)
    except BadDefinition:
        return
    scope = ValueScope({"n": 1, "f": 0.5}, {}, {"a": {"ModelArtifacts": {"S3ModelArtifacts": "s3://b/m"}}})
    for one in read.steps:
        with suppress(BadExpression):
            evaluated({name: value for name, value in one.arguments.items() if "Steps" not in name}, scope)
        for fault in StepFault:
            retry_after_s(one.retries, fault, 1, 0.0)


def test_a_definition_with_anything_in_any_place_is_read_or_refused() -> None:
    for path in places(WHOLE):
        for junk in JUNK:
            outcome(json.dumps(put(WHOLE, path, junk)))


def test_the_definition_whose_places_are_changed_is_a_good_one() -> None:
    assert [one.name for one in read_definition(json.dumps(WHOLE)).steps] == ["a", "if", "yes", "no"]
