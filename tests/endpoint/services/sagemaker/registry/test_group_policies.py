"""Resource policies of groups, batches of packages, and the events of packages."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import InMemoryControlPlane
from torpor_endpoint.core.registry.package_records import ModelPackage
from torpor_endpoint.services.sagemaker.registry.package_events import event_detail

POLICY = '{"Statement": [{"Effect": "Allow"}]}'
ONE = {"Containers": [{"Image": "torpor", "ModelDataUrl": "s3://bucket/one.tar.gz"}]}
SPECIFICATION = {**ONE, "SupportedContentTypes": [], "SupportedResponseMIMETypes": []}


@pytest.fixture
def plane() -> Iterator[InMemoryControlPlane]:
    plane = InMemoryControlPlane()
    plane("CreateModelPackageGroup", ModelPackageGroupName="Iris")
    yield plane
    plane.close()


def test_a_policy_is_kept_until_it_is_deleted(plane: InMemoryControlPlane) -> None:
    assert "Cannot find resource policy" in plane.refusal("GetModelPackageGroupPolicy", ModelPackageGroupName="Iris")[2]
    plane("PutModelPackageGroupPolicy", ModelPackageGroupName="Iris", ResourcePolicy=POLICY)
    assert plane("GetModelPackageGroupPolicy", ModelPackageGroupName="Iris") == {"ResourcePolicy": POLICY}
    plane("DeleteModelPackageGroupPolicy", ModelPackageGroupName="Iris")
    assert (
        "Cannot find resource policy" in plane.refusal("DeleteModelPackageGroupPolicy", ModelPackageGroupName="Iris")[2]
    )
    for text in ("[]", "[" * 20_000):
        told = plane.refusal("PutModelPackageGroupPolicy", ModelPackageGroupName="Iris", ResourcePolicy=text)[2]
        assert "must be a policy document" in told


def test_a_batch_tells_of_each_package_and_of_each_that_is_not_there(plane: InMemoryControlPlane) -> None:
    made = plane("CreateModelPackage", ModelPackageGroupName="Iris", InferenceSpecification=SPECIFICATION)
    arn = made["ModelPackageArn"]
    told = plane("BatchDescribeModelPackage", ModelPackageArnList=[arn, arn[:-1] + "7"])
    assert told["ModelPackageSummaries"][arn]["ModelApprovalStatus"] == "PendingManualApproval"
    assert told["BatchDescribeModelPackageErrorMap"][arn[:-1] + "7"]["ErrorCode"] == "ValidationException"


def test_a_package_is_told_of_when_it_is_made_and_when_its_approval_changes(plane: InMemoryControlPlane) -> None:
    told: list[ModelPackage] = []
    plane.control = replace(plane.control, package_changed=told.append)
    given = {"ModelPackageGroupName": "Iris", "InferenceSpecification": SPECIFICATION, "ClientToken": "t"}
    [arn] = {plane("CreateModelPackage", **given)["ModelPackageArn"] for _ in range(2)}
    for status in ("Approved", "Approved", "Rejected"):
        plane("UpdateModelPackage", ModelPackageArn=arn, ModelApprovalStatus=status)
    assert [one.approval for one in told] == ["PendingManualApproval", "Approved", "Rejected"]
    detail = event_detail(told[1])
    assert (detail["ModelPackageGroupName"], detail["ModelPackageVersion"]) == ("Iris", 1)
    assert (detail["ModelApprovalStatus"], detail["CreationTime"]) == ("Approved", "1970-01-01T00:16:40Z")
