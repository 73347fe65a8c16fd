"""The events of an endpoint's changes: on moto's event bus, from a rule to a queue."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import ARN, InMemoryControlPlane, production
from torpor_account.aws.in_process import client
from torpor_account.aws.service import Service
from torpor_account.aws.wire.asgi import AwsRequest, Response
from torpor_account.event_bus import BusEvent, EventBus, NotPut
from torpor_account.event_queue import EventQueue
from torpor_account.moto.longtail import LongTail
from torpor_endpoint.core.lifecycle import EndpointEvent
from torpor_endpoint.core.rollouts.rollout import FleetSizes, RolloutPhase
from torpor_endpoint.services.sagemaker.deployments.state_events import EndpointStateEvents, in_capitals

ACCOUNT = "123456789012"
ALL_AT_ONCE = {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 0}
KEPT = {"BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": ALL_AT_ONCE, "TerminationWaitInSeconds": 600}}


class EventsToAQueue:
    """A control plane whose changes go to moto's event bus, and a rule that sends them to a queue."""

    def __init__(self, plane: InMemoryControlPlane) -> None:
        self.plane = plane
        self.tail = LongTail(ACCOUNT)
        self.due = EventQueue(EventBus(self.tail.answer, lambda: self.tail.asked("events")))
        self.events = EndpointStateEvents(self.due, plane)
        plane.told = self.events.changed
        self.bus, self.sqs = (
            client(Service(name, None, {}, account=ACCOUNT, otherwise=self.tail.answer)) for name in ("events", "sqs")
        )

    def listen(self) -> None:
        self.queue = self.sqs.create_queue(QueueName="changes")["QueueUrl"]
        self.bus.put_rule(Name="changes", EventPattern=json.dumps({"source": ["aws.sagemaker"]}))
        target = f"arn:aws:sqs:us-east-1:{ACCOUNT}:changes"
        self.bus.put_targets(Rule="changes", Targets=[{"Id": "1", "Arn": target}])

    def heard(self) -> list[dict[str, Any]]:
        asyncio.run(self.due.put_due())
        found = []
        while messages := self.sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10).get("Messages"):
            found += [json.loads(message["Body"]) for message in messages]
            for message in messages:
                self.sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=message["ReceiptHandle"])
        return found


@pytest.fixture
def to_a_queue(control_plane: InMemoryControlPlane) -> Iterator[EventsToAQueue]:
    made = EventsToAQueue(control_plane)
    yield made
    made.tail.close()


def test_a_rule_hears_each_status_and_each_stage_of_a_deployment(to_a_queue: EventsToAQueue) -> None:
    plane = to_a_queue.plane
    to_a_queue.listen()
    plane.create()
    plane.settle("ep")
    plane.configure("new", production())
    plane("UpdateEndpoint", EndpointName="ep", EndpointConfigName="new", DeploymentConfig=KEPT)
    for phase in (RolloutPhase.CREATING, RolloutPhase.BAKING, RolloutPhase.BAKING):
        at = plane.store.endpoint("ep")
        assert at is not None
        assert at.rollout is not None
        rollout = replace(at.rollout, phase=phase, fleets=(FleetSizes("AllTraffic", 1, 1),), step=1, active=1)
        assert plane.store.replace_endpoint(replace(at, rollout=rollout), expected_status=at.status)
    plane.settle("ep")
    heard = to_a_queue.heard()
    assert [(one["detail-type"].split()[2], one["detail"]["EndpointStatus"]) for one in heard] == [
        ("State", "CREATING"),
        ("State", "IN_SERVICE"),
        ("State", "UPDATING"),
        ("Deployment", "UPDATING"),
        ("Deployment", "UPDATING"),
        ("State", "IN_SERVICE"),
    ]
    baking = heard[4]
    assert (baking["resources"], baking["region"]) == ([f"{ARN}:endpoint/ep"], "us-east-1")
    (variant,) = baking["detail"]["PendingDeploymentSummary"]["ProductionVariants"]
    assert variant["VariantStatus"][0]["StatusMessage"].startswith("Baking for 600 seconds (TerminationWaitInSeconds)")
    assert baking["detail"]["CreationTime"] == 1_000_000
    assert heard[5]["detail"]["EndpointConfigName"] == "new"


def test_nothing_is_kept_of_an_endpoint_that_is_deleted(to_a_queue: EventsToAQueue) -> None:
    to_a_queue.listen()
    plane = to_a_queue.plane
    for name in ("a", "b"):
        plane.create(name)
        plane.settle(name)
    plane("DeleteEndpoint", EndpointName="a")
    assert [one["detail"]["EndpointStatus"] for one in to_a_queue.heard()][-1] == "DELETING"
    assert list(to_a_queue.events._seen) == [f"{ARN}:endpoint/b"]


def test_a_rollback_is_heard_with_its_reason(to_a_queue: EventsToAQueue) -> None:
    to_a_queue.listen()
    plane = to_a_queue.plane
    plane.create()
    plane.settle("ep")
    plane.configure("new", production())
    plane("UpdateEndpoint", EndpointName="ep", EndpointConfigName="new")
    plane.settle("ep", EndpointEvent.FAILED, "no ping")
    assert to_a_queue.heard()[-1]["detail"] | {"ProductionVariants": []} == {
        "EndpointName": "ep",
        "EndpointArn": f"{ARN}:endpoint/ep",
        "EndpointConfigName": "ep",
        "EndpointStatus": "ROLLING_BACK",
        "FailureReason": "no ping",
        "CreationTime": 1_000_000,
        "LastModifiedTime": 1_000_000,
        "Tags": {},
        "ProductionVariants": [],
        "PendingDeploymentSummary": {
            "EndpointConfigName": "new",
            "StartTime": 1_000_000,
            "ProductionVariants": [
                {
                    "VariantName": "AllTraffic",
                    "DeployedImages": [
                        {"SpecifiedImage": "torpor", "ResolvedImage": "torpor", "ResolutionTime": 1_000_000}
                    ],
                    "DesiredWeight": 1.0,
                    "DesiredInstanceCount": 1,
                    "InstanceType": "ml.m5.large",
                    "VariantStatus": [{"Status": "Creating", "StartTime": 1_000_000}],
                }
            ],
        },
    }


def test_nothing_is_made_while_nobody_has_called_the_bus(control_plane: InMemoryControlPlane) -> None:
    async def unexpected(service: str, operation: str, request: AwsRequest) -> Response:
        raise AssertionError

    queue = EventQueue(EventBus(unexpected, lambda: False))
    events = EndpointStateEvents(queue, control_plane)
    control_plane.told = events.changed
    control_plane.create()
    asyncio.run(queue.put_due())


def test_an_event_that_is_refused_is_told() -> None:
    async def refusing(service: str, operation: str, request: AwsRequest) -> Response:
        return Response(200, b'{"FailedEntryCount": 1, "Entries": [{"ErrorCode": "InternalFailure"}]}', {})

    bus = EventBus(refusing, lambda: True)
    with pytest.raises(NotPut, match="InternalFailure"):
        asyncio.run(bus.put(BusEvent("aws.sagemaker", "a change", "us-east-1", 0.0, ())))


def test_statuses_are_in_capitals() -> None:
    assert [in_capitals(one) for one in ("InService", "UpdateRollbackFailed")] == [
        "IN_SERVICE",
        "UPDATE_ROLLBACK_FAILED",
    ]
