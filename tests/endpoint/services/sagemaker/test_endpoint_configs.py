"""CreateEndpointConfig and its family: every rule on variants, and the additions of strict mode."""

from typing import Any

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import (
    ARN,
    MULTI_MODEL,
    InMemoryControlPlane,
    production,
    serverless,
)

SINGLE = {"Image": "torpor"}
SLEEPER = production(ServerlessConfig=serverless())
OUTPUT = {"S3OutputPath": "s3://bucket/out"}


def hosted(hostname: str, many: bool = False) -> dict[str, Any]:
    """A container of several, for many models or for one."""
    mode = {"Mode": "MultiModel", "ModelDataUrl": "s3://b/p/"} if many else {}
    return {**SINGLE, "ContainerHostname": hostname, **mode}


@pytest.fixture(autouse=True)
def _model(control_plane: InMemoryControlPlane, strict_control_plane: InMemoryControlPlane) -> None:
    for each in (control_plane, strict_control_plane):
        each("CreateModel", ModelName="ep", PrimaryContainer=MULTI_MODEL)
        each("CreateModel", ModelName="one", PrimaryContainer={"Image": "torpor"})


def waiting(output: dict[str, Any], **members: Any) -> dict[str, Any]:
    """The members of an asynchronous endpoint."""
    return {"AsyncInferenceConfig": {"OutputConfig": output}, **members}


def capture(**members: Any) -> dict[str, Any]:
    """A DataCaptureConfig."""
    both = [{"CaptureMode": "Input"}, {"CaptureMode": "Output"}]
    needed = {"InitialSamplingPercentage": 20, "DestinationS3Uri": "s3://bucket/captured", "CaptureOptions": both}
    return {**needed, **members}


def scaled(least: int, most: int, count: int = 1, **members: Any) -> dict[str, Any]:
    scaling = {"Status": "ENABLED", "MinInstanceCount": least, "MaxInstanceCount": most, **members}
    return production(InitialInstanceCount=count, ManagedInstanceScaling=scaling)


@pytest.mark.parametrize(
    ("variant", "text"),
    [
        (
            production(ServerlessConfig=serverless(), InstanceType="ml.m5.large"),
            "ServerlessConfig excludes InstanceType",
        ),
        (production(ServerlessConfig=serverless(), InitialInstanceCount=1), "ServerlessConfig excludes InstanceType"),
        ({"VariantName": "v", "ModelName": "ep"}, "needs either ServerlessConfig, or InstanceType"),
        ({"VariantName": "v", "ModelName": "ep", "InstanceType": "ml.m5.large"}, "needs either ServerlessConfig"),
        (production(InstanceType="ml.m5.gigantic"), "no instance type ml.m5.gigantic"),
        (
            production(ServerlessConfig=serverless(1536)),
            "1 validation error detected: Value '1536' at 'productionVariants.1.member.serverlessConfig.memorySizeInMB'"
            " failed to satisfy constraint: Member must satisfy enum value set: [1024, 2048, 3072, 4096, 5120, 6144]",
        ),
        (
            production(ServerlessConfig=serverless(7168)),
            "Value '7168' at 'productionVariants.1.member.serverlessConfig",
        ),
        (production(ServerlessConfig=serverless(ProvisionedConcurrency=6)), "ProvisionedConcurrency must not be"),
        (production(ServerlessConfig=serverless(), ManagedInstanceScaling={}), "excludes ManagedInstanceScaling"),
        (scaled(3, 2), "MinInstanceCount must not be greater"),
        (scaled(0, 2, count=3), "InitialInstanceCount must lie within"),
        (scaled(2, 3, count=1), "InitialInstanceCount must lie within"),
    ],
)
def test_a_variant_that_makes_no_sense_is_refused(
    control_plane: InMemoryControlPlane, variant: dict[str, Any], text: str
) -> None:
    config = {"EndpointConfigName": "c", "ProductionVariants": [variant]}
    code, _, message = control_plane.refusal("CreateEndpointConfig", **config)
    assert code == "ValidationException"
    assert text in message
    assert control_plane("ListEndpointConfigs")["EndpointConfigs"] == []


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"ProductionVariants": []}, "at least one"),
        ({"ProductionVariants": [production(), production()]}, "must be unique"),
        (waiting({"S3OutputPath": "s3:"}), "S3OutputPath of AsyncInferenceConfig must"),
        (waiting({**OUTPUT, "S3FailurePath": "x"}), "S3FailurePath of AsyncInferenceConfig must"),
        (waiting(OUTPUT, DataCaptureConfig=capture()), "DataCaptureConfig beside AsyncInferenceConfig"),
        (waiting(OUTPUT, ProductionVariants=[SLEEPER]), "AsyncInferenceConfig excludes ServerlessConfig"),
        (
            waiting(OUTPUT, ShadowProductionVariants=[production(VariantName="s")]),
            "AsyncInferenceConfig excludes ShadowProductionVariants",
        ),
        ({"ShadowProductionVariants": [production()]}, "must be unique"),
        ({"ShadowProductionVariants": [{"VariantName": "new", "ModelName": "ep"}]}, '"new" needs either'),
        ({"ExplainerConfig": {}}, "ExplainerConfig is not supported"),
        ({"DataCaptureConfig": capture(DestinationS3Uri="https://example.com/x")}, "DestinationS3Uri of DataCapture"),
    ],
)
def test_a_configuration_that_torpor_cannot_serve_is_refused_at_once(
    control_plane: InMemoryControlPlane, params: dict[str, Any], text: str
) -> None:
    config = {"EndpointConfigName": "c", "ProductionVariants": [production()], **params}
    assert text in control_plane.refusal("CreateEndpointConfig", **config)[2]


