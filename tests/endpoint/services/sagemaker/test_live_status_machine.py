"""The status machine of an endpoint with real instances behind it: it follows AWS's table, and loses no request."""

from collections import Counter
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers import endpoint_pages
from tests.endpoint.helpers.constant_models import constant, number_of, traffic
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many, one
from tests.endpoint.helpers.model_artifacts import put, script
from tests.helpers.waiting import soon

BROKEN = many("status/old", {"SAGEMAKER_SUBMIT_DIRECTORY": "s3://status/../.."})
"""An instance with this code ends as soon as it starts."""

SLOW = """
import time
def model_fn(model_dir):
    time.sleep(3)
def transform_fn(model, body, content_type, accept):
    return body
"""
"""A model that takes its time to load, so that its endpoint is Creating for as long."""


@pytest.fixture(scope="module")
def shop(live: LiveEndpoint) -> LiveEndpoint:
    put(live.folder("status"), {"old/a.tar": constant(1.0), "new/a.tar": constant(2.0), "slow.tar.gz": script(SLOW)})
    return live


def config(live: LiveEndpoint, name: str, *variants: Variant) -> str:
    """A config with its models, for an update."""
    for variant in variants:
        live.sagemaker.create_model(ModelName=f"{name}-{variant.name}", PrimaryContainer=variant.container)
    production = [variant.production(f"{name}-{variant.name}") for variant in variants]
    live.sagemaker.create_endpoint_config(EndpointConfigName=name, ProductionVariants=production)
    return name


def status(live: LiveEndpoint, name: str) -> str:
    return str(live.sagemaker.describe_endpoint(EndpointName=name)["EndpointStatus"])


def refusal(call: Any, **members: Any) -> str:
    with pytest.raises(ClientError) as refused:
        call(**members)
    assert refused.value.response["Error"]["Code"] == "ValidationException"
    return str(refused.value.response["Error"]["Message"])


def rescale(live: LiveEndpoint, name: str, **desired: Any) -> Any:
    live.sagemaker.update_endpoint_weights_and_capacities(
        EndpointName=name, DesiredWeightsAndCapacities=[{"VariantName": "AllTraffic", **desired}]
    )
    settled = live.settled(name)
    assert settled["EndpointStatus"] == "InService"
    return settled["ProductionVariants"][0]


def test_creating_then_in_service_then_deleting_then_gone(shop: LiveEndpoint) -> None:
    shop.create("life", Variant(one("status/slow.tar.gz")))
    assert status(shop, "life") == "Creating"
    for call in (shop.sagemaker.delete_endpoint, shop.sagemaker.update_endpoint):
        members = {"EndpointConfigName": "life"} if call == shop.sagemaker.update_endpoint else {}
        assert "Cannot update in-progress endpoint" in refusal(call, EndpointName="life", **members)
    assert shop.settled("life")["EndpointStatus"] == "InService"
    assert (shop.data_dir / "instances/life").exists()
    shop.sagemaker.delete_endpoint(EndpointName="life")
    assert soon(lambda: "life" not in [entry["EndpointName"] for entry in listed(shop)])
    assert not (shop.data_dir / "instances/life").exists()
    assert "Could not find endpoint" in refusal(shop.sagemaker.describe_endpoint, EndpointName="life")
    assert "not found" in refusal_of_call(shop, "life")


def listed(live: LiveEndpoint) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = live.sagemaker.list_endpoints(MaxResults=100)["Endpoints"]
    return found


def refusal_of_call(live: LiveEndpoint, name: str) -> str:
    with pytest.raises(ClientError) as refused:
        live.invoke(name, b"1", TargetModel="a.tar")
    assert refused.value.response["Error"]["Code"] == "ValidationError"
    return str(refused.value.response["Error"]["Message"])


@pytest.mark.parametrize(
    ("name", "container", "reason"),
    [
        ("broken-start", BROKEN, "status/../.."),
        ("no-artifact", one("status/nowhere.tar.gz"), "Failed to download model data"),
    ],
)
def test_creating_fails_with_a_reason_and_then_only_delete_is_allowed(
    shop: LiveEndpoint, name: str, container: dict[str, Any], reason: str
) -> None:
    shop.create(name, Variant(container))
    described = shop.settled(name)
    assert described["EndpointStatus"] == "Failed"
    assert reason in described["FailureReason"]
    refusal(shop.sagemaker.update_endpoint, EndpointName=name, EndpointConfigName=name)
    shop.sagemaker.delete_endpoint(EndpointName=name)
    assert soon(lambda: name not in [entry["EndpointName"] for entry in listed(shop)])


