"""A prefix that a group feeds: what an approval puts there, what takes it back, and what is refused as a whole."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import InMemoryControlPlane, production
from torpor_account.s3.access.embedded import NotStored, ObjectHead, as_endpoint
from torpor_endpoint.services.sagemaker.registry.prefix_feeding import FeedingSite, PrefixFeeding


class Bucket:
    """A storage that is a dictionary. An ETag is the content itself."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def keys(self, bucket: str, prefix: str) -> list[str]:
        return sorted(key for key in self.objects if key.startswith(prefix))

    def head(self, bucket: str, key: str) -> ObjectHead:
        if key not in self.objects:
            raise NotStored(f"s3://{bucket}/{key}: NoSuchKey")
        return ObjectHead(len(self.objects[key]), "", self.objects[key].decode())

    def fetch(self, bucket: str, key: str, into: Path) -> None:
        into.write_bytes(self.objects[key])

    def put(self, file: Path, bucket: str, key: str, content_type: str = "") -> None:
        self.objects[key] = file.read_bytes()

    def remove(self, bucket: str, key: str) -> None:
        self.objects.pop(key, None)


class FedPlane(InMemoryControlPlane):
    """An endpoint whose name `iris` the group `Iris` feeds."""

    def __init__(self) -> None:
        super().__init__()
        self.bucket = Bucket()
        self.said: list[tuple[str, bool]] = []
        storage: Any = self.bucket
        told = lambda bucket, key, there: self.said.append((key, there))  # noqa: E731
        self.feeding = PrefixFeeding(FeedingSite(self.store, storage, as_endpoint, told, lambda: self.now_s))
        self.control = replace(self.control, feeding=self.feeding)
        self("CreateModelPackageGroup", ModelPackageGroupName="Iris")
        self("CreateModel", ModelName="shop", PrimaryContainer=fed("iris=Iris"))
        self("CreateEndpointConfig", EndpointConfigName="shop", ProductionVariants=[production(ModelName="shop")])
        self("CreateEndpoint", EndpointName="shop", EndpointConfigName="shop")

    def registered(self, content: bytes = b"one", **container: Any) -> str:
        number = len(self.store.packages.versions_of("Iris")) + 1
        key = f"trained/{number}.tar.gz"
        self.bucket.objects[key] = content
        made = {"Image": "torpor", "ModelDataUrl": f"s3://bucket/{key}", **container}
        specification = {"Containers": [made], "SupportedContentTypes": [], "SupportedResponseMIMETypes": []}
        given = {"ModelPackageGroupName": "Iris", "InferenceSpecification": specification}
        return str(self("CreateModelPackage", **given)["ModelPackageArn"])

    def judged(self, arn: str, status: str = "Approved") -> None:
        self("UpdateModelPackage", ModelPackageArn=arn, ModelApprovalStatus=status)

    def not_approved(self, arn: str) -> str:
        told = self.refusal("UpdateModelPackage", ModelPackageArn=arn, ModelApprovalStatus="Approved")[2]
        shown = self("DescribeModelPackage", ModelPackageName=arn)["ModelApprovalStatus"]
        assert (shown, self.below()) == ("PendingManualApproval", []), "nothing is half done"
        return str(told)

    def below(self) -> list[str]:
        return [key for key in self.bucket.objects if key.startswith("shop/iris/") and "/by-hand" not in key]


def fed(names: str, **further: str) -> dict[str, Any]:
    environment = {"TORPOR_FED_BY": names, "TORPOR_VERSIONS": "latest", **further}
    return {"Image": "torpor", "Mode": "MultiModel", "ModelDataUrl": "s3://bucket/shop", "Environment": environment}


@pytest.fixture
def plane() -> Iterator[FedPlane]:
    plane = FedPlane()
    yield plane
    plane.close()


