"""A user's calls, as Terraform makes them, on a real endpoint whose delays are sixty times shorter than on AWS."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers.live_endpoint import POLL_S, LiveEndpoint, Variant, one
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, put
from tests.helpers.waiting import until

OF = {
    "ServiceNamespace": "sagemaker",
    "ResourceId": "endpoint/scaled/variant/AllTraffic",
    "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
}
TRACKING = {
    "TargetValue": 300.0,
    "PredefinedMetricSpecification": {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"},
}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    with LiveEndpoint(tmp_path_factory.mktemp("scaled"), "--time-scale", "60") as started:
        put(started.folder("scaled"), {"model.tar.gz": packed({"model.json": booster()})})
        started.deploy("scaled", Variant(one("scaled/model.tar.gz")))
        yield started


def instances(live: LiveEndpoint) -> int:
    described = live.sagemaker.describe_endpoint(EndpointName="scaled")
    return int(described["ProductionVariants"][0]["CurrentInstanceCount"])


def scaled_to(live: LiveEndpoint, count: int, within_s: float, busy: bool) -> None:
    """Call it, or leave it alone, until it has so many instances."""

    def there() -> bool:
        if busy:
            live.invoke("scaled", ROW)
        return instances(live) == count

    until(there, within_s, POLL_S)


def finished(scaling: Any) -> list[dict[str, Any]]:
    """The activities, the newest first, once none of them is in progress."""

    def over() -> list[dict[str, Any]] | None:
        found = scaling.describe_scaling_activities(ServiceNamespace="sagemaker")["ScalingActivities"]
        return None if any(activity["StatusCode"] == "InProgress" for activity in found) else list(found)

    return until(over, 30.0, POLL_S) or []


def activities(scaling: Any) -> list[str]:
    found = finished(scaling)
    assert {activity["StatusCode"] for activity in found} == {"Successful"}
    return [activity["Description"] for activity in found]


@pytest.mark.thorough
def test_traffic_makes_instances_come_and_its_end_makes_them_go(live: LiveEndpoint) -> None:
    scaling = live.client("application-autoscaling")
    scaling.register_scalable_target(**OF, MinCapacity=1, MaxCapacity=2)
    policy = {"PolicyType": "TargetTrackingScaling", "TargetTrackingScalingPolicyConfiguration": TRACKING}
    scaling.put_scaling_policy(**OF, PolicyName="track", **policy)
    scaled_to(live, 2, 30.0, busy=True)
    scaled_to(live, 1, 60.0, busy=False)
    assert activities(scaling) == ["Setting desired instance count to 1.", "Setting desired instance count to 2."]
    states = live.cloudwatch.describe_alarms(AlarmNamePrefix="TargetTracking-endpoint/scaled/")["MetricAlarms"]
    assert [alarm["StateValue"] for alarm in states] == ["OK", "ALARM"]
    scaling.deregister_scalable_target(**OF)


def test_a_target_is_deregistered_before_its_variant_can_go(live: LiveEndpoint) -> None:
    scaling = live.client("application-autoscaling")
    production = Variant(one("scaled/model.tar.gz"), "renamed").production("scaled-AllTraffic")
    live.sagemaker.create_endpoint_config(EndpointConfigName="renamed", ProductionVariants=[production])
    scaling.register_scalable_target(**OF, MinCapacity=1, MaxCapacity=2)
    with pytest.raises(ClientError, match=r"ValidationException.*deregister it before you remove it"):
        live.sagemaker.update_endpoint(EndpointName="scaled", EndpointConfigName="renamed")
    scaling.deregister_scalable_target(**OF)
    live.sagemaker.update_endpoint(EndpointName="scaled", EndpointConfigName="renamed")
    assert live.settled("scaled")["EndpointConfigName"] == "renamed"


@pytest.mark.thorough
def test_out_of_zero_as_aws_documents_it(tmp_path: Path) -> None:
    """Requests fail at zero; their alarm, judged by whole minutes, invokes a step policy, and one instance comes."""
    to_zero = {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 2}
    members = {"InstanceType": "ml.m5.large", "ManagedInstanceScaling": to_zero}
    with LiveEndpoint(tmp_path) as lenient:
        put(lenient.folder("scaled"), {"model.tar.gz": packed({"model.json": booster()})})
        lenient.deploy("scaled", Variant(one("scaled/model.tar.gz"), members=members))
    with LiveEndpoint(tmp_path, "--aws-strict", "--time-scale", "60") as strict:
        wanted = {"VariantName": "AllTraffic", "DesiredInstanceCount": 0}
        strict.sagemaker.update_endpoint_weights_and_capacities(
            EndpointName="scaled", DesiredWeightsAndCapacities=[wanted]
        )
        strict.settled("scaled")
        scaling = strict.client("application-autoscaling")
        scaling.register_scalable_target(**OF, MinCapacity=0, MaxCapacity=2)
        wake_by_alarm(strict, scaling)
        with pytest.raises(ClientError, match="no capacity"):
            strict.invoke("scaled", ROW)
        scaled_to(strict, 1, 90.0, busy=False)
        assert strict.invoke("scaled", ROW)["Body"]
        [activity] = finished(scaling)
        assert activity["Cause"] == "monitor alarm nobody-there in state ALARM triggered policy wake"


def wake_by_alarm(live: LiveEndpoint, scaling: Any) -> None:
    up = {"MetricIntervalLowerBound": 0.0, "ScalingAdjustment": 1}
    steps = {"AdjustmentType": "ChangeInCapacity", "StepAdjustments": [up], "MetricAggregationType": "Maximum"}
    policy = {"PolicyType": "StepScaling", "StepScalingPolicyConfiguration": {**steps, "Cooldown": 60}}
    arn = scaling.put_scaling_policy(**OF, PolicyName="wake", **policy)["PolicyARN"]
    live.cloudwatch.put_metric_alarm(
        AlarmName="nobody-there",
        Namespace="AWS/SageMaker",
        MetricName="NoCapacityInvocationFailures",
        Dimensions=[{"Name": "EndpointName", "Value": "scaled"}, {"Name": "VariantName", "Value": "AllTraffic"}],
        Statistic="Maximum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1.0,
        ComparisonOperator="GreaterThanOrEqualToThreshold",
        AlarmActions=[arn],
    )
