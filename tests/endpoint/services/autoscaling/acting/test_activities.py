"""Scaling activities: shown the newest first, up to a limit."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.endpoint.services.helpers.in_memory_autoscaling import INSTANCES, OF, InMemoryAutoscaling
from torpor_endpoint.services.autoscaling.acting.activities import Activities
from torpor_endpoint.services.autoscaling.scaling_records import Activity, NotScaledReason


def activity(number: int, **members: Any) -> Activity:
    given = {"resource_id": OF["ResourceId"], "dimension": INSTANCES, "status": "Successful", **members}
    return Activity(str(number), description="Setting.", cause="A policy.", started_s=1000.5 + number, **given)


def shown(autoscaling: InMemoryAutoscaling, **members: Any) -> list[str]:
    answer = autoscaling.client.describe_scaling_activities(ServiceNamespace="sagemaker", **members)
    return [found["ActivityId"] for found in answer["ScalingActivities"]]


def test_activities_are_shown_by_target_and_the_newest_first(autoscaling: InMemoryAutoscaling) -> None:
    for number in range(3):
        autoscaling.context.activities.add(activity(number))
    autoscaling.context.activities.add(activity(3, resource_id="endpoint/other/variant/v"))
    autoscaling.context.activities.add(activity(4, not_scaled=(NotScaledReason("AlreadyAtMaxCapacity", capacity=4),)))
    assert shown(autoscaling) == ["3", "2", "1", "0"]
    assert shown(autoscaling, ResourceId=OF["ResourceId"], IncludeNotScaledActivities=True) == ["4", "2", "1", "0"]
    first = autoscaling.client.describe_scaling_activities(ServiceNamespace="sagemaker", MaxResults=3)
    assert shown(autoscaling, NextToken=first["NextToken"]) == ["0"]
    assert first["ScalingActivities"][0]["StatusCode"] == "Successful"
    assert "EndTime" not in first["ScalingActivities"][0]


@given(st.lists(st.integers(0, 9)))
def test_the_number_of_kept_activities_is_limited_and_each_is_kept_once_in_its_last_form(numbers: list[int]) -> None:
    kept = Activities(most=4)
    for turn, number in enumerate(numbers):
        kept.add(activity(number, status_message=str(turn)))
        assert activity(number, status_message=str(turn)) in kept.all()
    ids = [found.activity_id for found in kept.all()]
    assert len(ids) <= 4
    assert len(set(ids)) == len(ids)