def test_an_approval_puts_a_copy_below_the_prefix_and_a_rejection_takes_it_back(plane: FedPlane) -> None:
    first, second = plane.registered(b"one"), plane.registered(b"two")
    assert plane.below() == []
    plane.judged(first)
    plane.judged(second)
    assert plane.below() == ["shop/iris/1/1.tar.gz", "shop/iris/2/2.tar.gz"]
    assert plane.bucket.objects["shop/iris/2/2.tar.gz"] == b"two"
    kept = plane.store.packages.fed_version("bucket", "shop/iris/2/2.tar.gz")
    assert kept is not None
    assert (kept.package_arn, kept.version, kept.source) == (second, 2, "s3://bucket/trained/2.tar.gz")
    plane.judged(second, "Rejected")
    assert plane.below() == ["shop/iris/1/1.tar.gz"]
    plane("DeleteModelPackage", ModelPackageName=first)
    assert plane.below() == []
    came_and_went = [("shop/iris/1/1.tar.gz", True), ("shop/iris/2/2.tar.gz", True), ("shop/iris/2/2.tar.gz", False)]
    assert plane.said == [*came_and_went, ("shop/iris/1/1.tar.gz", False)]


def test_an_artifact_that_is_gone_or_changed_is_not_approved(plane: FedPlane) -> None:
    gone, changed = plane.registered(), plane.registered()
    listed = plane.registered(ModelDataETag="another")
    del plane.bucket.objects["trained/1.tar.gz"]
    plane.bucket.objects["trained/2.tar.gz"] = b"overwritten"
    assert "NoSuchKey" in plane.not_approved(gone)
    assert "its ETag is overwritten, and not one. Register it as a new version" in plane.not_approved(changed)
    assert "its ETag is one, and not another" in plane.not_approved(listed)


def test_an_object_that_no_package_has_put_is_never_overwritten_or_joined(plane: FedPlane) -> None:
    arn = plane.registered()
    plane.bucket.objects["shop/iris/1/by-hand.tar"] = b"mine"
    assert "shop/iris/1/by-hand.tar is there, and no package has put it" in plane.not_approved(arn)
    assert plane.bucket.objects["shop/iris/1/by-hand.tar"] == b"mine"


def test_what_was_judged_while_no_endpoint_was_there_is_brought_when_one_is_served(plane: FedPlane) -> None:
    first, second = plane.registered(b"one"), plane.registered(b"two")
    plane.judged(first)
    endpoint = plane.store.endpoint("shop")
    assert endpoint is not None
    plane.store.remove_endpoint("shop")
    plane.judged(first, "Rejected")
    plane.judged(second)
    assert plane.below() == ["shop/iris/1/1.tar.gz"]
    plane.feeding.bring(endpoint.variants[0], endpoint.arn)
    assert plane.below() == ["shop/iris/2/2.tar.gz"]
    plane.feeding.bring(endpoint.variants[0], endpoint.arn)
    assert len(plane.said) == 3, "a second start changes nothing"


def test_two_groups_cannot_feed_one_name(plane: FedPlane) -> None:
    told = plane.refusal("CreateModel", ModelName="other", PrimaryContainer=fed("iris=Roses"))[2]
    assert "s3://bucket/shop/iris/ is fed by group Iris already" in told
    twice = plane.refusal("CreateModel", ModelName="other", PrimaryContainer=fed("iris=Iris,iris=Roses"))[2]
    assert "each name once" in twice
    without = fed("iris=Iris", TORPOR_VERSIONS="off")
    assert "needs TORPOR_VERSIONS" in plane.refusal("CreateModel", ModelName="other", PrimaryContainer=without)[2]


def test_an_approved_package_that_answers_keeps_its_artifact(plane: FedPlane) -> None:
    arn = plane.registered()
    plane.judged(arn)
    other = {"Containers": [{"Image": "torpor", "ModelDataUrl": "s3://bucket/other.tar.gz"}]}
    told = plane.refusal("UpdateModelPackage", ModelPackageArn=arn, InferenceSpecification=other)[2]
    assert "register another artifact as a new version" in told
