"""The values of a definition: parameters, properties, joined texts, files, and the conditions over them."""

import re
from typing import Any

import pytest

from torpor_endpoint.core.pipelines.pipeline_conditions import all_hold
from torpor_endpoint.core.pipelines.pipeline_values import (
    BadExpression,
    ValueScope,
    evaluated,
    files_of,
    parsed_path,
    references,
)

OUTPUTS = [{"OutputName": "out", "S3Output": {"S3Uri": "s3://b/out"}}]
SCOPE = ValueScope(
    {"n": 3, "yes": True},
    {"PipelineExecutionId": "abc"},
    {"clean": {"Outputs": OUTPUTS, "Trials": [{"TrainingJobName": "t0"}, {"TrainingJobName": "t1"}]}},
    {("clean", "report"): "s3://b/out/report.json"},
    {"s3://b/out/report.json": {"metrics": {"loss": [0.25]}}},
)
FILE = {"PropertyFile": {"Get": "Steps.clean.PropertyFiles.report"}, "Path": "metrics.loss[0]"}


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        (1, 1),
        ({"a": [{"Get": "Parameters.n"}], "b": None}, {"a": [3], "b": None}),
        ({"Get": "Execution.PipelineExecutionId"}, "abc"),
        ({"Get": "Steps.clean.Outputs['out'].S3Output.S3Uri"}, "s3://b/out"),
        ({"Get": 'Steps.clean.Outputs["out"].S3Output.S3Uri'}, "s3://b/out"),
        ({"Get": "Steps.clean.Trials[1].TrainingJobName"}, "t1"),
        (
            {"Std:Join": {"On": "/", "Values": ["s3:/", {"Get": "Parameters.n"}, {"Get": "Parameters.yes"}]}},
            "s3://3/true",
        ),
        ({"Std:JsonGet": FILE}, 0.25),
        ({"Std:JsonGet": {"S3Uri": "s3://b/out/report.json", "Path": "$.metrics.loss"}}, [0.25]),
        ({"Std:JsonGet": {"S3Uri": "s3://b/out/report.json", "Path": ".metrics"}}, {"loss": [0.25]}),
        ({"Std:JsonGet": {"S3Uri": "s3://b/out/report.json", "Path": "$"}}, {"metrics": {"loss": [0.25]}}),
        ({"Std:Join": {"Values": ["a", 1, False]}}, "a1false"),
        ({"Get": "x", "Other": 1}, {"Get": "x", "Other": 1}),
    ],
)
def test_references_are_resolved_wherever_they_stand(value: Any, resolved: Any) -> None:
    assert evaluated(value, SCOPE) == resolved


def test_the_files_of_a_value_are_known_before_it_is_evaluated() -> None:
    joined = {"Std:Join": {"On": "/", "Values": ["s3://b", {"Get": "Parameters.n"}]}}
    value = [{"Std:JsonGet": FILE}, {"x": {"Std:JsonGet": {"S3Uri": joined, "Path": "a"}}}, {"Std:JsonGet": FILE}]
    assert files_of(value, SCOPE) == ("s3://b/out/report.json", "s3://b/3")


def test_a_value_tells_the_steps_and_the_parameters_that_it_refers_to() -> None:
    joined = {"Std:Join": {"On": "", "Values": [{"Get": "Parameters.n"}, {"Get": "Steps.a.Arn"}]}}
    assert references({"x": [joined], "y": {"Std:JsonGet": FILE}}) == ({"a", "clean"}, {"n"})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"Get": "Steps.clean.None"}, "Steps.clean.None has no value"),
        ({"Get": "Steps.clean.Trials[2].TrainingJobName"}, "has no value"),
        ({"Get": "Steps.clean.Outputs['none'].S3Output"}, "has no value"),
        ({"Get": "Parameters.none"}, "Parameters.none has no value"),
        ({"Get": "Steps.clean.Trials['t0'].TrainingJobName"}, "has no value"),
        ({"Get": "Steps.clean.Trials.t0"}, "has no value"),
        ({"Get": "Steps.clean.Outputs[0].S3Output.S3Uri.s3"}, "has no value"),
        ({"Get": "Steps.a"}, "not supported"),
        ({"Get": "Parameters.n.n"}, "Get 'Parameters.n.n' is not supported by Torpor"),
        ({"Get": "Parameters"}, "Get 'Parameters' is not supported by Torpor"),
        ({"Get": "Execution"}, "Get 'Execution' is not supported by Torpor"),
        ({"Get": "Execution.PipelineExecutionId.x"}, "Execution.PipelineExecutionId.x has no value"),
        ({"Get": ""}, "Get '' is not supported by Torpor"),
        ({"Get": 1}, "Get 1 is not supported by Torpor"),
        ({"Std:Split": 1}, "function Std:Split is not supported by Torpor, which knows Get, Std:Join, Std:JsonGet."),
        ({"Get": "Execution.None"}, "not supported"),
        ({"Get": "Steps.clean.Outputs['out"}, "is no path"),
        ({"Std:JsonGet": {**FILE, "Path": "metrics.none"}}, "nothing at the path metrics.none"),
        ({"Std:JsonGet": {**FILE, "PropertyFile": {"Get": "Steps.clean.PropertyFiles.no"}}}, "is no property file"),
        ({"Std:JsonGet": {**FILE, "PropertyFile": "report"}}, "is no property file"),
        ({"Std:JsonGet": {**FILE, "PropertyFile": {"Std:Join": {}}}}, "is no property file"),
        ({"Std:JsonGet": {**FILE, "PropertyFile": {"Get": "Steps.clean.Files.report"}}}, "is no property file"),
        ({"Std:JsonGet": {**FILE, "PropertyFile": {"Get": "Steps.clean.PropertyFiles"}}}, "is no property file"),
        (
            {"Std:JsonGet": {**FILE, "PropertyFile": {"Get": "Steps.clean.PropertyFiles.report.x"}}},
            "is no property file",
        ),
    ],
)
def test_what_has_no_value_is_told(value: Any, said: str) -> None:
    with pytest.raises(BadExpression, match=re.escape(said)):
        evaluated(value, SCOPE)


