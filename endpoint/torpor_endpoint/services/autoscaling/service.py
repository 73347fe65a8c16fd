"""Application Auto Scaling as a service: its operations in one table."""

from typing import TYPE_CHECKING

from torpor_account.aws.calls import Operation
from torpor_account.aws.service import Service
from torpor_endpoint.services.autoscaling import scaling_policies, scheduled_actions, target_tags, targets
from torpor_endpoint.services.autoscaling.context import Autoscaling
from torpor_endpoint.services.sagemaker_parts import SageMakerParts

if TYPE_CHECKING:
    from torpor_account.core.access.rights.right_rows import Rights

KEPT = ("ScalableTargets", "ScalingPolicies", "ScheduledActions", "ScalingActivities", "Alarms", "Tags")
"""Lists that clients index without looking; AWS sends them even when empty."""

OPERATIONS: dict[str, Operation[Autoscaling]] = {
    "RegisterScalableTarget": targets.register_scalable_target,
    "DescribeScalableTargets": targets.describe_scalable_targets,
    "DeregisterScalableTarget": targets.deregister_scalable_target,
    "PutScalingPolicy": scaling_policies.put_scaling_policy,
    "DescribeScalingPolicies": scaling_policies.describe_scaling_policies,
    "DeleteScalingPolicy": scaling_policies.delete_scaling_policy,
    "PutScheduledAction": scheduled_actions.put_scheduled_action,
    "DescribeScheduledActions": scheduled_actions.describe_scheduled_actions,
    "DeleteScheduledAction": scheduled_actions.delete_scheduled_action,
    "DescribeScalingActivities": targets.describe_scaling_activities,
    "ListTagsForResource": target_tags.list_tags_for_resource,
    "TagResource": target_tags.tag_resource,
    "UntagResource": target_tags.untag_resource,
}


def service(autoscaling: Autoscaling, *, account: str) -> Service[Autoscaling]:
    return Service("application-autoscaling", autoscaling, OPERATIONS, account=account, kept=KEPT, rights=_rights)


def _rights() -> "Rights":
    from torpor_endpoint.core.rights import AUTOSCALING

    return AUTOSCALING


def compose(parts: SageMakerParts) -> Service[Autoscaling]:
    return service(parts.autoscaling, account=parts.account)