def test_data_capture_is_enabled_unless_its_config_says_otherwise(control_plane: InMemoryControlPlane) -> None:
    for name, members in (("on", {}), ("off", {"EnableCapture": False})):
        config = {"EndpointConfigName": name, "ProductionVariants": [production()]}
        control_plane("CreateEndpointConfig", **config, DataCaptureConfig=capture(**members))
        described = control_plane("DescribeEndpointConfig", EndpointConfigName=name)["DataCaptureConfig"]
        assert described == {**capture(), "EnableCapture": name == "on"}


def test_strict_mode_refuses_data_capture_of_a_serverless_variant(
    control_plane: InMemoryControlPlane, strict_control_plane: InMemoryControlPlane
) -> None:
    variants = [production(ModelName="one", ServerlessConfig=serverless())]
    config = {"EndpointConfigName": "c", "ProductionVariants": variants, "DataCaptureConfig": capture()}
    refusal = strict_control_plane.refusal("CreateEndpointConfig", **config)
    assert refusal[::2] == ("ValidationException", "DataCaptureConfig is not supported with ServerlessConfig.")
    off = {**config, "DataCaptureConfig": capture(EnableCapture=False)}
    for each, allowed in ((control_plane, config), (strict_control_plane, off)):
        assert each("CreateEndpointConfig", **allowed) == {"EndpointConfigArn": f"{ARN}:endpoint-config/c"}


@pytest.mark.parametrize(
    ("variants", "text"),
    [
        ([production(ServerlessConfig=serverless())], "Multi-model endpoints are not supported with ServerlessConfig"),
        ([scaled(0, 2)], "MinInstanceCount 0 is supported for inference components only"),
        ([production(), production(VariantName="b", ModelName="one", ServerlessConfig=serverless())], "one production"),
    ],
)
def test_strict_mode_refuses_what_aws_refuses(
    control_plane: InMemoryControlPlane,
    strict_control_plane: InMemoryControlPlane,
    variants: list[dict[str, Any]],
    text: str,
) -> None:
    config = {"EndpointConfigName": "c", "ProductionVariants": variants}
    code, _, message = strict_control_plane.refusal("CreateEndpointConfig", **config)
    assert (code, text in message) == ("ValidationException", True)
    assert control_plane("CreateEndpointConfig", **config) == {"EndpointConfigArn": f"{ARN}:endpoint-config/c"}


@pytest.mark.parametrize(
    ("model", "variant", "text"),
    [
        ({"Containers": [SINGLE, SINGLE]}, {"ServerlessConfig": serverless()}, "several containers"),
        (
            {"Containers": [hosted("a"), hosted("b", many=True)], "InferenceExecutionConfig": {"Mode": "Direct"}},
            {},
            "Mode MultiModel is not supported with InferenceExecutionConfig.Mode Direct",
        ),
    ],
)
def test_strict_mode_refuses_what_aws_refuses_of_several_containers(
    control_plane: InMemoryControlPlane,
    strict_control_plane: InMemoryControlPlane,
    model: dict[str, Any],
    variant: dict[str, Any],
    text: str,
) -> None:
    config = {"EndpointConfigName": "c", "ProductionVariants": [production(ModelName="both", **variant)]}
    for each in (control_plane, strict_control_plane):
        each("CreateModel", ModelName="both", **model)
    assert text in strict_control_plane.refusal("CreateEndpointConfig", **config)[2]
    assert control_plane("CreateEndpointConfig", **config) == {"EndpointConfigArn": f"{ARN}:endpoint-config/c"}


@pytest.mark.parametrize(
    "members",
    [
        {"VpcConfig": {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]}},
        {"EnableNetworkIsolation": True},
    ],
    ids=lambda members: next(iter(members)),
)
def test_strict_mode_refuses_what_serverless_inference_has_not(
    control_plane: InMemoryControlPlane, strict_control_plane: InMemoryControlPlane, members: dict[str, Any]
) -> None:
    config = {
        "EndpointConfigName": "c",
        "ProductionVariants": [production(ModelName="m", ServerlessConfig=serverless())],
    }
    for each in (control_plane, strict_control_plane):
        each("CreateModel", ModelName="m", PrimaryContainer={"Image": "torpor"}, **members)
    assert f"with {next(iter(members))}" in strict_control_plane.refusal("CreateEndpointConfig", **config)[2]
    assert control_plane("CreateEndpointConfig", **config) == {"EndpointConfigArn": f"{ARN}:endpoint-config/c"}


