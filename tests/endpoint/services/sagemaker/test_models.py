"""CreateModel and its family: refusals, records and answers."""

from typing import Any

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import ARN, MULTI_MODEL, InMemoryControlPlane

SINGLE = {"Image": "torpor", "ModelDataUrl": "s3://bucket/model.tar.gz"}


def archive(**source: str) -> dict[str, Any]:
    return {
        "S3DataSource": {"S3Uri": "s3://bucket/m.tar.gz", "S3DataType": "S3Object", "CompressionType": "Gzip", **source}
    }


DIRECT = {"InferenceExecutionConfig": {"Mode": "Direct"}}


def hosted(hostname: str, **more: Any) -> dict[str, Any]:
    return {**SINGLE, "ContainerHostname": hostname, **more}


def idle(seconds: str) -> dict[str, Any]:
    return {**SINGLE, "Environment": {"TORPOR_IDLE_SECONDS": seconds}}


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({}, "Exactly one of PrimaryContainer and Containers"),
        ({"Containers": []}, "Exactly one of PrimaryContainer and Containers"),
        ({"PrimaryContainer": SINGLE, "Containers": [SINGLE]}, "Exactly one of PrimaryContainer and Containers"),
        ({"Containers": [SINGLE], **DIRECT}, "Mode Direct needs Containers with more than one container"),
        ({"PrimaryContainer": SINGLE, **DIRECT}, "Mode Direct needs Containers with more than one container"),
        ({"Containers": [SINGLE, SINGLE], **DIRECT}, "every container must have a ContainerHostname"),
        ({"Containers": [hosted("a"), SINGLE]}, "all must have one"),
        ({"Containers": [hosted("a"), hosted("a")]}, "the same ContainerHostname twice"),
        ({"Containers": [MULTI_MODEL, MULTI_MODEL]}, "Only one container of an inference pipeline"),
        ({"Containers": [SINGLE, {"Mode": "MultiModel"}]}, "Container 2 of Containers: The container must have an"),
        ({"Containers": [idle("5"), idle("6")]}, "TORPOR_IDLE_SECONDS must be the same in all containers"),
        ({"PrimaryContainer": {"ModelPackageName": "p"}}, 'Could not find model package "arn'),
        ({"PrimaryContainer": {**SINGLE, "ModelPackageName": "p"}}, "says what Image would say"),
        ({"PrimaryContainer": {**SINGLE, "InferenceSpecificationName": "p"}}, "give ModelPackageName"),
        ({"PrimaryContainer": {**SINGLE, "AdditionalModelDataSources": [{}]}}, "AdditionalModelDataSources"),
        ({"PrimaryContainer": {"ModelDataUrl": "s3://b/k"}}, "must have an Image"),
        ({"PrimaryContainer": {**MULTI_MODEL, "ModelDataSource": archive()}}, "cannot be used with Mode MultiModel"),
        ({"PrimaryContainer": {"Image": "torpor", "Mode": "MultiModel"}}, "needs ModelDataUrl"),
        ({"PrimaryContainer": {**SINGLE, "Mode": "MultiModel"}}, "must be an S3 prefix"),
        ({"PrimaryContainer": {**SINGLE, "ModelDataSource": archive()}}, "Only one of"),
        (
            {"PrimaryContainer": {"Image": "i", "ModelDataSource": archive(S3DataType="S3Prefix")}},
            "CompressionType None",
        ),
        (
            {
                "PrimaryContainer": {
                    "Image": "i",
                    "ModelDataSource": archive(S3DataType="S3Prefix", CompressionType="None"),
                }
            },
            "S3Uri must end with a forward slash (/)",
        ),
        ({"PrimaryContainer": {"Image": "i", "ModelDataSource": archive(S3Uri="s3://bucket/m/")}}, "one object"),
        ({"PrimaryContainer": {"Image": "i", "ModelDataSource": archive(ManifestS3Uri="s3://b/m")}}, "ManifestS3Uri"),
        ({"PrimaryContainer": {"Image": "i", "ModelDataSource": {}}}, "must have S3DataSource"),
        ({"PrimaryContainer": {"Image": "i", "ModelDataUrl": "https://b.s3/k"}}, "must begin with s3://"),
        ({"PrimaryContainer": {**MULTI_MODEL, "ModelDataUrl": "s3://bucket/a/../b"}}, "'.' or '..' segment"),
        ({"PrimaryContainer": {**SINGLE, "Environment": {str(n): "" for n in range(101)}}}, "more than 100 entries"),
        ({"PrimaryContainer": {**SINGLE, "Environment": {"K": "é" * 513}}}, "longer than 1024 bytes"),
        ({"PrimaryContainer": {**SINGLE, "Environment": {"TORPOR_VCPU": "two"}}}, "Environment.TORPOR_VCPU is 'two'"),
        (
            {"PrimaryContainer": {**SINGLE, "Environment": {"TORPOR_IDLE_SECONDS": "-1"}}},
            "must be a number more than 0",
        ),
        ({"PrimaryContainer": {**SINGLE, "Environment": {"TORPOR_KEEP_ALIVE": "ever"}}}, "one of fixed, histogram"),
        (
            {"PrimaryContainer": {**MULTI_MODEL, "Environment": {"TORPOR_REVALIDATE": "true"}}},
            "neither true nor false, but `off`, `disk` or `resident`",
        ),
        ({"PrimaryContainer": {**SINGLE, "Environment": {"TORPOR_REVALIDATE": "resident"}}}, "for Mode MultiModel"),
        (
            {"PrimaryContainer": {**SINGLE, "Environment": {"TORPOR_TYPO": "1"}}},
            "TORPOR_TYPO is not a setting of Torpor",
        ),
        ({"PrimaryContainer": {**SINGLE, "Environment": {"TORPOR_POLICE": "LRU"}}}, "did you mean TORPOR_POLICY?"),
        (
            {"PrimaryContainer": {**SINGLE, "Environment": {"SAGEMAKER_HANDLER": "mine.py:handle"}}},
            "Environment.SAGEMAKER_HANDLER=mine.py:handle sets the handler service in AWS's images",
        ),
        (
            {"PrimaryContainer": {**SINGLE, "Environment": {"SAGEMAKER_PROGRAM": "/serve.py"}}},
            "below the artifact's code/",
        ),
        ({"PrimaryContainer": {**SINGLE, "Environment": {str(n): "x" * 1000 for n in range(33)}}}, "32768 bytes"),
    ],
)
def test_a_model_that_makes_no_sense_is_refused(
    control_plane: InMemoryControlPlane, params: dict[str, Any], text: str
) -> None:
    code, status, message = control_plane.refusal("CreateModel", ModelName="m", **params)
    assert (code, status) == ("ValidationException", 400)
    assert text in message
    assert control_plane("ListModels")["Models"] == []


