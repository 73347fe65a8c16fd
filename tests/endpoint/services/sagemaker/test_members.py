"""Every member of models, endpoint configurations, endpoints, components and experiments, beside botocore's model."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import MULTI_MODEL, InMemoryControlPlane, production
from torpor_account.aws.service_models import Shape, service_model
from torpor_account.aws.validation import violations
from torpor_endpoint.services.sagemaker.differences import DIFFERENCES
from torpor_endpoint.services.sagemaker.members.known import KNOWN, STRUCTURES, Treatment

OPERATIONS = ("CreateModel", "CreateEndpointConfig", "CreateEndpoint", "UpdateEndpoint")
EXPERIMENTS = ("CreateInferenceExperiment", "UpdateInferenceExperiment", "StopInferenceExperiment")
"""Tests of their own try these: `experiments/test_rules.py` and `experiments/test_running.py`."""
COMPONENTS = ("CreateInferenceComponent", "UpdateInferenceComponent", "UpdateInferenceComponentRuntimeConfig")
"""`components/test_component_members.py` tries these."""
MODEL = service_model("sagemaker")


def structures(shape: Shape) -> Iterator[Shape]:
    """This structure, and those within it that Torpor acts on."""
    yield shape
    for name, treatment in KNOWN[shape.name].items():
        member = shape.members[name]
        member = member.member if member.type_name == "list" else member
        if treatment is Treatment.ACTED_ON and member.type_name == "structure":
            yield from structures(member)


ROOTS = {
    operation: MODEL.operation_model(operation).input_shape for operation in (*OPERATIONS, *EXPERIMENTS, *COMPONENTS)
}
WALKED = {shape.name: shape for root in ROOTS.values() for shape in structures(root)}
OF_OTHERS = {shape.name for name in (*EXPERIMENTS, *COMPONENTS) for shape in structures(ROOTS[name])} - {
    shape.name for name in OPERATIONS for shape in structures(ROOTS[name])
}


@pytest.mark.parametrize("shape", WALKED.values(), ids=list(WALKED))
def test_every_member_of_the_service_model_is_known_and_no_other(shape: Shape) -> None:
    assert set(KNOWN[shape.name]) == set(shape.members)


@pytest.mark.parametrize("shape", WALKED.values(), ids=list(WALKED))
def test_each_structure_that_torpor_acts_on_has_its_table(shape: Shape) -> None:
    for name, treatment in KNOWN[shape.name].items():
        member = shape.members[name]
        member = member.member if member.type_name == "list" else member
        if treatment is Treatment.ACTED_ON and member.type_name == "structure":
            assert STRUCTURES[name] == member.name


def test_no_table_is_of_a_structure_that_nothing_leads_to() -> None:
    assert set(KNOWN) == set(WALKED)


# -- samples of what is kept and of what is refused --------------------------------------------------------------------
ROLE, VPC = "arn:aws:iam::123456789012:role/walk", {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]}
SOURCE = {"S3Uri": "s3://bucket/m.tar.gz", "S3DataType": "S3Object", "CompressionType": "Gzip"}
CAPTURE = {
    "InitialSamplingPercentage": 100,
    "DestinationS3Uri": "s3://bucket/captured",
    "CaptureOptions": [{"CaptureMode": "Input"}],
}
SAMPLES: dict[str, dict[str, Any]] = {
    "CreateModelInput": {"ExecutionRoleArn": ROLE, "VpcConfig": VPC},
    "ContainerDefinition": {
        "ContainerHostname": "first",
        "ImageConfig": {"RepositoryAccessMode": "Vpc"},
        "ContainerMetricsConfig": {"MetricsEndpoints": [{"MetricsEndpointPath": "/metrics"}]},
        "AdditionalModelDataSources": [{"ChannelName": "more", "S3DataSource": SOURCE}],
        "ModelPackageName": "package",
        "InferenceSpecificationName": "one",
    },
    "S3ModelDataSource": {
        "ModelAccessConfig": {"AcceptEula": True},
        "HubAccessConfig": {"HubContentArn": "arn:aws:sagemaker:us-east-1:123456789012:hub-content/h/Model/m/1.0.0"},
        "ManifestS3Uri": "s3://bucket/manifest",
        "ETag": "1",
        "ManifestEtag": "1",
    },
    "CreateEndpointConfigInput": {
        "KmsKeyId": "key",
        "VpcConfig": VPC,
        "EnableNetworkIsolation": True,
        "MetricsConfig": {"EnableEnhancedMetrics": True, "MetricPublishFrequencyInSeconds": 10},
        "CrossRegionTrafficConfig": {"MaxInvocationsPerSecondPerInstance": 5, "MaxCrossRegionPercentPerEndpoint": 5},
        "ExplainerConfig": {},
    },
    "DataCaptureConfig": {"KmsKeyId": "key"},
    "AsyncInferenceOutputConfig": {"KmsKeyId": "key"},
    "ProductionVariant": {
        "VariantInstanceProvisionTimeoutInSeconds": 300,
        "CoreDumpConfig": {"DestinationS3Uri": "s3://bucket/cores"},
        "VolumeSizeInGB": 30,
        "ModelDataDownloadTimeoutInSeconds": 60,
        "EnableSSMAccess": True,
        "RoutingConfig": {"RoutingStrategy": "PREFIX_AWARE", "PrefixAwareRoutingConfig": {"PrefixLength": 1024}},
        "InferenceAmiVersion": "al2-ami-sagemaker-inference-gpu-2",
        "CapacityReservationConfig": {"CapacityReservationPreference": "capacity-reservations-only"},
        "AcceleratorType": "ml.eia2.medium",
        "AcceleratorPartitionLayouts": [{"AcceleratorPartitionTypes": ["mig-3g.40gb"]}],
    },
    "CreateEndpointInput": {"DeploymentConfig": {"AutoRollbackConfiguration": {"Alarms": [{"AlarmName": "a"}]}}},
    "UpdateEndpointInput": {"DeploymentConfig": {"AutoRollbackConfiguration": {"Alarms": [{"AlarmName": "b"}]}}},
}


def of(treatment: Treatment) -> list[tuple[str, str]]:
    tables = {shape: known for shape, known in KNOWN.items() if shape not in OF_OTHERS}
    return [(shape, name) for shape, known in tables.items() for name, found in known.items() if found is treatment]


class Sent:
    """One call with one more member in one of its structures."""

    def __init__(self, shape: str, member: str) -> None:
        self.member = {member: SAMPLES[shape][member]}
        self.variant = self._more(shape, "ProductionVariant", production(ModelName="one"))
        source = self._more(shape, "S3ModelDataSource", SOURCE)
        container = {"Image": "torpor", "ModelDataSource": {"S3DataSource": source}}
        container = self._more(shape, "ContainerDefinition", container)
        capture = self._more(shape, "DataCaptureConfig", CAPTURE)
        config = {"EndpointConfigName": "c", "ProductionVariants": [self.variant], "DataCaptureConfig": capture}
        if shape == "AsyncInferenceOutputConfig":
            output = {"S3OutputPath": "s3://bucket/out", **self.member}
            config = {**config, "AsyncInferenceConfig": {"OutputConfig": output}}
            del config["DataCaptureConfig"]
        named = {"EndpointName": "e", "EndpointConfigName": "plain"}
        self.params = {
            "CreateModel": self._more(shape, "CreateModelInput", {"ModelName": "m", "PrimaryContainer": container}),
            "CreateEndpointConfig": self._more(shape, "CreateEndpointConfigInput", config),
            "CreateEndpoint": self._more(shape, "CreateEndpointInput", named),
            "UpdateEndpoint": self._more(shape, "UpdateEndpointInput", named),
        }
        self.operation = next(name for name in OPERATIONS if shape in {each.name for each in structures(ROOTS[name])})

    def _more(self, shape: str, here: str, members: dict[str, Any]) -> dict[str, Any]:
        return {**members, **self.member} if shape == here else dict(members)


@pytest.fixture
def control_plane() -> Iterator[InMemoryControlPlane]:
    plane = InMemoryControlPlane()
    plane("CreateModel", ModelName="one", PrimaryContainer={"Image": "torpor"})
    plane.configure("plain", production(ModelName="one"))
    yield plane
    plane.close()


def contains(described: Any, member: dict[str, Any]) -> bool:
    if isinstance(described, dict):
        here = member.items() <= described.items()
        return here or any(contains(value, member) for value in described.values())
    return isinstance(described, list) and any(contains(value, member) for value in described)


@pytest.mark.parametrize(("shape", "member"), of(Treatment.KEPT))
def test_what_is_kept_is_described(control_plane: InMemoryControlPlane, shape: str, member: str) -> None:
    sent = Sent(shape, member)
    if sent.operation == "UpdateEndpoint":
        control_plane("CreateEndpoint", EndpointName="e", EndpointConfigName="plain")
        control_plane.settle("e")
    params = sent.params[sent.operation]
    assert list(violations(params, ROOTS[sent.operation])) == []  # the sample is one that AWS takes
    control_plane(sent.operation, **params)
    described = {
        "CreateModel": lambda: control_plane("DescribeModel", ModelName="m"),
        "CreateEndpointConfig": lambda: control_plane("DescribeEndpointConfig", EndpointConfigName="c"),
    }.get(sent.operation, lambda: {"DeploymentConfig": control_plane.describe("e")["LastDeploymentConfig"]})()
    assert contains(described, sent.member)


@pytest.mark.parametrize(("shape", "member"), of(Treatment.REFUSED))
def test_what_is_refused_is_named(control_plane: InMemoryControlPlane, shape: str, member: str) -> None:
    sent = Sent(shape, member)
    params = sent.params[sent.operation]
    assert list(violations(params, ROOTS[sent.operation])) == []
    code, _, message = control_plane.refusal(sent.operation, **params)
    assert (code, member in message) == ("ValidationException", True)


@pytest.mark.parametrize(("shape", "member"), [*of(Treatment.KEPT), *of(Treatment.REFUSED)])
def test_the_documentation_names_what_is_kept_and_what_is_refused(shape: str, member: str) -> None:
    operation = next(name for name in OPERATIONS if shape in {each.name for each in structures(ROOTS[name])})
    assert member in DIFFERENCES[operation]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_member_of_a_newer_service_model_is_refused(control_plane: InMemoryControlPlane, operation: str) -> None:
    params = Sent("CreateModelInput", "VpcConfig").params[operation]
    assert "Torpor does not know Newest" in control_plane.refusal(operation, **params, Newest=True)[2]


def test_a_new_member_of_a_variant_or_a_container_is_refused(control_plane: InMemoryControlPlane) -> None:
    variants = [production(ModelName="one", Newest=1)]
    refused = control_plane.refusal("CreateEndpointConfig", EndpointConfigName="c", ProductionVariants=variants)
    assert "Torpor does not know Newest" in refused[2]
    serverless = {"MemorySizeInMB": 1024, "MaxConcurrency": 1, "Newest": 1}
    variants = [{"VariantName": "v", "ModelName": "one", "ServerlessConfig": serverless}]
    refused = control_plane.refusal("CreateEndpointConfig", EndpointConfigName="c", ProductionVariants=variants)
    assert "Torpor does not know Newest" in refused[2]
    for newest in ({**CAPTURE, "Newest": 1}, {**CAPTURE, "CaptureOptions": [{"CaptureMode": "Input", "Newest": 1}]}):
        config = {"EndpointConfigName": "c", "ProductionVariants": [production(ModelName="one")]}
        refused = control_plane.refusal("CreateEndpointConfig", **config, DataCaptureConfig=newest)
        assert "Torpor does not know Newest" in refused[2]
    container = {**MULTI_MODEL, "Newest": 1}
    for members in ({"PrimaryContainer": container}, {"Containers": [container]}):
        refused = control_plane.refusal("CreateModel", ModelName="m", **members)
        assert "Torpor does not know Newest" in refused[2]


@pytest.mark.parametrize(
    ("members", "variant", "text"),
    [
        ({"MetricsConfig": {"MetricPublishFrequencyInSeconds": 15}}, {}, "must be one of 10, 30, 60, 120, 180, 240"),
        (
            {"CrossRegionTrafficConfig": {}},
            {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 1}},
            "CrossRegionTrafficConfig cannot be used with ServerlessConfig",
        ),
        (
            {},
            {"RoutingConfig": {"RoutingStrategy": "RANDOM", "PrefixAwareRoutingConfig": {}}},
            "PrefixAwareRoutingConfig needs RoutingStrategy PREFIX_AWARE",
        ),
    ],
)
def test_members_that_exclude_each_other_are_refused(
    control_plane: InMemoryControlPlane, members: dict[str, Any], variant: dict[str, Any], text: str
) -> None:
    variants = [production(ModelName="one", **variant)]
    refused = control_plane.refusal(
        "CreateEndpointConfig", EndpointConfigName="c", ProductionVariants=variants, **members
    )
    assert text in refused[2]