@pytest.mark.parametrize(
    "variant",
    [
        production(),
        production(ModelName="one", ServerlessConfig=serverless()),
        scaled(1, 4),
        scaled(0, 4, Status="DISABLED"),
    ],
)
def test_strict_mode_accepts_what_aws_accepts(
    strict_control_plane: InMemoryControlPlane, variant: dict[str, Any]
) -> None:
    strict_control_plane.configure("c", variant)
    described = strict_control_plane("DescribeEndpointConfig", EndpointConfigName="c")["ProductionVariants"]
    assert described == [{**variant, "InitialVariantWeight": 1.0}]


def test_a_config_is_described_as_it_was_sent(control_plane: InMemoryControlPlane) -> None:
    control_plane.configure("C", production(RoutingConfig={"RoutingStrategy": "RANDOM"}))
    assert control_plane("DescribeEndpointConfig", EndpointConfigName="C") == {
        "EndpointConfigName": "C",
        "EndpointConfigArn": f"{ARN}:endpoint-config/c",
        "ProductionVariants": [production(RoutingConfig={"RoutingStrategy": "RANDOM"}, InitialVariantWeight=1.0)],
        "EnableNetworkIsolation": False,
        "CreationTime": 1000.0,
    }


@pytest.mark.parametrize(
    ("own_mib", "text"),
    [
        (
            ("600", "500", None),
            "their own values are 1100 MiB together, and the instance has 1024 MiB for all containers",
        ),
        (("1024", None, None), "the instance has 1024 MiB for all containers, also for those without a value"),
        (("512", "512"), None),
    ],
)
def test_containers_whose_own_memory_exceeds_the_instance_are_refused(
    control_plane: InMemoryControlPlane, own_mib: tuple[str | None, ...], text: str | None
) -> None:
    environments = [{"TORPOR_MEMORY_MIB": mib} if mib else {} for mib in own_mib]
    containers = [{"Image": "torpor", "Environment": environment} for environment in environments]
    control_plane("CreateModel", ModelName="several", Containers=containers)
    variant = {"VariantName": "v", "ModelName": "several", "ServerlessConfig": serverless(1024)}
    config = {"EndpointConfigName": "c", "ProductionVariants": [variant]}
    if text is None:
        control_plane("CreateEndpointConfig", **config)
        return
    code, _, message = control_plane.refusal("CreateEndpointConfig", **config)
    assert code == "ValidationException"
    assert "Environment.TORPOR_MEMORY_MIB" in message
    assert text in message


def test_of_several_instance_pools_the_one_of_the_highest_priority_has_all_instances_and_its_own_model(
    control_plane: InMemoryControlPlane,
) -> None:
    control_plane("CreateModel", ModelName="large", PrimaryContainer={"Image": "torpor", "Environment": {"A": "1"}})
    pools = [
        {"InstanceType": "ml.m5.large", "Priority": 2},
        {"InstanceType": "ml.m5.xlarge", "Priority": 1, "ModelNameOverride": "large"},
    ]
    variant = {key: value for key, value in production(ModelName="one").items() if key != "InstanceType"}
    variant |= {"InstancePools": pools, "VariantInstanceProvisionTimeoutInSeconds": 600}
    control_plane.configure("pools", variant)
    control_plane("CreateEndpoint", EndpointName="pools", EndpointConfigName="pools")
    control_plane.settle("pools")
    record = control_plane.store.endpoint("pools")
    assert record is not None
    (stored,) = record.variants
    assert (stored.instance_type, stored.model_name) == ("ml.m5.xlarge", "large")
    assert stored.containers[0].environment == {"A": "1"}
    control_plane.ready, control_plane.types = {"AllTraffic": 1}, {"AllTraffic": {"ml.m5.xlarge": 1}}
    assert control_plane.describe("pools")["ProductionVariants"][0]["InstancePools"] == [
        {"InstanceType": "ml.m5.xlarge", "CurrentInstanceCount": 1},
        {"InstanceType": "ml.m5.large", "CurrentInstanceCount": 0},
    ]
    shown = control_plane("DescribeEndpointConfig", EndpointConfigName="pools")["ProductionVariants"][0]
    assert shown["InstancePools"] == pools
    unknown = {**variant, "ModelName": "gone"}
    refused = control_plane.refusal("CreateEndpointConfig", EndpointConfigName="gone", ProductionVariants=[unknown])
    assert 'Could not find model "' in refused[2]
    pools[0]["ModelNameOverride"] = "gone"
    refused = control_plane.refusal("CreateEndpointConfig", EndpointConfigName="gone", ProductionVariants=[variant])
    assert 'Could not find model "' in refused[2]


def test_a_serverless_variant_has_no_instance_pools(control_plane: InMemoryControlPlane) -> None:
    variant = {**SLEEPER, "InstancePools": [{"InstanceType": "ml.m5.large", "Priority": 1}]}
    refused = control_plane.refusal("CreateEndpointConfig", EndpointConfigName="pools", ProductionVariants=[variant])
    assert "ServerlessConfig excludes InstancePools" in refused[2]
