"""RegisterScalableTarget, DescribeScalableTargets, DeregisterScalableTarget, DescribeScalingActivities."""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torpor_account.aws.calls import Call
from torpor_endpoint.services.autoscaling import errors, shapes
from torpor_endpoint.services.autoscaling.context import Autoscaling
from torpor_endpoint.services.autoscaling.describing import page, selected
from torpor_endpoint.services.autoscaling.resources import deleted_resource_of, resource_of
from torpor_endpoint.services.autoscaling.scaling_records import Activity, ScalableTarget, Suspended, target_name
from torpor_endpoint.services.autoscaling.target_tags import TAGS_MAX, allowed

SERVICE_ROLE = (
    "arn:aws:iam::{account}:role/aws-service-role/sagemaker.application-autoscaling.amazonaws.com/"
    "AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"
)
"""The role of every target, whatever the caller sends. AWS: "If the service supports service-linked roles, Application
Auto Scaling uses" one."""


LATEST_S = 1 << 40
"""Later than any activity: the rest of the time until then sorts the newest activity first."""


def register_scalable_target(autoscaling: Autoscaling, call: Call) -> dict[str, Any]:
    """Create the target, or change it: "Any parameters that you don't specify are not changed"."""
    resource_id, dimension = resource_of(call)
    if why := autoscaling.refused(resource_id, dimension, call.params.get("MinCapacity", 1)):
        raise errors.INVALID(why)
    tags = allowed(call.params.get("Tags", {}))
    with autoscaling.database.transaction():
        kept = autoscaling.targets.get(target_name(resource_id, dimension))
        target = _changed(kept or _new(autoscaling, call), call.params)
        if len({**autoscaling.tags.of(target.arn), **tags}) > TAGS_MAX:
            raise errors.TAGS(arn=target.arn)
        autoscaling.targets.put(target)
    autoscaling.tags.put(target.arn, tags)
    if not {"MinCapacity", "MaxCapacity"}.isdisjoint(call.params):
        autoscaling.bounded(target)
    return {"ScalableTargetARN": target.arn}


def describe_scalable_targets(autoscaling: Autoscaling, call: Call) -> dict[str, Any]:
    targets, more = page(selected(autoscaling.targets.all(), call), lambda target: target.name, call)
    return {"ScalableTargets": list(map(shapes.scalable_target, targets)), **more}


def deregister_scalable_target(autoscaling: Autoscaling, call: Call) -> dict[str, Any]:
    """ "Deregistering a scalable target deletes the scaling policies and the scheduled actions" of it."""
    autoscaling.remove(autoscaling.target(*deleted_resource_of(call), errors.NO_TARGET))
    return {}


def _new(autoscaling: Autoscaling, call: Call) -> ScalableTarget:
    capacity_min, capacity_max = call.params.get("MinCapacity"), call.params.get("MaxCapacity")
    if capacity_min is None or capacity_max is None:
        raise errors.INVALID("MinCapacity and MaxCapacity must be specified for a new scalable target.")
    return ScalableTarget(
        resource_id=call.params["ResourceId"],
        dimension=call.params["ScalableDimension"],
        arn=f"arn:aws:application-autoscaling:{call.region}:{call.account}:scalable-target/{secrets.token_hex(17)}",
        role_arn=SERVICE_ROLE.format(account=call.account),
        created_s=autoscaling.clock(),
        capacity_min=capacity_min,
        capacity_max=capacity_max,
    )


def _changed(target: ScalableTarget, params: Mapping[str, Any]) -> ScalableTarget:
    changed = replace(
        target,
        capacity_min=params.get("MinCapacity", target.capacity_min),
        capacity_max=params.get("MaxCapacity", target.capacity_max),
        suspended=_suspended(target.suspended, params.get("SuspendedState", {})),
    )
    if changed.capacity_min < 0:
        raise errors.INVALID("Minimum capacity cannot be less than 0")
    if changed.capacity_max < changed.capacity_min:
        raise errors.INVALID("Maximum capacity cannot be less than minimum capacity")
    return changed


def _suspended(kept: Suspended, state: Mapping[str, bool]) -> Suspended:
    return Suspended(
        scale_in=state.get("DynamicScalingInSuspended", kept.scale_in),
        scale_out=state.get("DynamicScalingOutSuspended", kept.scale_out),
        scheduled=state.get("ScheduledScalingSuspended", kept.scheduled),
    )


def describe_scaling_activities(autoscaling: Autoscaling, call: Call) -> dict[str, Any]:
    found = selected(autoscaling.activities.all(), call)
    if not call.params.get("IncludeNotScaledActivities", False):
        found = [activity for activity in found if not activity.not_scaled]
    activities, more = page(found, _newest_first, call)
    return {"ScalingActivities": list(map(shapes.activity, activities)), **more}


def _newest_first(activity: Activity) -> str:
    return f"{LATEST_S - activity.started_s:020.6f} {activity.activity_id}"