def test_paths_have_names_places_and_quoted_names() -> None:
    assert parsed_path("a.b[0]['c d'].e") == ("a", "b", 0, "c d", "e")
    assert parsed_path("['']['a'][\"b\"][12]") == ("", "a", "b", 12)


@pytest.mark.parametrize("member", ["OutputName", "InputName", "ChannelName", "Name"])
def test_an_item_of_a_list_is_picked_by_the_name_that_it_has(member: str) -> None:
    items = ["train", {member: "test"}, {member: "train", "Uri": "s3://b/y"}]
    scope = ValueScope(properties={"a": {"Items": items, "None": []}})
    assert evaluated({"Get": "Steps.a.Items['train'].Uri"}, scope) == "s3://b/y"


@pytest.mark.parametrize(
    "name",
    [
        *("PipelineName", "PipelineArn", "PipelineExecutionId", "PipelineExecutionArn"),
        *("StartDateTime", "CurrentDateTime"),
    ],
)
def test_an_execution_has_names_and_times(name: str) -> None:
    assert evaluated({"Get": f"Execution.{name}"}, ValueScope(execution={name: "x"})) == "x"
    assert references({"Get": f"Execution.{name}"}) == (set(), set())


@pytest.mark.parametrize(
    ("name", "argument", "needs"),
    [
        ("Std:Join", {"Values": ["a"], "On": 1}, "a list of Values and may have a text On"),
        ("Std:Join", {"Values": ["a"], "On": "", "Off": ""}, "a list of Values and may have a text On"),
        ("Std:Join", {"On": ""}, "a list of Values and may have a text On"),
        ("Std:JsonGet", {**FILE, "Path": 1}, "a text Path and either a PropertyFile or an S3Uri"),
        ("Std:JsonGet", {**FILE, "S3Uri": "s3://b/x"}, "a text Path and either a PropertyFile or an S3Uri"),
        ("Std:JsonGet", {"Path": ""}, "a text Path and either a PropertyFile or an S3Uri"),
    ],
)
def test_a_function_needs_its_members_and_takes_no_others(name: str, argument: Any, needs: str) -> None:
    with pytest.raises(BadExpression, match=f"^{name} must have {needs}, and nothing else.$"):
        references([{name: argument}])
    fitting = [{"Std:Join": {"Values": []}}, {"Std:JsonGet": {"Path": "", "S3Uri": "s3://b/x"}}]
    assert references(fitting) == (set(), set())


def compared(kind: str, left: Any, right: Any) -> bool:
    return all_hold([{"Type": kind, "LeftValue": left, "RightValue": right}])


def test_conditions_compare_and_all_must_hold() -> None:
    assert [compared("GreaterThan", left, 2) for left in (1, 2, 3)] == [False, False, True]
    assert [compared("GreaterThanOrEqualTo", left, 2) for left in (1, 2, 3)] == [False, True, True]
    assert [compared("LessThan", left, 2) for left in (1, 2, 3)] == [True, False, False]
    assert [compared("LessThanOrEqualTo", left, 2) for left in (1, 2, 3)] == [True, True, False]
    yes, no = ({"Type": "Equals", "LeftValue": "a", "RightValue": right} for right in "ab")
    assert all_hold([yes, yes])
    assert not all_hold([yes, no])
    assert all_hold([{"Type": "Not", "Condition": no}, {"Type": "Or", "Conditions": [no, yes]}])
    assert not all_hold([{"Type": "Or", "Conditions": [no, no]}])
    assert all_hold([{"Type": "In", "QueryValue": 1, "Values": [1, 2]}])
    assert not all_hold([{"Type": "In", "QueryValue": 3, "Values": [1, 2]}])


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ({"Type": "Between"}, "condition Between is not supported"),
        ({"Type": "Equals", "LeftValue": 1}, "condition Equals is not supported"),
        ({"Type": "LessThan", "LeftValue": 1, "RightValue": "a"}, "cannot compare 1 with 'a'"),
        (3, "condition 3 is not supported"),
        ({"Type": "Equals", "LeftValue": 1, "RightValue": 1, "More": 1}, "condition Equals is not .* one too many"),
        ({"Type": "In", "QueryValue": 1, "Values": [1], "More": 1}, "condition In is not .* one too many"),
        ({"Type": "Not", "Condition": {"Type": "Or", "Conditions": []}, "More": 1}, "condition Not is not supported"),
        ({"Type": "Or", "Conditions": [], "More": 1}, "condition Or is not supported"),
        ({"Type": "Like", "LeftValue": 1, "RightValue": 1}, "condition Like is not supported"),
        ({"Type": "Or", "Conditions": [{"Type": "Or", "Conditions": []}, 3]}, "condition 3 is not supported"),
    ],
)
def test_a_condition_that_is_not_understood_is_told_even_after_one_that_does_not_hold(
    condition: Any, said: str
) -> None:
    no = {"Type": "Equals", "LeftValue": 1, "RightValue": 2}
    with pytest.raises(BadExpression, match=said):
        all_hold([no, condition])