def test_an_image_s_own_server_gets_the_variables_that_it_reads(control_plane: InMemoryControlPlane) -> None:
    container = {**SINGLE, "Image": "my/server:1", "Environment": {"SAGEMAKER_HANDLER": "mine.py:handle"}}
    assert control_plane("CreateModel", ModelName="foreign", PrimaryContainer=container)


@pytest.mark.parametrize(
    ("params", "names", "direct"),
    [
        ({"PrimaryContainer": hosted("ignored")}, ["primary"], False),
        ({"Containers": [SINGLE]}, ["primary"], False),
        ({"Containers": [SINGLE, MULTI_MODEL]}, ["container-1", "container-2"], False),
        ({"Containers": [hosted("a"), hosted("b")]}, ["a", "b"], False),
        ({"Containers": [hosted("a"), hosted("b")], **DIRECT}, ["a", "b"], True),
    ],
)
def test_each_container_has_a_name(
    control_plane: InMemoryControlPlane, params: dict[str, Any], names: list[str], direct: bool
) -> None:
    control_plane("CreateModel", ModelName="m", **params)
    model = control_plane.store.model("m")
    assert model is not None
    assert ([container.name for container in model.containers], model.direct) == (names, direct)


@pytest.mark.parametrize("place", [{"PrimaryContainer": MULTI_MODEL}, {"Containers": [MULTI_MODEL]}])
def test_a_multi_model_container_may_stand_in_either_place(
    control_plane: InMemoryControlPlane, place: dict[str, Any]
) -> None:
    assert control_plane("CreateModel", ModelName="Houses", **place) == {"ModelArn": f"{ARN}:model/houses"}
    model = control_plane.store.model("Houses")
    assert model is not None
    assert (model.containers[0].multi_model, model.containers[0].model_data_url) == (True, "s3://bucket/models")
    assert model.containers[0].model_cache


