"""The model registry: versions of groups, their approval, and models that are made of packages."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import ARN, InMemoryControlPlane

ONE = {"Image": "torpor", "ModelDataUrl": "s3://bucket/one.tar.gz", "Environment": {"A": "1", "B": "1"}}
TWO = {"Image": "torpor", "ModelDataUrl": "s3://bucket/two.tar.gz"}


def specification(*containers: dict[str, Any]) -> dict[str, Any]:
    return {"Containers": list(containers), "SupportedContentTypes": [], "SupportedResponseMIMETypes": []}


@pytest.fixture
def plane() -> Iterator[InMemoryControlPlane]:
    plane = InMemoryControlPlane()
    plane("CreateModelPackageGroup", ModelPackageGroupName="Iris")
    yield plane
    plane.close()


def refused(plane: InMemoryControlPlane, operation: str, **members: Any) -> str:
    return str(plane.refusal(operation, **members)[2])


def registered(plane: InMemoryControlPlane, **members: Any) -> str:
    given = {"ModelPackageGroupName": "Iris", "InferenceSpecification": specification(ONE), **members}
    return str(plane("CreateModelPackage", **given)["ModelPackageArn"])


def test_versions_of_a_group_are_numbered_and_no_number_comes_twice(plane: InMemoryControlPlane) -> None:
    first, second = registered(plane), registered(plane)
    assert [first, second] == [f"{ARN}:model-package/iris/{number}" for number in (1, 2)]
    plane("DeleteModelPackage", ModelPackageName=second)
    assert registered(plane).endswith("/iris/3")
    listed = plane("ListModelPackages", ModelPackageGroupName="Iris")["ModelPackageSummaryList"]
    assert [one["ModelPackageVersion"] for one in listed] == [1, 3]
    assert plane("ListModelPackages")["ModelPackageSummaryList"] == []  # AWS: only those without a group


def test_a_retried_call_makes_no_other_version(plane: InMemoryControlPlane) -> None:
    assert registered(plane, ClientToken="t") == registered(plane, ClientToken="t")
    assert registered(plane, ClientToken="u").endswith("/iris/2")


def test_a_package_is_described_as_it_was_registered_and_updated(plane: InMemoryControlPlane) -> None:
    arn = registered(plane, ModelPackageDescription="first", CustomerMetadataProperties={"a": "1", "b": "1"})
    plane(
        "UpdateModelPackage",
        ModelPackageArn=arn,
        ModelApprovalStatus="Approved",
        ApprovalDescription="good",
        CustomerMetadataProperties={"c": "1"},
        CustomerMetadataPropertiesToRemove=["a"],
        AdditionalInferenceSpecificationsToAdd=[{"Name": "other", "Containers": [TWO]}],
    )
    told = plane("DescribeModelPackage", ModelPackageName=arn)
    assert (told["ModelPackageGroupName"], told["ModelPackageVersion"]) == ("Iris", 1)
    assert (told["ModelApprovalStatus"], told["ApprovalDescription"]) == ("Approved", "good")
    assert told["CustomerMetadataProperties"] == {"b": "1", "c": "1"}
    assert told["ModelPackageDescription"] == "first"
    approved = plane("ListModelPackages", ModelPackageGroupName="Iris", ModelApprovalStatus="Approved")
    assert [one["ModelPackageArn"] for one in approved["ModelPackageSummaryList"]] == [arn]


def test_a_model_is_made_of_an_approved_package_alone(plane: InMemoryControlPlane) -> None:
    arn = registered(plane)
    container = {"ModelPackageName": arn, "Environment": {"B": "2"}}
    told = refused(plane, "CreateModel", ModelName="iris", PrimaryContainer=container)
    assert "is PendingManualApproval: only one whose ModelApprovalStatus is Approved" in told
    plane("UpdateModelPackage", ModelPackageArn=arn, ModelApprovalStatus="Approved")
    plane("CreateModel", ModelName="iris", PrimaryContainer=container)
    model = plane.store.model("iris")
    assert model is not None
    [made] = model.containers
    assert (made.image, made.model_data_url) == ("torpor", "s3://bucket/one.tar.gz")
    assert made.environment == {"A": "1", "B": "2"}
    assert plane("DescribeModel", ModelName="iris")["PrimaryContainer"]["ModelPackageName"] == arn


def test_a_model_may_name_one_of_the_additional_specifications(plane: InMemoryControlPlane) -> None:
    arn = registered(
        plane,
        ModelApprovalStatus="Approved",
        AdditionalInferenceSpecifications=[{"Name": "other", "Containers": [TWO]}],
    )
    named = {"ModelPackageName": arn, "InferenceSpecificationName": "other"}
    plane("CreateModel", ModelName="iris", PrimaryContainer=named)
    model = plane.store.model("iris")
    assert model is not None
    assert model.containers[0].model_data_url == "s3://bucket/two.tar.gz"
    unknown = {"ModelPackageName": arn, "InferenceSpecificationName": "none"}
    assert "has no InferenceSpecificationName none" in refused(
        plane, "CreateModel", ModelName="other", PrimaryContainer=unknown
    )


def test_a_group_that_has_packages_stays(plane: InMemoryControlPlane) -> None:
    arn = registered(plane)
    assert "delete them first" in refused(plane, "DeleteModelPackageGroup", ModelPackageGroupName="Iris")
    plane("DeleteModelPackage", ModelPackageName=arn)
    plane("DeleteModelPackageGroup", ModelPackageGroupName="Iris")
    gone = {"ModelPackageGroupName": "Iris"}
    assert "does not exist" in refused(plane, "DescribeModelPackageGroup", **gone)
    assert "Cannot find Model Package Group" in refused(plane, "GetModelPackageGroupPolicy", **gone)


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"ModelPackageName": "p", "ModelPackageGroupName": "Iris"}, "Both ModelPackageName and ModelPackageGroupName"),
        ({}, "Missing ARN."),
        ({"ModelPackageGroupName": "Iris", "Tags": [{"Key": "a", "Value": "b"}]}, "tag its group"),
        ({"ModelPackageName": "p", "ModelApprovalStatus": "Approved"}, "is for a versioned model package"),
        ({"ModelPackageGroupName": "none"}, "does not exist"),
    ],
)
def test_a_package_that_is_neither_one_nor_the_other_is_refused(
    plane: InMemoryControlPlane, members: dict[str, Any], text: str
) -> None:
    assert text in refused(plane, "CreateModelPackage", **members)


def test_no_other_account_shares_a_group(plane: InMemoryControlPlane) -> None:
    for option, names in (("SameAccount", ["Iris"]), ("CrossAccount", [])):
        listed = plane("ListModelPackageGroups", CrossAccountFilterOption=option)["ModelPackageGroupSummaryList"]
        assert [one["ModelPackageGroupName"] for one in listed] == names


def test_a_package_with_a_source_that_would_be_left_out_makes_no_model(plane: InMemoryControlPlane) -> None:
    source = {"S3DataType": "S3Object", "S3Uri": "s3://bucket/more.tar.gz"}
    further = specification({**ONE, "AdditionalS3DataSource": source})
    arn = registered(plane, InferenceSpecification=further, ModelApprovalStatus="Approved")
    told = refused(plane, "CreateModel", ModelName="iris", PrimaryContainer={"ModelPackageName": arn})
    assert "AdditionalS3DataSource of model package" in told
