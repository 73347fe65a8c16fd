"""PutScalingPolicy, DescribeScalingPolicies, DeleteScalingPolicy."""

import uuid
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.aws.errors import AwsError
from torpor_account.cloudwatch import querying
from torpor_account.cloudwatch.alarms.alarm_record import Alarm
from torpor_account.cloudwatch.querying import Query
from torpor_endpoint.services.autoscaling import errors, shapes
from torpor_endpoint.services.autoscaling.acting import tracking_alarms
from torpor_endpoint.services.autoscaling.acting.tracked_metrics import customized
from torpor_endpoint.services.autoscaling.context import Autoscaling
from torpor_endpoint.services.autoscaling.describing import page, selected
from torpor_endpoint.services.autoscaling.policy_rules import (
    CONFIGURATIONS,
    check_configuration,
    check_step_scaling,
    check_target_tracking,
)
from torpor_endpoint.services.autoscaling.resources import NAMESPACE, deleted_resource_of, resource_of
from torpor_endpoint.services.autoscaling.scaling_records import ScalingPolicy, target_name

POLICIES_MAX = 50
"""The most policies of one target, of both types together."""


def put_scaling_policy(autoscaling: Autoscaling, call: Call) -> dict[str, Any]:
    """Create the policy, or change its configuration."""
    resource_id, dimension = resource_of(call)
    with autoscaling.database.transaction():
        autoscaling.target(resource_id, dimension)
        kept = autoscaling.policies.get(_name(call, call.params["PolicyName"]))
        policy = _policy(autoscaling, call, kept)
        _check_beside_others(autoscaling, policy)
        autoscaling.policies.put(policy)
    return {"PolicyARN": policy.arn, "Alarms": list(map(shapes.alarm, _alarms_of(autoscaling, policy)))}


def _alarms_of(autoscaling: Autoscaling, policy: ScalingPolicy) -> list[Alarm]:
    """Put the alarms of a policy. Repeat it while other calls put or delete the policy."""
    while True:
        alarms = tracking_alarms.put(autoscaling.alarms, policy)
        stored = autoscaling.policies.get(policy.name)
        if stored is None or stored.arn != policy.arn:
            tracking_alarms.remove(autoscaling.alarms, policy.arn)
        if stored is None or stored.arn != policy.arn or stored == policy:
            return alarms
        policy = stored


def describe_scaling_policies(autoscaling: Autoscaling, call: Call) -> dict[str, Any]:
    names = call.params.get("PolicyNames")
    found = [
        policy for policy in selected(autoscaling.policies.all(), call) if names is None or policy.policy_name in names
    ]
    policies, more = page(found, lambda policy: policy.name, call)
    every = autoscaling.alarms.all()
    shown = [shapes.scaling_policy(policy, tracking_alarms.invoking(every, policy.arn)) for policy in policies]
    return {"ScalingPolicies": shown, **more}


def delete_scaling_policy(autoscaling: Autoscaling, call: Call) -> dict[str, Any]:
    resource_id, dimension = deleted_resource_of(call)
    name = call.params["PolicyName"]
    with (
        autoscaling.database.transaction()
    ):  # a policy of this name that is put meanwhile has another ARN and other alarms
        policy = autoscaling.policies.get(_name(call, name))
        if policy is None:
            raise errors.NO_POLICY(resource_id=resource_id, dimension=dimension, name=name)
        autoscaling.policies.remove(policy.name)
    tracking_alarms.remove(autoscaling.alarms, policy.arn)
    return {}


def _name(call: Call, policy_name: str) -> str:
    return f"{target_name(call.params['ResourceId'], call.params['ScalableDimension'])}|{policy_name}"


def _policy(autoscaling: Autoscaling, call: Call, kept: ScalingPolicy | None) -> ScalingPolicy:
    resource_id, dimension, name = (call.params[member] for member in ("ResourceId", "ScalableDimension", "PolicyName"))
    policy_type = call.params.get("PolicyType", kept.policy_type if kept else "StepScaling")
    check_configuration(policy_type, call.params)
    configuration = call.params[CONFIGURATIONS[policy_type]]
    tracks = policy_type == "TargetTrackingScaling"
    if tracks:
        check_target_tracking(configuration, dimension)
    else:
        check_step_scaling(configuration)
    tracking = shapes.target_tracking(configuration) if tracks else None
    if tracking and not tracking.predefined:
        _check_readable(customized(tracking))
    arn = (
        f"arn:aws:autoscaling:{call.region}:{call.account}:scalingPolicy:{uuid.uuid4()}"
        f":resource/{NAMESPACE}/{resource_id}:policyName/{name}"
    )
    return ScalingPolicy(
        policy_name=name,
        resource_id=resource_id,
        dimension=dimension,
        arn=kept.arn if kept else arn,
        created_s=kept.created_s if kept else autoscaling.clock(),
        policy_type=policy_type,
        request=configuration,
        target_tracking=tracking,
        step_scaling=None if tracks else shapes.step_scaling(configuration),
    )


def _check_readable(queries: list[Query]) -> None:
    """Raises ValidationException for queries that CloudWatch cannot evaluate."""
    try:
        querying.check(queries)
    except AwsError as why:
        raise errors.INVALID(why.message) from why


def _check_beside_others(autoscaling: Autoscaling, policy: ScalingPolicy) -> None:
    others = [
        other
        for other in autoscaling.policies.all()
        if other.target == policy.target and other.policy_name != policy.policy_name
    ]
    if len(others) >= POLICIES_MAX:
        raise errors.QUOTA(limit=POLICIES_MAX, what="scaling policies")
    tracked = [other.target_tracking.metric for other in others if other.target_tracking]
    if policy.target_tracking and policy.target_tracking.metric in tracked:
        raise errors.INVALID("Only one TargetTrackingScaling policy for a given metric specification is allowed.")
