"""Scalable targets: registered, changed, described, deregistered with their policies and actions; their tags."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.services.helpers.in_memory_autoscaling import (
    ACCOUNT,
    CONCURRENCY,
    INSTANCES,
    NOW_S,
    OF,
    InMemoryAutoscaling,
    autoscaling_over,
)
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.components.component_records import ComponentRecord, ComponentSpecification, ComponentStatus
from torpor_endpoint.core.resource_records import Container, EndpointRecord, EndpointStatus, Serverless, Variant
from torpor_endpoint.services.autoscaling.acting.scalable_variants import refusal
from torpor_endpoint.services.autoscaling.resources import COPIES
from torpor_endpoint.storage.schema import RECORDS
from torpor_endpoint.storage.store import Store

NO_ARN = f"arn:aws:application-autoscaling:us-east-1:{ACCOUNT}:scalable-target/0ec5"


def targets(autoscaling: InMemoryAutoscaling, **members: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = autoscaling.client.describe_scalable_targets(ServiceNamespace="sagemaker", **members)[
        "ScalableTargets"
    ]
    return found


def test_a_target_is_described_as_it_was_registered(autoscaling: InMemoryAutoscaling) -> None:
    arn = autoscaling.register(SuspendedState={"ScheduledScalingSuspended": True})
    (target,) = targets(autoscaling, ResourceIds=[OF["ResourceId"]], ScalableDimension=INSTANCES)
    assert {name: target[name] for name in OF} == OF
    assert (target["MinCapacity"], target["MaxCapacity"], target["ScalableTargetARN"]) == (1, 4, arn)
    assert arn.startswith(f"arn:aws:application-autoscaling:us-east-1:{ACCOUNT}:scalable-target/")
    assert target["RoleARN"].endswith("/AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint")
    assert target["CreationTime"].timestamp() == NOW_S
    assert target["SuspendedState"]["ScheduledScalingSuspended"] is True
    assert target["SuspendedState"]["DynamicScalingInSuspended"] is False


def test_members_that_an_update_omits_keep_their_values(autoscaling: InMemoryAutoscaling) -> None:
    arn = autoscaling.register(SuspendedState={"DynamicScalingInSuspended": True})
    assert autoscaling.client.register_scalable_target(**OF, MaxCapacity=9)["ScalableTargetARN"] == arn
    autoscaling.client.register_scalable_target(**OF, SuspendedState={"DynamicScalingOutSuspended": True})
    (target,) = targets(autoscaling)
    assert (target["MinCapacity"], target["MaxCapacity"]) == (1, 9)
    suspended = target["SuspendedState"]
    assert suspended["DynamicScalingInSuspended"] is suspended["DynamicScalingOutSuspended"] is True


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"ResourceId": "endpoint/ghost/variant/v"}, "Could not find endpoint ghost"),
        ({"ResourceId": "endpoint/ep"}, "Unsupported service namespace, resource type or scalable dimension"),
        ({"ScalableDimension": "ecs:service:DesiredCount"}, "Unsupported service namespace, resource type"),
        ({"ServiceNamespace": "ecs"}, "Torpor scales the service namespace sagemaker only"),
        ({"MinCapacity": 5}, "Maximum capacity cannot be less than minimum capacity"),
        ({"MinCapacity": -1}, "Minimum capacity cannot be less than 0"),
    ],
)
def test_a_bad_target_is_refused_and_leaves_nothing(
    autoscaling: InMemoryAutoscaling, members: dict[str, Any], why: str
) -> None:
    with pytest.raises(ClientError, match=f"ValidationException.*{why}"):
        autoscaling.register(**members)
    assert targets(autoscaling) == []


def test_a_new_target_needs_both_bounds(autoscaling: InMemoryAutoscaling) -> None:
    with pytest.raises(ClientError, match="MinCapacity and MaxCapacity must be specified"):
        autoscaling.client.register_scalable_target(**OF, MinCapacity=1)


def test_targets_are_filtered_and_paged(autoscaling: InMemoryAutoscaling) -> None:
    for name in "cab":
        autoscaling.register(ResourceId=f"endpoint/{name}/variant/v")
    autoscaling.register(ResourceId="endpoint/a/variant/v", ScalableDimension=CONCURRENCY)
    assert len(targets(autoscaling, ResourceIds=["endpoint/a/variant/v", "endpoint/b/variant/v"])) == 3
    assert len(targets(autoscaling, ResourceIds=["endpoint/a/variant/v"], ScalableDimension=CONCURRENCY)) == 1
    paginator = autoscaling.client.get_paginator("describe_scalable_targets")
    pages = list(paginator.paginate(ServiceNamespace="sagemaker", PaginationConfig={"PageSize": 3}))
    assert [len(page["ScalableTargets"]) for page in pages] == [3, 1]
    with pytest.raises(ClientError, match="InvalidNextTokenException"):
        targets(autoscaling, NextToken="guessed")
    with pytest.raises(ClientError, match="you must also specify a resource ID"):
        targets(autoscaling, ScalableDimension=INSTANCES)


def test_a_target_is_removed_with_its_policies_schedules_and_tags(autoscaling: InMemoryAutoscaling) -> None:
    arn = autoscaling.register(Tags={"team": "search"})
    autoscaling.register(ResourceId="endpoint/other/variant/v")
    autoscaling.track()
    autoscaling.schedule()
    autoscaling.client.deregister_scalable_target(**OF)
    assert [target["ResourceId"] for target in targets(autoscaling)] == ["endpoint/other/variant/v"]
    assert autoscaling.client.describe_scaling_policies(ServiceNamespace="sagemaker")["ScalingPolicies"] == []
    assert autoscaling.client.describe_scheduled_actions(ServiceNamespace="sagemaker")["ScheduledActions"] == []
    assert autoscaling.context.tags.of(arn) == {}
    with pytest.raises(ClientError, match=r"ObjectNotFoundException.*No scalable target found for service namespace"):
        autoscaling.client.deregister_scalable_target(**OF)


def test_an_endpoint_that_is_deleted_takes_its_targets_along(autoscaling: InMemoryAutoscaling) -> None:
    autoscaling.register()
    autoscaling.register(ResourceId="endpoint/ep2/variant/v")
    autoscaling.context.forget("ep")
    assert [target["ResourceId"] for target in targets(autoscaling)] == ["endpoint/ep2/variant/v"]


def test_the_variants_of_an_endpoint_that_are_targets_are_known(autoscaling: InMemoryAutoscaling) -> None:
    for variant, dimension in (("v", INSTANCES), ("w", INSTANCES), ("w", CONCURRENCY)):
        autoscaling.register(ResourceId=f"endpoint/ep/variant/{variant}", ScalableDimension=dimension)
    assert autoscaling.context.scaled("ep") == {"v", "w"}
    assert autoscaling.context.scaled("ep2") == set()
    autoscaling.client.deregister_scalable_target(**OF)
    assert autoscaling.context.scaled("ep") == {"w"}


def test_tags_are_listed_added_and_taken_away(autoscaling: InMemoryAutoscaling) -> None:
    arn = autoscaling.register(Tags={"a": "1"})
    autoscaling.client.tag_resource(ResourceARN=arn, Tags={"a": "2", "b": ""})
    assert autoscaling.client.list_tags_for_resource(ResourceARN=arn)["Tags"] == {"a": "2", "b": ""}
    for call in (
        lambda: autoscaling.client.tag_resource(ResourceARN=arn, Tags={"aws:x": ""}),
        lambda: autoscaling.register(Tags={"aws:x": ""}),
    ):
        with pytest.raises(ClientError, match="reserved: aws:x"):
            call()
    autoscaling.client.untag_resource(ResourceARN=arn, TagKeys=["a", "b", "never"])
    assert autoscaling.client.list_tags_for_resource(ResourceARN=arn)["Tags"] == {}
    with pytest.raises(ClientError, match="TooManyTagsException"):
        autoscaling.client.tag_resource(ResourceARN=arn, Tags={f"{number}": "" for number in range(51)})
    with pytest.raises(ClientError, match="ResourceNotFoundException") as caught:
        autoscaling.client.list_tags_for_resource(ResourceARN=NO_ARN)
    assert caught.value.response["ResourceName"] == NO_ARN


def test_a_restart_keeps_targets_policies_and_schedules(tmp_path: Path) -> None:
    with autoscaling_over(tmp_path / "torpor.sqlite") as autoscaling:
        autoscaling.register()
        autoscaling.track(ScaleInCooldown=60)
        autoscaling.schedule(StartTime=NOW_S)
        before = (
            autoscaling.context.targets.all(),
            autoscaling.context.policies.all(),
            autoscaling.context.schedules.all(),
        )
    with autoscaling_over(tmp_path / "torpor.sqlite") as autoscaling:
        assert (
            autoscaling.context.targets.all(),
            autoscaling.context.policies.all(),
            autoscaling.context.schedules.all(),
        ) == before


def test_a_variant_is_a_target_only_if_it_is_there_and_can_be_scaled_so() -> None:
    containers = (Container("torpor"),)
    big = Variant("big", "m", containers, instance_type="ml.t2.medium")
    small = Variant("small", "m", containers, serverless=Serverless(1024, 5))
    shelf = Variant("shelf", "", (), instance_type="ml.m5.large")
    database = SqliteFile(":memory:", RECORDS)
    store = Store(database, lambda: NOW_S)
    store.add_endpoint(EndpointRecord("ep", "arn", NOW_S, NOW_S, EndpointStatus.IN_SERVICE, "ep", (big, small, shelf)))
    refused, strictly = refusal(store, strict=False), refusal(store, strict=True)
    assert refused("endpoint/ep/variant/big", INSTANCES, 1) is None
    assert "Minimum capacity cannot be less than 1" in str(refused("endpoint/ep/variant/big", INSTANCES, 0))
    assert refused("endpoint/ep/variant/small", CONCURRENCY, 0) is None
    assert refused("endpoint/nope/variant/big", INSTANCES, 1) == "Could not find endpoint nope."
    assert refused("endpoint/ep/variant/nope", INSTANCES, 1) == "Endpoint ep has no production variant nope."
    assert "not serverless" in str(refused("endpoint/ep/variant/big", CONCURRENCY, 1))
    assert "it has no instances to count" in str(refused("endpoint/ep/variant/small", INSTANCES, 1))
    assert refused("inference-component/c", COPIES, 0) == "Could not find inference component c."
    store.add_component(
        component := ComponentRecord(
            "c",
            "arn",
            NOW_S,
            NOW_S,
            ComponentStatus.IN_SERVICE,
            "ep",
            "arn",
            NOW_S,
            "shelf",
            (ComponentSpecification(),),
            1,
        )
    )
    assert refused("inference-component/c", COPIES, 0) is None
    assert "follow the copies" in str(refused("endpoint/ep/variant/shelf", INSTANCES, 1))
    store.replace_component(
        replace(component, specifications=(ComponentSpecification(base_name="b"),)),
        expected_status=ComponentStatus.IN_SERVICE,
    )
    assert "is an adapter" in str(refused("inference-component/c", COPIES, 0))
    assert "You cannot register a variant with ml.t2.medium" in str(strictly("endpoint/ep/variant/big", INSTANCES, 1))
    database.close()
