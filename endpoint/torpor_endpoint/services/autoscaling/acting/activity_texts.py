"""Makes the records of scaling activities, with AWS's texts: what is done, why, and with what result."""

import uuid
from dataclasses import replace

from torpor_endpoint.core.autoscaling.deciding import Change, NoChange, Reason, ScalableCapacity
from torpor_endpoint.services.autoscaling.resources import CONCURRENCY, COPIES, INSTANCES, NAMESPACE
from torpor_endpoint.services.autoscaling.scaling_records import Activity, NotScaledReason, ScalableTarget

CAPACITY = {
    INSTANCES: "desired instance count",
    CONCURRENCY: "desired provisioned concurrency",
    COPIES: "desired copy count",
}


def begun(target: ScalableTarget, change: Change, now_s: float) -> Activity:
    description = f"Setting {CAPACITY[target.dimension]} to {change.to}."
    return _activity(target, description, change.cause, now_s, "Pending")


def in_progress(activity: Activity) -> Activity:
    message = f"{_done(activity)} Waiting for change to be fulfilled by {NAMESPACE}."
    return replace(activity, status="InProgress", status_message=message)


def pending(activity: Activity, why: str) -> Activity:
    return replace(activity, status="Pending", status_message=f"{why} It is tried again.")


def successful(activity: Activity, now_s: float) -> Activity:
    message = f"{_done(activity)} Change successfully fulfilled by {NAMESPACE}."
    return replace(activity, status="Successful", status_message=message, ended_s=now_s)


def failed(activity: Activity, reason: str, now_s: float) -> Activity:
    message = f"Failed to {_what(activity)} Reason: {reason}"
    return replace(activity, status="Failed", status_message=message, ended_s=now_s)


def overridden(activity: Activity, now_s: float) -> Activity:
    message = f"Did not {_what(activity)} A newer scaling activity took its place."
    return replace(activity, status="Overridden", status_message=message, ended_s=now_s)


def not_scaled(target: ScalableTarget, held: NoChange, capacity: ScalableCapacity, now_s: float) -> Activity:
    """An activity that did not scale. Only callers with IncludeNotScaledActivities see it."""
    status = "Successful" if held.reason is Reason.AT_DESIRED else "Failed"
    activity = _activity(target, "Attempting to scale due to alarm triggered", held.cause, now_s, status)
    return replace(activity, not_scaled=(_reason(held.reason, capacity),))


def rescheduled(target: ScalableTarget, action: str, now_s: float, refused: str | None = None) -> Activity:
    """A scheduled action that gave the target its bounds, or that was refused."""
    bounds = f"min capacity to {target.capacity_min} and max capacity to {target.capacity_max}"
    cause = f"scheduled action name {action} was triggered"
    activity = _activity(target, f"Setting {bounds}", cause, now_s, "Failed" if refused else "Successful")
    message = f"Failed to set {bounds}. Reason: {refused}" if refused else f"Successfully set {bounds}"
    return replace(activity, status_message=message)


def caused(alarm: str, state: str, policy: str) -> str:
    return f"monitor alarm {alarm} in state {state} triggered policy {policy}"


def _activity(target: ScalableTarget, description: str, cause: str, now_s: float, status: str) -> Activity:
    return Activity(
        activity_id=str(uuid.uuid4()),
        resource_id=target.resource_id,
        dimension=target.dimension,
        description=description,
        cause=cause,
        started_s=now_s,
        status=status,
    )


def _what(activity: Activity) -> str:
    return activity.description.replace("Setting", "set", 1)


def _done(activity: Activity) -> str:
    return f"Successfully {_what(activity)}"


def _reason(reason: Reason, capacity: ScalableCapacity) -> NotScaledReason:
    if reason is Reason.AT_MAX:
        return NotScaledReason(reason, capacity_max=capacity.most)
    if reason is Reason.AT_MIN:
        return NotScaledReason(reason, capacity_min=capacity.least)
    return NotScaledReason(reason, capacity=capacity.current)