@pytest.mark.parametrize("isolated", [True, False])
def test_network_isolation_of_a_model_is_that_of_each_container(
    control_plane: InMemoryControlPlane, isolated: bool
) -> None:
    two = [{"Image": "torpor", "ModelDataUrl": f"s3://b/{name}"} for name in "xy"]
    control_plane("CreateModel", ModelName="m", Containers=two, EnableNetworkIsolation=isolated)
    model = control_plane.store.model("m")
    assert model is not None
    assert [one.network_isolated for one in model.containers] == [isolated, isolated]


def test_the_model_cache_can_be_switched_off(control_plane: InMemoryControlPlane) -> None:
    disabled = {**MULTI_MODEL, "MultiModelConfig": {"ModelCacheSetting": "Disabled"}}
    control_plane("CreateModel", ModelName="m", PrimaryContainer=disabled)
    model = control_plane.store.model("m")
    assert model is not None
    assert not model.containers[0].model_cache


def test_a_data_source_of_one_archive_is_the_url_of_that_archive(control_plane: InMemoryControlPlane) -> None:
    control_plane("CreateModel", ModelName="m", PrimaryContainer={"Image": "torpor", "ModelDataSource": archive()})
    model = control_plane.store.model("m")
    assert model is not None
    assert model.containers[0].model_data_url == "s3://bucket/m.tar.gz"


@pytest.mark.parametrize(
    ("source", "compressed"),
    [
        ({"S3Uri": "s3://bucket/m/", "S3DataType": "S3Prefix", "CompressionType": "None"}, False),
        ({"S3Uri": "s3://bucket/m", "CompressionType": "None"}, False),
        ({"S3Uri": "https://s3-us-west-2.amazonaws.com/bucket/m.tar.gz"}, True),
    ],
)
def test_a_data_source_may_be_files_as_they_are(
    control_plane: InMemoryControlPlane, source: dict[str, str], compressed: bool
) -> None:
    sent = {"Image": "torpor", "ModelDataSource": archive(**source)}
    control_plane("CreateModel", ModelName="m", PrimaryContainer=sent)
    model = control_plane.store.model("m")
    assert model is not None
    assert model.containers[0].compressed is compressed
    assert (model.containers[0].model_data_url or "").startswith("s3://bucket/m")
    assert control_plane("DescribeModel", ModelName="m")["PrimaryContainer"] == {"Mode": "SingleModel", **sent}


def test_a_model_is_described_as_it_was_sent(control_plane: InMemoryControlPlane) -> None:
    role = "arn:aws:iam::123456789012:role/r"
    tags = [{"Key": "team", "Value": "blue"}]
    control_plane("CreateModel", ModelName="M", PrimaryContainer=SINGLE, ExecutionRoleArn=role, Tags=tags)
    assert control_plane("DescribeModel", ModelName="M") == {
        "ModelName": "M",
        "ModelArn": f"{ARN}:model/m",
        "PrimaryContainer": {"Mode": "SingleModel", **SINGLE},
        "ExecutionRoleArn": role,
        "EnableNetworkIsolation": False,
        "CreationTime": 1000.0,
    }
    assert control_plane("ListTags", ResourceArn=f"{ARN}:model/m") == {"Tags": tags}


def test_a_deleted_model_is_gone_and_its_name_free(control_plane: InMemoryControlPlane) -> None:
    control_plane("CreateModel", ModelName="m", PrimaryContainer=SINGLE)
    control_plane("DeleteModel", ModelName="m")
    assert "Could not find" in control_plane.refusal("DescribeModel", ModelName="m")[2]
    control_plane("CreateModel", ModelName="m", PrimaryContainer=SINGLE)
