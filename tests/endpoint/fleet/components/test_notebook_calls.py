"""The calls of AWS's public notebooks on inference components, in their order, with small models and a clock that the
test moves where a notebook sleeps.

Source: aws-samples/sagemaker-genai-hosting-examples, `03-features/autoscaling/scale_down_to_zero.ipynb` (5f1f7a5),
`03-features/inference-component/multiple_models_on_endpoint.ipynb` (abb17bb) and
`03-features/deployment/ic_rolling_deployment.ipynb` (399f6c5).
"""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import Request, urlopen

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers.constant_models import constant, number_of
from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.endpoint.helpers.model_artifacts import put
from tests.helpers.waiting import until

ROLE = "arn:aws:iam::123456789012:role/service-role/role"
TIMEOUT_S = 600
STARTUP = {
    "ModelDataDownloadTimeoutInSeconds": TIMEOUT_S,
    "ContainerStartupHealthCheckTimeoutInSeconds": TIMEOUT_S,
}
LOOKS = 60
"""How often a notebook looks whether a status has changed, half a minute apart."""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    options = ("--travelling-clock", "--aws-strict", "--device", "cpu")
    with LiveEndpoint(tmp_path_factory.mktemp("notebooks"), *options) as started:
        put(started.folder("shelf"), {f"{number}.tar.gz": constant(number) for number in (1, 2, 3)})
        yield started


def sleep(live: LiveEndpoint, seconds: float) -> None:
    with urlopen(Request(f"{live.url}/_torpor/clock?advance_s={seconds}", method="POST"), timeout=300) as answer:
        answer.read()


def soon(live: LiveEndpoint, condition: Callable[[], bool]) -> None:
    """A notebook looks, and sleeps for half a minute, until it is so."""
    for _ in range(LOOKS):
        if condition():
            return
        sleep(live, 30)
    until(condition, 120.0)  # copies start in real time


def endpoint(live: LiveEndpoint, name: str, instance_type: str, least: int, most: int) -> None:
    variant = {
        "VariantName": "main",
        "InstanceType": instance_type,
        "InitialInstanceCount": 1,
        "ContainerStartupHealthCheckTimeoutInSeconds": TIMEOUT_S,
        "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
        "ManagedInstanceScaling": {"Status": "ENABLED", "MinInstanceCount": least, "MaxInstanceCount": most},
    }
    live.sagemaker.create_endpoint_config(EndpointConfigName=name, ExecutionRoleArn=ROLE, ProductionVariants=[variant])
    live.sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=name)
    assert live.settled(name)["EndpointStatus"] == "InService"


def model(live: LiveEndpoint, name: str, number: int) -> None:
    container = {"Image": "torpor", "ModelDataUrl": f"s3://shelf/{number}.tar.gz", "Environment": {"HF_TOKEN": "t"}}
    live.sagemaker.create_model(ModelName=name, ExecutionRoleArn=ROLE, PrimaryContainer=container)


def specification(name: str, accelerators: int) -> dict[str, Any]:
    compute = {"MinMemoryRequiredInMb": 4096, "NumberOfAcceleratorDevicesRequired": accelerators}
    return {"ModelName": name, "StartupParameters": STARTUP, "ComputeResourceRequirements": compute}


def component(live: LiveEndpoint, on: str, name: str, number: int, accelerators: int = 1, copies: int = 1) -> None:
    model(live, name, number)
    live.sagemaker.create_inference_component(
        InferenceComponentName=f"ic-{name}",
        EndpointName=on,
        VariantName="main",
        Specification=specification(name, accelerators),
        RuntimeConfig={"CopyCount": copies},
    )
    settled(live, f"ic-{name}")


def shown(live: LiveEndpoint, name: str) -> Any:
    return live.sagemaker.describe_inference_component(InferenceComponentName=name)


def settled(live: LiveEndpoint, name: str) -> None:
    until(lambda: shown(live, name)["InferenceComponentStatus"] == "InService", 180.0)


def copies(live: LiveEndpoint, name: str) -> int:
    return int(shown(live, name)["RuntimeConfig"]["CurrentCopyCount"])


def instances(live: LiveEndpoint, name: str) -> int:
    described = live.sagemaker.describe_endpoint(EndpointName=name)
    return int(described["ProductionVariants"][0]["CurrentInstanceCount"])


def answer(live: LiveEndpoint, on: str, name: str) -> float:
    return number_of(live.invoke(on, b"1", InferenceComponentName=name))


def cleared(live: LiveEndpoint, on: str, *names: str) -> None:
    """As the notebooks end: the components, their models, the endpoint and its configuration."""
    for name in names:
        live.sagemaker.delete_inference_component(InferenceComponentName=f"ic-{name}")
        until(lambda: f"ic-{name}" not in listed(live, on), 120.0)  # noqa: B023 - it is called at once
        live.sagemaker.delete_model(ModelName=name)
    live.sagemaker.delete_endpoint(EndpointName=on)
    live.sagemaker.delete_endpoint_config(EndpointConfigName=on)


def listed(live: LiveEndpoint, on: str) -> list[str]:
    found = live.sagemaker.list_inference_components(EndpointNameEquals=on)["InferenceComponents"]
    return [one["InferenceComponentName"] for one in found]


