"""PutScheduledAction, DescribeScheduledActions, DeleteScheduledAction."""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from zoneinfo import available_timezones

from torpor_account.aws.calls import Call
from torpor_endpoint.core.autoscaling.schedules import BadSchedule, parse
from torpor_endpoint.services.autoscaling import errors, shapes
from torpor_endpoint.services.autoscaling.acting.timetable import next_time
from torpor_endpoint.services.autoscaling.context import Autoscaling
from torpor_endpoint.services.autoscaling.describing import page, selected
from torpor_endpoint.services.autoscaling.resources import NAMESPACE, deleted_resource_of, resource_of
from torpor_endpoint.services.autoscaling.scaling_records import ScheduledAction, target_name

ACTIONS_MAX = 200
"""The most scheduled actions of one target."""


def put_scheduled_action(autoscaling: Autoscaling, call: Call) -> dict[str, Any]:
    resource_id, dimension = resource_of(call)
    with autoscaling.database.transaction():
        target = autoscaling.target(resource_id, dimension)
        kept = autoscaling.schedules.get(_name(call))
        others = [action for action in autoscaling.schedules.all() if action.target == target.name]
        if kept is None and len(others) >= ACTIONS_MAX:
            raise errors.QUOTA(limit=ACTIONS_MAX, what="scheduled actions")
        action = _changed(kept or _new(autoscaling, call), call.params)
        _check(action)
        if action.capacity_min is not None and (
            why := autoscaling.refused(resource_id, dimension, action.capacity_min)
        ):
            raise errors.INVALID(why)
        autoscaling.schedules.put(action)
    autoscaling.wakeup.notify()
    return {}


def describe_scheduled_actions(autoscaling: Autoscaling, call: Call) -> dict[str, Any]:
    names = call.params.get("ScheduledActionNames")
    found = [
        action for action in selected(autoscaling.schedules.all(), call) if names is None or action.action_name in names
    ]
    actions, more = page(found, lambda action: action.name, call)
    return {"ScheduledActions": list(map(shapes.scheduled_action, actions)), **more}


def delete_scheduled_action(autoscaling: Autoscaling, call: Call) -> dict[str, Any]:
    resource_id, dimension = deleted_resource_of(call)
    if not autoscaling.schedules.remove(_name(call)):
        name = call.params["ScheduledActionName"]
        raise errors.NO_ACTION(resource_id=resource_id, dimension=dimension, name=name)
    return {}


def _name(call: Call) -> str:
    target = target_name(call.params["ResourceId"], call.params["ScalableDimension"])
    return f"{target}|{call.params['ScheduledActionName']}"


def _new(autoscaling: Autoscaling, call: Call) -> ScheduledAction:
    for member in ("Schedule", "ScalableTargetAction"):
        if member not in call.params:
            raise errors.INVALID(f"{member} must be set")
    name, resource_id = call.params["ScheduledActionName"], call.params["ResourceId"]
    return ScheduledAction(
        action_name=name,
        resource_id=resource_id,
        dimension=call.params["ScalableDimension"],
        arn=f"arn:aws:autoscaling:{call.region}:{call.account}:scheduledAction:{uuid.uuid4()}"
        f":resource/{NAMESPACE}/{resource_id}:scheduledActionName/{name}",
        created_s=autoscaling.clock(),
        schedule=call.params["Schedule"],
    )


def _changed(action: ScheduledAction, params: Mapping[str, Any]) -> ScheduledAction:
    """ "specify the parameters that you want to change. If you don't specify start and end times, the old values are
    deleted."
    """
    bounds = params.get("ScalableTargetAction")
    changed = replace(
        action,
        schedule=params.get("Schedule", action.schedule),
        timezone=params.get("Timezone", action.timezone),
        start_s=params.get("StartTime"),
        end_s=params.get("EndTime"),
    )
    if bounds is None:
        return changed
    return replace(changed, capacity_min=bounds.get("MinCapacity"), capacity_max=bounds.get("MaxCapacity"))


def _check(action: ScheduledAction) -> None:
    try:
        parse(action.schedule)
    except BadSchedule as why:
        raise errors.INVALID(str(why)) from why
    if action.timezone is not None and action.timezone not in available_timezones():
        raise errors.INVALID(f"Invalid schedule timezone: {action.timezone}")
    if action.start_s is not None and action.end_s is not None and action.start_s > action.end_s:
        raise errors.INVALID("StartTime must be before EndTime")
    try:
        next_time(action, action.created_s)
    except (ValueError, OverflowError) as why:
        raise errors.INVALID(f"Invalid schedule: {action.schedule} with this StartTime has no next time") from why
    _check_bounds(action.capacity_min, action.capacity_max)


def _check_bounds(capacity_min: int | None, capacity_max: int | None) -> None:
    if capacity_min is None and capacity_max is None:
        raise errors.INVALID("At least one of minimum capacity and maximum capacity should be provided")
    if capacity_min is not None and capacity_min < 0:
        raise errors.INVALID("Minimum capacity cannot be less than 0")
    if capacity_max is not None and capacity_max < 0:
        raise errors.INVALID("Maximum capacity cannot be less than 0")
    if capacity_min is not None and capacity_max is not None and capacity_max < capacity_min:
        raise errors.INVALID("Maximum capacity cannot be less than minimum capacity")
