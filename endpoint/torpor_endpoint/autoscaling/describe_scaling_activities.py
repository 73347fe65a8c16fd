"""DescribeScalingActivities: what was done to the targets in the past, the newest first."""

from typing import Any

from torpor_endpoint.autoscaling import shapes
from torpor_endpoint.autoscaling.context import Autoscaling
from torpor_endpoint.autoscaling.listing import page, selected
from torpor_endpoint.autoscaling.records import Activity
from torpor_endpoint.aws.calls import Call

LATEST_S = 1 << 40
"""Later than any activity: what is left of it sorts the newest first."""


def describe_scaling_activities(autoscaling: Autoscaling, call: Call) -> dict[str, Any]:
    found = selected(autoscaling.activities.all(), call)
    if not call.params.get("IncludeNotScaledActivities", False):
        found = [activity for activity in found if not activity.not_scaled]
    activities, more = page(found, _newest_first, call)
    return {"ScalingActivities": list(map(shapes.activity, activities)), **more}


def _newest_first(activity: Activity) -> str:
    return f"{LATEST_S - activity.started_s:020.6f} {activity.activity_id}"