def scaled_to_zero(live: LiveEndpoint, name: str) -> None:
    """The notebook's `setup_autoscaling`."""
    scaling = live.client("application-autoscaling")
    of = {
        "ServiceNamespace": "sagemaker",
        "ResourceId": f"inference-component/{name}",
        "ScalableDimension": "sagemaker:inference-component:DesiredCopyCount",
    }
    metric = "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution"
    tracking = {"PredefinedMetricSpecification": {"PredefinedMetricType": metric}, "TargetValue": 3}
    steps = {
        "AdjustmentType": "ChangeInCapacity",
        "MetricAggregationType": "Maximum",
        "Cooldown": 60,
        "StepAdjustments": [{"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}],
    }
    scaling.register_scalable_target(**of, MinCapacity=0, MaxCapacity=2)
    scaling.put_scaling_policy(
        PolicyName=f"target-tracking-{name}",
        PolicyType="TargetTrackingScaling",
        **of,
        TargetTrackingScalingPolicyConfiguration=tracking,
    )
    policy = scaling.put_scaling_policy(
        PolicyName=f"step-scaling-{name}", PolicyType="StepScaling", **of, StepScalingPolicyConfiguration=steps
    )
    live.cloudwatch.put_metric_alarm(
        AlarmName=f"scale-from-zero-{name}",
        AlarmActions=[policy["PolicyARN"]],
        MetricName="NoCapacityInvocationFailures",
        Namespace="AWS/SageMaker",
        Statistic="Maximum",
        Dimensions=[{"Name": "InferenceComponentName", "Value": name}],
        Period=30,
        EvaluationPeriods=1,
        DatapointsToAlarm=1,
        Threshold=1,
        ComparisonOperator="GreaterThanOrEqualToThreshold",
    )


@pytest.mark.thorough
def test_scale_down_to_zero(live: LiveEndpoint) -> None:
    endpoint(live, "zero", "ml.g5.12xlarge", 0, 2)
    component(live, "zero", "qwen", 1)
    assert answer(live, "zero", "ic-qwen") == 1.0
    scaled_to_zero(live, "ic-qwen")
    sleep(live, 900)
    soon(live, lambda: copies(live, "ic-qwen") == 0)
    assert shown(live, "ic-qwen")["InferenceComponentStatus"] == "InService"
    sleep(live, 600)
    soon(live, lambda: instances(live, "zero") == 0)
    with pytest.raises(ClientError, match="Inference Component has no capacity to process this request"):
        answer(live, "zero", "ic-qwen")
    sleep(live, 60)
    until(lambda: copies(live, "ic-qwen") == 1, 120.0)
    assert answer(live, "zero", "ic-qwen") == 1.0
    assert instances(live, "zero") == 1
    component(live, "zero", "gpt-oss", 2)  # the notebook's second component, beside it
    assert answer(live, "zero", "ic-gpt-oss") == 2.0
    live.cloudwatch.delete_alarms(AlarmNames=["scale-from-zero-ic-qwen"])
    cleared(live, "zero", "qwen", "gpt-oss")


def test_multiple_models_on_an_endpoint(live: LiveEndpoint) -> None:
    endpoint(live, "several", "ml.g5.12xlarge", 1, 2)
    for number, (name, accelerators) in enumerate((("one", 1), ("two", 2), ("three", 1)), start=1):
        component(live, "several", name, number, accelerators)
    assert [answer(live, "several", f"ic-{name}") for name in ("one", "two", "three")] == [1.0, 2.0, 3.0]
    assert instances(live, "several") == 1
    streamed = live.runtime.invoke_endpoint_with_response_stream(
        EndpointName="several", InferenceComponentName="ic-three", Body=b"1", ContentType="text/csv"
    )
    parts = b"".join(event["PayloadPart"]["Bytes"] for event in streamed["Body"])
    assert float(parts.decode().strip().strip("[]")) == 3.0
    cleared(live, "several", "one", "two", "three")


@pytest.mark.thorough
def test_a_rolling_update_of_a_component(live: LiveEndpoint) -> None:
    endpoint(live, "rolling", "ml.g5.4xlarge", 1, 4)
    component(live, "rolling", "old", 1, copies=2)
    assert (instances(live, "rolling"), copies(live, "ic-old")) == (2, 2)
    model(live, "new", 2)
    one = {"Type": "COPY_COUNT", "Value": 1}
    rolling = {
        "MaximumBatchSize": one,
        "WaitIntervalInSeconds": 60,
        "MaximumExecutionTimeoutInSeconds": 3600,
        "RollbackMaximumBatchSize": one,
    }
    live.sagemaker.update_inference_component(
        InferenceComponentName="ic-old",
        Specification=specification("new", 1),
        RuntimeConfig={"CopyCount": 2},
        DeploymentConfig={"RollingUpdatePolicy": rolling},
    )
    most, answers = 0, set[float]()

    def over() -> bool:
        nonlocal most
        most = max(most, instances(live, "rolling"))
        answers.add(answer(live, "rolling", "ic-old"))
        return bool(shown(live, "ic-old")["InferenceComponentStatus"] == "InService")

    soon(live, over)
    found = shown(live, "ic-old")
    assert found["Specification"]["ModelName"] == "new"
    assert found["LastDeploymentConfig"]["RollingUpdatePolicy"]["WaitIntervalInSeconds"] == 60
    assert (most, answers - {1.0, 2.0}, copies(live, "ic-old")) == (3, set(), 2)
    assert answer(live, "rolling", "ic-old") == 2.0
    sleep(live, 630)
    soon(live, lambda: instances(live, "rolling") == 2)
    live.sagemaker.delete_inference_component(InferenceComponentName="ic-old")
    until(lambda: "ic-old" not in listed(live, "rolling"), 120.0)
    for name in ("old", "new"):
        live.sagemaker.delete_model(ModelName=name)
    cleared(live, "rolling")
