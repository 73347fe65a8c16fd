"""The pattern that AWS documents for asynchronous endpoints: to zero by target tracking, and back by a step."""

import json
from pathlib import Path
from urllib.request import Request, urlopen

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, one
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, put
from torpor.calling.connection import EndpointConnection
from torpor.pages.async_requests import cancel, requests

OF = {
    "ServiceNamespace": "sagemaker",
    "ResourceId": "endpoint/Nightly/variant/AllTraffic",
    "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
}
DIMENSIONS = [{"Name": "EndpointName", "Value": "Nightly"}]


def test_an_endpoint_goes_to_zero_and_comes_back(tmp_path: Path) -> None:
    with LiveEndpoint(tmp_path, "--travelling-clock", "--aws-strict") as live:
        put(live.folder("nightly"), {"model.tar.gz": packed({"model.json": booster()})})
        live.deploy(
            "Nightly",
            Variant(one("nightly/model.tar.gz")),
            AsyncInferenceConfig={"OutputConfig": {"S3OutputPath": "s3://nightly/out"}},
        )
        scale_by_backlog(live)
        assert instances(live) == 1
        advance(live, 20 * 60)
        assert instances(live) == 0
        asked = {"EndpointName": "Nightly", "Body": ROW, "ContentType": "text/csv"}
        answer = live.runtime.invoke_endpoint_async(**asked)
        live.runtime.invoke_endpoint_async(**asked, InferenceId="late", RequestTTLSeconds=60)
        live.runtime.invoke_endpoint_async(**asked, InferenceId="unwanted")
        assert cancel(EndpointConnection(live.url), "unwanted")[0].state == "Cancelled"
        advance(live, 4 * 60)
        bucket, _, key = answer["OutputLocation"].removeprefix("s3://").partition("/")
        assert (live.folder(bucket) / key).exists()
        states = {one.inference_id: one.state for one in requests(EndpointConnection(live.url), "Nightly")}
        assert states == {answer["InferenceId"]: "Completed", "late": "Expired", "unwanted": "Cancelled"}
        assert summed(live, "ExpiredRequests") == 1.0
        found = live.client("application-autoscaling").describe_scaling_activities(ServiceNamespace="sagemaker")
        assert [one["Description"] for one in found["ScalingActivities"]] == [
            "Setting desired instance count to 1.",
            "Setting desired instance count to 0.",
        ]


def summed(live: LiveEndpoint, metric: str) -> float:
    """The metric's sum over the last hour of the endpoint's clock."""
    with urlopen(f"{live.url}/_torpor/clock") as answer:
        now_s = float(json.load(answer)["now_s"])
    [found] = live.cloudwatch.get_metric_statistics(
        Namespace="AWS/SageMaker",
        MetricName=metric,
        Dimensions=[*DIMENSIONS, {"Name": "VariantName", "Value": "AllTraffic"}],
        StartTime=now_s - 3600,
        EndTime=now_s,
        Period=3600 * 24,
        Statistics=["Sum"],
    )["Datapoints"]
    return float(found["Sum"])


def instances(live: LiveEndpoint) -> int:
    described = live.sagemaker.describe_endpoint(EndpointName="Nightly")
    return int(described["ProductionVariants"][0]["CurrentInstanceCount"])


def advance(live: LiveEndpoint, seconds: float) -> None:
    with urlopen(Request(f"{live.url}/_torpor/clock?advance_s={seconds:g}", method="POST")) as answer:
        assert answer.status == 200


def scale_by_backlog(live: LiveEndpoint) -> None:
    """As on AWS's page "Autoscale an asynchronous endpoint"."""
    scaling = live.client("application-autoscaling")
    scaling.register_scalable_target(**OF, MinCapacity=0, MaxCapacity=2)
    backlog = {
        "MetricName": "ApproximateBacklogSizePerInstance",
        "Namespace": "AWS/SageMaker",
        "Dimensions": DIMENSIONS,
        "Statistic": "Average",
    }
    tracking = {
        "TargetValue": 5.0,
        "CustomizedMetricSpecification": backlog,
        "ScaleInCooldown": 60,
        "ScaleOutCooldown": 60,
    }
    scaling.put_scaling_policy(
        **OF, PolicyName="track", PolicyType="TargetTrackingScaling", TargetTrackingScalingPolicyConfiguration=tracking
    )
    steps = {
        "AdjustmentType": "ChangeInCapacity",
        "MetricAggregationType": "Average",
        "Cooldown": 300,
        "StepAdjustments": [{"MetricIntervalLowerBound": 0.0, "ScalingAdjustment": 1}],
    }
    policy = scaling.put_scaling_policy(
        **OF, PolicyName="wake", PolicyType="StepScaling", StepScalingPolicyConfiguration=steps
    )
    live.cloudwatch.put_metric_alarm(
        AlarmName="waiting-without-capacity",
        MetricName="HasBacklogWithoutCapacity",
        Namespace="AWS/SageMaker",
        Dimensions=DIMENSIONS,
        Statistic="Average",
        Period=60,
        EvaluationPeriods=2,
        DatapointsToAlarm=2,
        Threshold=1.0,
        ComparisonOperator="GreaterThanOrEqualToThreshold",
        TreatMissingData="missing",
        AlarmActions=[policy["PolicyARN"]],
    )
