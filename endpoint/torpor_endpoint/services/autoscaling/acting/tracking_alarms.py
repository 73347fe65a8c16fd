"""Makes, changes and removes the two alarms that a target tracking policy has on AWS, so that CloudWatch shows them.

They are stored like all alarms. The policy sets their states from its own data points; CloudWatch does not judge them.
"""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from torpor_account.cloudwatch.alarms.alarm_record import Alarm, Standing
from torpor_account.cloudwatch.alarms.alarm_store import Alarms
from torpor_account.cloudwatch.alarms.shapes import ACTIONS
from torpor_account.core.alarms import AlarmRule, State
from torpor_account.metrics.metrics import SAGEMAKER
from torpor_endpoint.core.autoscaling.delays import TimeScale
from torpor_endpoint.services.autoscaling.acting.tracked_metrics import PREDEFINED, customized, tracked, tracking
from torpor_endpoint.services.autoscaling.resources import dimensions_of
from torpor_endpoint.services.autoscaling.scaling_records import ScalingPolicy, TargetTracking

PREFIX: Final = "TargetTracking-"
DESCRIPTION: Final = "DO NOT EDIT OR DELETE. For TargetTrackingScaling policy {arn}."

HIGH, LOW = "AlarmHigh", "AlarmLow"


def judged_by_cloudwatch(alarm: Alarm) -> bool:
    """Whether CloudWatch judges the alarm: a policy sets the states of its own alarms."""
    return not is_managed(alarm)


def is_managed(alarm: Alarm) -> bool:
    """Whether the alarm belongs to a target tracking policy."""
    description = str(alarm.request.get("AlarmDescription", ""))
    return alarm.name.startswith(PREFIX) and description.startswith(DESCRIPTION.partition("{")[0])


def invoking(alarms: Iterable[Alarm], arn: str) -> list[Alarm]:
    """The alarms with the policy among their actions, whoever made them."""
    return [alarm for alarm in alarms if any(arn in alarm.request.get(name, ()) for name in ACTIONS.values())]


def rules(policy: TargetTracking) -> dict[str, AlarmRule]:
    """The rules of the two alarms, by side: HIGH or LOW."""
    rule = tracking(policy, TimeScale())
    return {HIGH: rule.high, LOW: rule.low}


def alarms_by_side(alarms: Iterable[Alarm], arn: str) -> dict[str, Alarm]:
    """The policy's own alarms, by side: HIGH or LOW."""
    managed = [alarm for alarm in invoking(alarms, arn) if is_managed(alarm)]
    return {side: alarm for alarm in managed for side in (HIGH, LOW) if f"-{side}-" in alarm.name}


def put(alarms: Alarms, policy: ScalingPolicy) -> list[Alarm]:
    """Make or update both alarms of the policy; remove them if it does not track a target."""
    if policy.target_tracking is None:
        remove(alarms, policy.arn)
        return []
    present = alarms_by_side(alarms.all(), policy.arn)
    made = [_made(policy, side, present.get(side), alarms.clock()) for side in (HIGH, LOW)]
    for alarm in made:
        if not alarms.add(alarm):
            alarms.change(alarm.name, partial(_updated, alarm))
    return made


def remove(alarms: Alarms, arn: str) -> None:
    """Remove the policy's own alarms."""
    for alarm in invoking(alarms.all(), arn):
        if is_managed(alarm):
            alarms.remove(alarm.name)


def _updated(new: Alarm, stored: Alarm) -> Alarm:
    return replace(stored, request=new.request, configured_s=new.configured_s)


def _made(policy: ScalingPolicy, side: str, present: Alarm | None, now_s: float) -> Alarm:
    own = uuid.uuid5(uuid.NAMESPACE_URL, f"{policy.arn}/{side}")  # the same for every call
    name = present.name if present else f"{PREFIX}{policy.resource_id}-{side}-{own}"
    region, account = policy.arn.split(":")[3:5]
    standing = Standing(State.INSUFFICIENT_DATA, now_s, "Unchecked: Initial alarm creation")
    arn = f"arn:aws:cloudwatch:{region}:{account}:alarm:{name}"
    return Alarm(name, arn, now_s, _request(policy, side, name), actions_enabled=True, standing=standing)


def _request(policy: ScalingPolicy, side: str, name: str) -> dict[str, Any]:
    """The members of the PutMetricAlarm call that would make such an alarm."""
    assert policy.target_tracking is not None
    rule = rules(policy.target_tracking)[side]
    return {
        "AlarmName": name,
        "AlarmDescription": DESCRIPTION.format(arn=policy.arn),
        "ActionsEnabled": True,
        "AlarmActions": [policy.arn],
        **_metric(policy.target_tracking, policy.resource_id),
        "EvaluationPeriods": rule.periods,
        "Threshold": rule.threshold,
        "ComparisonOperator": rule.comparison,
        "TreatMissingData": rule.missing.value,
    }


def _metric(policy: TargetTracking, resource_id: str) -> Mapping[str, Any]:
    if not policy.predefined:
        return _customized(policy)
    metric = PREDEFINED[policy.predefined]
    return {
        "Namespace": SAGEMAKER,
        "MetricName": metric.metric,
        "Dimensions": [{"Name": name, "Value": value} for name, value in dimensions_of(resource_id).items()],
        "Statistic": metric.statistic,
        "Period": tracked(policy).period_s,
    }


def _customized(policy: TargetTracking) -> Mapping[str, Any]:
    queries = customized(policy)
    if policy.custom is None:
        return {"Metrics": queries}
    stat = queries[0]["MetricStat"]
    unit = {"Unit": stat["Unit"]} if "Unit" in stat else {}
    return {**stat["Metric"], "Period": stat["Period"], "Statistic": stat["Stat"], **unit}