def test_an_update_brings_the_new_fleet_first_and_loses_no_request(shop: LiveEndpoint) -> None:
    shop.deploy("update", Variant(many("status/old")))
    config(shop, "update-2", Variant(many("status/new")))
    with traffic(shop, "update", {"a.tar": 1.0}) as seen:
        shop.sagemaker.update_endpoint(EndpointName="update", EndpointConfigName="update-2")
        described = shop.settled("update")
        reached = len(seen.wrong)
        assert soon(lambda: len(seen.wrong) > reached + 20)
    assert (described["EndpointStatus"], described["EndpointConfigName"]) == ("InService", "update-2")
    assert seen.errors == []
    assert set(seen.wrong) == {"a.tar answered 2.0"}  # the new model's answer
    assert number_of(shop.invoke("update", b"1", TargetModel="a.tar")) == 2.0


def test_a_variant_that_an_update_renames_leaves_nothing_on_disk(shop: LiveEndpoint) -> None:
    shop.deploy("renamed", Variant(many("status/old"), "before"))
    config(shop, "renamed-2", Variant(many("status/new"), "after"))
    shop.sagemaker.update_endpoint(EndpointName="renamed", EndpointConfigName="renamed-2")
    shop.settled("renamed")
    disks = shop.data_dir / "instances/renamed"
    assert soon(lambda: [path.name for path in disks.iterdir()] == ["after"])
    assert number_of(shop.invoke("renamed", b"1", TargetModel="a.tar")) == 2.0


def test_an_update_that_fails_is_rolled_back_and_loses_no_request(shop: LiveEndpoint) -> None:
    shop.deploy("rollback", Variant(many("status/old")))
    config(shop, "rollback-2", Variant(BROKEN))
    with traffic(shop, "rollback", {"a.tar": 1.0}, callers=2) as seen:
        shop.sagemaker.update_endpoint(EndpointName="rollback", EndpointConfigName="rollback-2")
        described = shop.settled("rollback")
    assert (described["EndpointStatus"], described["EndpointConfigName"]) == ("InService", "rollback")
    assert "status/../.." in described["FailureReason"]
    assert (seen.wrong, seen.errors) == ([], [])
    assert seen.right > 0


def test_a_change_of_capacity_loses_no_request(shop: LiveEndpoint) -> None:
    shop.deploy("scale", Variant(many("status/old")))
    with traffic(shop, "scale", {"a.tar": 1.0}, callers=2) as seen:
        assert rescale(shop, "scale", DesiredInstanceCount=3)["CurrentInstanceCount"] == 3
        assert len(endpoint_pages.instances(shop, "scale")) == 3
        assert rescale(shop, "scale", DesiredInstanceCount=1)["CurrentInstanceCount"] == 1
    assert (seen.wrong, seen.errors) == ([], [])
    assert len(endpoint_pages.instances(shop, "scale")) == 1


def test_two_variants_share_the_traffic_by_weight(shop: LiveEndpoint) -> None:
    halves = {"InstanceType": "ml.m5.large", "InitialVariantWeight": 1.0}
    variants = [Variant(many(f"status/{name}"), name, halves) for name in ("old", "new")]
    shop.deploy("ab", *variants)
    assert set(shares(shop, 60)) == {"old", "new"}
    weights = [{"VariantName": "old", "DesiredWeight": 0.0}, {"VariantName": "new", "DesiredWeight": 1.0}]
    shop.sagemaker.update_endpoint_weights_and_capacities(EndpointName="ab", DesiredWeightsAndCapacities=weights)
    shop.settled("ab")
    assert shares(shop, 20) == {"new": 20}
    assert number_of(shop.invoke("ab", b"1", TargetModel="a.tar", TargetVariant="old")) == 1.0


def shares(live: LiveEndpoint, calls: int) -> Counter[str]:
    expected = {"old": 1.0, "new": 2.0}
    seen: Counter[str] = Counter()
    for _ in range(calls):
        answer = live.invoke("ab", b"1", TargetModel="a.tar")
        assert number_of(answer) == expected[answer["InvokedProductionVariant"]]
        seen[answer["InvokedProductionVariant"]] += 1
    return seen
