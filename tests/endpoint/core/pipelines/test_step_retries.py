"""When a failed step is tried again: by its policies, and by the limits of those."""

import json
from typing import Any

import pytest

from tests.endpoint.core.pipelines.test_pipeline_definition import definition, step
from torpor_endpoint.core.pipelines.pipeline_definition import BadDefinition, read_definition
from torpor_endpoint.core.pipelines.pipeline_members import GivenRetryPolicy
from torpor_endpoint.core.pipelines.step_retries import StepFault, retry_after_s


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


def test_a_policy_that_says_only_its_faults_tries_twenty_times() -> None:
    policies: list[GivenRetryPolicy] = [{"ExceptionType": ["Step.SERVICE_FAULT", "SageMaker.JOB_INTERNAL_ERROR"]}]
    for fault in StepFault:
        assert [retry_after_s(policies, fault, tried, 1e9) for tried in (1, 2, 3, 20, 21)] == [1, 2, 4, 86_400, None]


@pytest.mark.parametrize(
    ("member", "least", "most"),
    [
        ("IntervalSeconds", 0, 86400),
        ("BackoffRate", 0, 1000),
        ("MaxAttempts", 1, 20),
        ("ExpireAfterMin", 0, 14400),
    ],
)
def test_each_member_of_a_policy_has_its_limits(member: str, least: int, most: int) -> None:
    def read(value: Any) -> None:
        read_definition(definition(step("a", RetryPolicies=[{"ExceptionType": ["x"], member: value}])))

    for value in (least, most):
        read(value)
    for value in (least - 1, most + 1):
        with pytest.raises(BadDefinition) as refused:
            read(value)
        assert str(refused.value).startswith(f"The step a: RetryPolicies: {member} must be from {least} to {most}")


def test_the_policies_of_a_step_are_those_of_its_definition() -> None:
    policy = {"ExceptionType": ["Step.SERVICE_FAULT"], "MaxAttempts": 2}
    (one,) = read_definition(definition(step("a", RetryPolicies=[policy]))).steps
    assert json.dumps(one.retries) == json.dumps([policy])
