"""The values of a definition: parameters, properties, joined texts, files, and the conditions over them."""

import re
from typing import Any

import pytest

from torpor_endpoint.core.pipelines.pipeline_conditions import all_hold
from torpor_endpoint.core.pipelines.pipeline_members import GivenRetryPolicy
from torpor_endpoint.core.pipelines.pipeline_values import (
    BadExpression,
    ValueScope,
    evaluated,
    files_of,
    parsed_path,
    references,
)
from torpor_endpoint.core.pipelines.step_retries import StepFault, retry_after_s

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
        ({"Get": "Steps.a"}, "not supported"),
        ({"Get": "Execution.None"}, "not supported"),
        ({"Get": "Steps.clean.Outputs['out"}, "is no path"),
        ({"Std:JsonGet": {**FILE, "Path": "metrics.none"}}, "nothing at the path metrics.none"),
        ({"Std:JsonGet": {**FILE, "PropertyFile": {"Get": "Steps.clean.PropertyFiles.no"}}}, "is no property file"),
        ({"Std:JsonGet": {**FILE, "PropertyFile": "report"}}, "is no property file"),
    ],
)
def test_what_has_no_value_is_told(value: Any, said: str) -> None:
    with pytest.raises(BadExpression, match=re.escape(said)):
        evaluated(value, SCOPE)


def test_paths_have_names_places_and_quoted_names() -> None:
    assert parsed_path("a.b[0]['c d'].e") == ("a", "b", 0, "c d", "e")


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
    ],
)
def test_a_condition_that_is_not_understood_is_told_even_after_one_that_does_not_hold(
    condition: Any, said: str
) -> None:
    no = {"Type": "Equals", "LeftValue": 1, "RightValue": 2}
    with pytest.raises(BadExpression, match=said):
        all_hold([no, condition])


def test_a_retry_waits_longer_each_time_until_the_policy_is_used_up() -> None:
    policies: list[GivenRetryPolicy] = [
        {"ExceptionType": ["Step.THROTTLING"], "MaxAttempts": 9},
        {"ExceptionType": ["SageMaker.JOB_INTERNAL_ERROR"], "MaxAttempts": 2, "IntervalSeconds": 3, "BackoffRate": 1.5},
    ]
    assert [retry_after_s(policies, StepFault.JOB, tried, 0.0) for tried in (1, 2, 3)] == [3.0, 4.5, None]
    assert retry_after_s(policies, StepFault.SERVICE, 1, 0.0) is None
    assert retry_after_s(policies, None, 1, 0.0) is None
    expires: list[GivenRetryPolicy] = [{"ExceptionType": ["Step.SERVICE_FAULT"], "ExpireAfterMin": 1}]
    assert [retry_after_s(expires, StepFault.SERVICE, 2, elapsed) for elapsed in (60.0, 61.0)] == [2.0, None]
    steep: list[GivenRetryPolicy] = [{"ExceptionType": ["Step.SERVICE_FAULT"], "BackoffRate": 1000.0}]
    assert retry_after_s(steep, StepFault.SERVICE, 19, 0.0) == 86_400.0
