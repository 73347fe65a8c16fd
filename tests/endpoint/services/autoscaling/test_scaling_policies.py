"""Scaling policies: checked, read into the fields that a scaler needs, and described as they were sent."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.services.helpers.in_memory_autoscaling import (
    ACCOUNT,
    CONCURRENCY,
    INVOCATIONS,
    NOW_S,
    OF,
    InMemoryAutoscaling,
)
from torpor_endpoint.core.autoscaling.stepping import StepAdjustment, StepScaling
from torpor_endpoint.services.autoscaling.scaling_records import CustomMetric, MetricQuery, TargetTracking

UP = {"MetricIntervalLowerBound": 0.0, "ScalingAdjustment": 1}
STEPS: dict[str, Any] = {"AdjustmentType": "ChangeInCapacity", "StepAdjustments": [UP]}
CPU = {"MetricName": "CPUUtilization", "Namespace": "/aws/sagemaker/Endpoints", "Statistic": "Average"}
MATH = [
    {"Id": "sum", "Expression": "a / 2", "ReturnData": True},
    {"Id": "a", "MetricStat": {"Metric": {"MetricName": "M", "Namespace": "N"}, "Stat": "Sum"}, "ReturnData": False},
]


def put(autoscaling: InMemoryAutoscaling, policy_type: str, name: str = "p", **configuration: Any) -> dict[str, Any]:
    member = f"{policy_type}PolicyConfiguration"
    answer: dict[str, Any] = autoscaling.client.put_scaling_policy(
        **OF, PolicyName=name, PolicyType=policy_type, **{member: configuration}
    )
    return answer


def policies(autoscaling: InMemoryAutoscaling, **members: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = autoscaling.client.describe_scaling_policies(ServiceNamespace="sagemaker", **members)[
        "ScalingPolicies"
    ]
    return found


def test_a_policy_is_described_as_it_was_put(autoscaling: InMemoryAutoscaling) -> None:
    autoscaling.register()
    sent: dict[str, Any] = {"TargetValue": 70.0, **INVOCATIONS, "ScaleInCooldown": 60}
    answer = put(autoscaling, "TargetTrackingScaling", **sent)
    assert [alarm["AlarmName"].split("-")[2] for alarm in answer["Alarms"]] == ["AlarmHigh", "AlarmLow"]
    assert answer["PolicyARN"].startswith(f"arn:aws:autoscaling:us-east-1:{ACCOUNT}:scalingPolicy:")
    assert answer["PolicyARN"].endswith(":resource/sagemaker/endpoint/ep/variant/v:policyName/p")
    (policy,) = policies(autoscaling, PolicyNames=["p"], ResourceId=OF["ResourceId"])
    assert policy["TargetTrackingScalingPolicyConfiguration"] == sent
    assert {name: policy[name] for name in OF} == OF
    assert (policy["PolicyType"], policy["PolicyARN"]) == ("TargetTrackingScaling", answer["PolicyARN"])
    assert policy["CreationTime"].timestamp() == NOW_S


@pytest.mark.parametrize(
    ("sent", "tracking"),
    [
        (
            {**INVOCATIONS, "DisableScaleIn": True},
            TargetTracking(70.0, predefined="SageMakerVariantInvocationsPerInstance", scales_in=False),
        ),
        (
            {"CustomizedMetricSpecification": {**CPU, "Dimensions": [{"Name": "EndpointName", "Value": "ep"}]}},
            TargetTracking(
                70.0,
                custom=CustomMetric("CPUUtilization", "/aws/sagemaker/Endpoints", "Average", {"EndpointName": "ep"}),
            ),
        ),
        (
            {"CustomizedMetricSpecification": {"Metrics": MATH}, "ScaleOutCooldown": 0},
            TargetTracking(
                70.0,
                queries=(MetricQuery("sum", "a / 2"), MetricQuery("a", None, CustomMetric("M", "N", "Sum"), False)),
                scale_out_cooldown_s=0,
            ),
        ),
    ],
)
def test_target_tracking_is_read_into_fields(
    autoscaling: InMemoryAutoscaling, sent: dict[str, Any], tracking: TargetTracking
) -> None:
    autoscaling.register()
    put(autoscaling, "TargetTrackingScaling", TargetValue=70.0, **sent)
    (policy,) = autoscaling.context.policies.all()
    assert (policy.target_tracking, policy.step_scaling) == (tracking, None)


def test_step_scaling_is_read_into_fields(autoscaling: InMemoryAutoscaling) -> None:
    autoscaling.register()
    down = {"MetricIntervalUpperBound": 0.0, "ScalingAdjustment": -50}
    put(
        autoscaling,
        "StepScaling",
        AdjustmentType="PercentChangeInCapacity",
        StepAdjustments=[UP, down],
        MinAdjustmentMagnitude=2,
        MetricAggregationType="Maximum",
        Cooldown=60,
    )
    (policy,) = autoscaling.context.policies.all()
    steps = (StepAdjustment(1, lower=0.0), StepAdjustment(-50, upper=0.0))
    assert policy.step_scaling == StepScaling("PercentChangeInCapacity", steps, 60, "Maximum", 2)


def test_a_policy_that_is_put_again_is_the_same_one_with_another_configuration(
    autoscaling: InMemoryAutoscaling,
) -> None:
    autoscaling.register()
    first = put(autoscaling, "StepScaling", **STEPS)
    again = put(autoscaling, "TargetTrackingScaling", TargetValue=5.0, **INVOCATIONS)
    assert again["PolicyARN"] == first["PolicyARN"]
    (policy,) = policies(autoscaling)
    assert "StepScalingPolicyConfiguration" not in policy
    assert policy["TargetTrackingScalingPolicyConfiguration"]["TargetValue"] == 5.0


@pytest.mark.parametrize(
    ("configuration", "why"),
    [
        ({}, "PredefinedMetricSpecification or CustomizedMetricSpecification must be set"),
        ({**INVOCATIONS, "CustomizedMetricSpecification": CPU}, "Only one of PredefinedMetricSpecification or"),
        ({"CustomizedMetricSpecification": {**CPU, "Metrics": MATH}}, "The customized metric specification is not"),
        ({"CustomizedMetricSpecification": {"MetricName": "M"}}, "The customized metric specification is not valid"),
        ({"CustomizedMetricSpecification": {"Metrics": MATH[1:]}}, "The customized metric specification is not valid"),
        ({**INVOCATIONS, "TargetValue": 0.0}, "The target value must be greater than 0"),
        (
            {"PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBReadCapacityUtilization"}},
            "Scalable dimension sagemaker:variant:DesiredInstanceCount only supports the following predefined metric",
        ),
    ],
)
def test_target_tracking_that_tracks_no_metric_is_refused(
    autoscaling: InMemoryAutoscaling, configuration: dict[str, Any], why: str
) -> None:
    autoscaling.register()
    with pytest.raises(ClientError, match=f"ValidationException.*{why}"):
        put(autoscaling, "TargetTrackingScaling", **{"TargetValue": 70.0, **configuration})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"StepAdjustments": []}, "There must be at least one step adjustment"),
        ({"StepAdjustments": [{"ScalingAdjustment": 1}]}, "Both lower and upper bounds of a step adjustment cannot"),
        ({"MinAdjustmentMagnitude": 1}, "Minimum adjustment magnitude is only allowed for adjustment type Percent"),
        (
            {"AdjustmentType": "ExactCapacity", "StepAdjustments": [{**UP, "ScalingAdjustment": -1}]},
            "Scaling adjustment cannot be less than 0 when adjustment type is ExactCapacity",
        ),
        ({"StepAdjustments": [{**UP, "MetricIntervalUpperBound": 0.0}]}, "Lower bound must be less than upper bound"),
        (
            {"StepAdjustments": [UP, {**UP, "MetricIntervalLowerBound": 5.0}]},
            "At most one step adjustment may have an unspecified upper bound",
        ),
        (
            {"StepAdjustments": [{**UP, "MetricIntervalUpperBound": 5.0}, {**UP, "MetricIntervalLowerBound": 4.0}]},
            "Step adjustment intervals cannot overlap",
        ),
        (
            {"StepAdjustments": [{**UP, "MetricIntervalUpperBound": 5.0}, {**UP, "MetricIntervalLowerBound": 6.0}]},
            "Step adjustment intervals cannot have gaps between them",
        ),
        (
            {"StepAdjustments": [{**UP, "MetricIntervalLowerBound": -5.0}]},
            "an unspecified lower bound when one step adjustment has a negative",
        ),
        (
            {"StepAdjustments": [{**UP, "MetricIntervalUpperBound": 5.0}]},
            "an unspecified upper bound when one step adjustment has a positive",
        ),
    ],
)
def test_steps_that_do_not_cover_a_line_are_refused(
    autoscaling: InMemoryAutoscaling, change: dict[str, Any], why: str
) -> None:
    autoscaling.register()
    with pytest.raises(ClientError, match=why):
        put(autoscaling, "StepScaling", **{**STEPS, **change})
    with pytest.raises(ClientError, match="Adjustment type must be specified"):
        put(autoscaling, "StepScaling", StepAdjustments=[UP])


def test_the_configuration_must_be_the_one_of_the_type(autoscaling: InMemoryAutoscaling) -> None:
    autoscaling.register()
    tracking = {"TargetTrackingScalingPolicyConfiguration": {"TargetValue": 1.0, **INVOCATIONS}}
    with pytest.raises(ClientError, match="StepScaling policy configuration must be specified"):
        autoscaling.client.put_scaling_policy(**OF, PolicyName="p", PolicyType="StepScaling", **tracking)
    with pytest.raises(ClientError, match="You must only provide a single scaling policy configuration"):
        autoscaling.client.put_scaling_policy(
            **OF, PolicyName="p", PolicyType="StepScaling", StepScalingPolicyConfiguration=STEPS, **tracking
        )


def test_a_metric_is_tracked_by_at_most_one_policy(autoscaling: InMemoryAutoscaling) -> None:
    autoscaling.register()
    put(autoscaling, "TargetTrackingScaling", "one", TargetValue=70.0, **INVOCATIONS)
    put(autoscaling, "TargetTrackingScaling", "cpu", TargetValue=70.0, CustomizedMetricSpecification=CPU)
    with pytest.raises(ClientError, match="Only one TargetTrackingScaling policy for a given metric specification"):
        put(autoscaling, "TargetTrackingScaling", "two", TargetValue=50.0, **INVOCATIONS)
    assert [policy["PolicyName"] for policy in policies(autoscaling)] == ["cpu", "one"]


def test_a_policy_needs_its_target_and_its_name(autoscaling: InMemoryAutoscaling) -> None:
    with pytest.raises(ClientError, match=r"ObjectNotFoundException.*No scalable target registered for service name"):
        put(autoscaling, "StepScaling", **STEPS)
    autoscaling.register()
    put(autoscaling, "StepScaling", **STEPS)
    autoscaling.client.delete_scaling_policy(**OF, PolicyName="p")
    with pytest.raises(ClientError, match=r"ObjectNotFoundException.*No scaling policy found for.*policy name: p"):
        autoscaling.client.delete_scaling_policy(**OF, PolicyName="p")


def test_nothing_is_found_to_delete_of_a_resource_and_the_dimension_of_another(
    autoscaling: InMemoryAutoscaling,
) -> None:
    """AWS's notebook on scaling to zero deletes a component's policy by a variant's dimension, and expects this."""
    of = {"ServiceNamespace": "sagemaker", "ResourceId": "inference-component/ic"}
    dimension = {"ScalableDimension": "sagemaker:variant:DesiredInstanceCount"}
    client = autoscaling.client
    for delete, named in (
        (client.delete_scaling_policy, {"PolicyName": "step"}),
        (client.delete_scheduled_action, {"ScheduledActionName": "friday"}),
        (client.deregister_scalable_target, {}),
    ):
        with pytest.raises(client.exceptions.ObjectNotFoundException):
            delete(**of, **dimension, **named)
        with pytest.raises(ClientError, match="Unsupported service namespace"):
            delete(**of, ScalableDimension="ecs:service:DesiredCount", **named)


def test_provisioned_concurrency_has_a_metric_of_its_own(autoscaling: InMemoryAutoscaling) -> None:
    of = {**OF, "ScalableDimension": CONCURRENCY}
    autoscaling.register(ScalableDimension=CONCURRENCY)
    with pytest.raises(ClientError, match=r"types: SageMakerVariantProvisionedConcurrencyUtilization$"):
        autoscaling.client.put_scaling_policy(
            **of,
            PolicyName="p",
            PolicyType="TargetTrackingScaling",
            TargetTrackingScalingPolicyConfiguration={"TargetValue": 0.7, **INVOCATIONS},
        )
