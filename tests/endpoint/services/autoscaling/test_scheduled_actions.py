"""Scheduled actions: their expressions, updates and refusals."""

from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.services.helpers.in_memory_autoscaling import OF, InMemoryAutoscaling

MARCH = datetime(2027, 3, 1, tzinfo=UTC)
MAY = datetime(2027, 5, 1, tzinfo=UTC)


def actions(autoscaling: InMemoryAutoscaling, **members: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = autoscaling.client.describe_scheduled_actions(
        ServiceNamespace="sagemaker", **members
    )["ScheduledActions"]
    return found


def test_an_action_is_described_as_it_was_put(autoscaling: InMemoryAutoscaling) -> None:
    autoscaling.register()
    autoscaling.schedule(Schedule="cron(0 8 ? * MON-FRI *)", Timezone="Europe/Berlin", StartTime=MARCH, EndTime=MAY)
    (action,) = actions(autoscaling, ScheduledActionNames=["hourly"], ResourceId=OF["ResourceId"])
    assert {name: action[name] for name in OF} == OF
    assert (action["Schedule"], action["Timezone"]) == ("cron(0 8 ? * MON-FRI *)", "Europe/Berlin")
    assert (action["StartTime"], action["EndTime"]) == (MARCH, MAY)
    assert action["ScalableTargetAction"] == {"MinCapacity": 2}
    assert action["ScheduledActionARN"].endswith(":resource/sagemaker/endpoint/ep/variant/v:scheduledActionName/hourly")


def test_an_update_keeps_omitted_members_except_start_and_end(autoscaling: InMemoryAutoscaling) -> None:
    autoscaling.register()
    autoscaling.schedule(StartTime=MARCH, EndTime=MAY, Timezone="UTC")
    autoscaling.client.put_scheduled_action(**OF, ScheduledActionName="hourly", Schedule="rate(2 hours)")
    (action,) = actions(autoscaling)
    assert (action["Schedule"], action["Timezone"]) == ("rate(2 hours)", "UTC")
    assert action["ScalableTargetAction"] == {"MinCapacity": 2}
    assert "StartTime" not in action
    assert "EndTime" not in action


def test_an_action_cannot_bring_a_capacity_that_the_target_forbids(autoscaling: InMemoryAutoscaling) -> None:
    sleepless = {**OF, "ResourceId": "endpoint/ep/variant/sleepless"}
    autoscaling.register(**sleepless)
    action = {"Schedule": "rate(1 hour)", "ScalableTargetAction": {"MinCapacity": 0}}
    with pytest.raises(ClientError, match="it never sleeps"):
        autoscaling.client.put_scheduled_action(**sleepless, ScheduledActionName="hourly", **action)


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"Schedule": "30 3 * * *"}, "Invalid schedule expression"),
        ({"Timezone": "JST"}, "Invalid schedule timezone: JST"),
        ({"StartTime": MAY, "EndTime": MARCH}, "StartTime must be before EndTime"),
        ({"ScalableTargetAction": {}}, "At least one of minimum capacity and maximum capacity should be provided"),
        ({"ScalableTargetAction": {"MinCapacity": 3, "MaxCapacity": 2}}, "Maximum capacity cannot be less than"),
        ({"ScalableTargetAction": {"MinCapacity": -5, "MaxCapacity": -2}}, "Minimum capacity cannot be less than 0"),
        ({"ScalableTargetAction": {"MaxCapacity": -2}}, "Maximum capacity cannot be less than 0"),
    ],
)
def test_an_action_that_could_not_act_is_refused(
    autoscaling: InMemoryAutoscaling, members: dict[str, Any], why: str
) -> None:
    autoscaling.register()
    with pytest.raises(ClientError, match=f"ValidationException.*{why}"):
        autoscaling.schedule(**members)
    assert actions(autoscaling) == []


def test_a_new_action_needs_a_schedule_and_something_to_do(autoscaling: InMemoryAutoscaling) -> None:
    autoscaling.register()
    with pytest.raises(ClientError, match="ScalableTargetAction must be set"):
        autoscaling.client.put_scheduled_action(**OF, ScheduledActionName="hourly", Schedule="rate(1 hour)")
    with pytest.raises(ClientError, match="Schedule must be set"):
        autoscaling.client.put_scheduled_action(
            **OF, ScheduledActionName="hourly", ScalableTargetAction={"MinCapacity": 1}
        )


def test_an_action_needs_its_target_and_its_name(autoscaling: InMemoryAutoscaling) -> None:
    with pytest.raises(ClientError, match=r"ObjectNotFoundException.*No scalable target registered for"):
        autoscaling.schedule()
    autoscaling.register()
    autoscaling.schedule()
    autoscaling.client.delete_scheduled_action(**OF, ScheduledActionName="hourly")
    with pytest.raises(ClientError, match=r"ObjectNotFoundException.*No scheduled action found for"):
        autoscaling.client.delete_scheduled_action(**OF, ScheduledActionName="hourly")


@pytest.mark.parametrize(
    "changed",
    [
        {"Schedule": "cron(0 0 0W * ? *)"},
        {"Schedule": "cron(0 0 ? * ABC#1 *)"},
        {"Schedule": "cron(0 0 ? * ABCL *)"},
        {"Schedule": f"rate({'9' * 400} days)"},
        {"StartTime": datetime(9999, 12, 31, 23, tzinfo=UTC), "Timezone": "Asia/Tokyo"},
    ],
    ids=["0W", "ABC#1", "ABCL", "too long a rate", "too late a start"],
)
def test_an_action_with_an_impossible_schedule_is_refused_and_not_kept(
    autoscaling: InMemoryAutoscaling, changed: dict[str, Any]
) -> None:
    autoscaling.register()
    with pytest.raises(ClientError, match=r"ValidationException.*[Ss]chedule"):
        autoscaling.client.put_scheduled_action(
            **OF,
            **{"ScheduledActionName": "never", "Schedule": "cron(0 0 * * ? *)", **changed},
            ScalableTargetAction={"MinCapacity": 1},
        )
    assert autoscaling.client.describe_scheduled_actions(ServiceNamespace="sagemaker")["ScheduledActions"] == []
