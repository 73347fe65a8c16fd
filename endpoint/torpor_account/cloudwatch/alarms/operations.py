"""The operations that make, change and delete alarms, and the table of all operations on alarms."""

import asyncio
import json
from dataclasses import replace
from typing import Any

from torpor_account.aws.calls import Call, Operation
from torpor_account.cloudwatch import errors
from torpor_account.cloudwatch.alarms import alarm_descriptions, alarm_tags
from torpor_account.cloudwatch.alarms.alarm_record import Alarm, HistoryItem, HistoryKind, Standing
from torpor_account.cloudwatch.alarms.alarm_store import Alarms
from torpor_account.cloudwatch.alarms.rules import check
from torpor_account.core.alarms import State

ALARMS_MAX = 5000
"""CloudWatch's own default quota."""


def put_metric_alarm(alarms: Alarms, call: Call) -> dict[str, Any]:
    """ "When you update an existing alarm, its state is left unchanged, but the update completely overwrites the
    previous configuration of the alarm." """
    request = {name: value for name, value in call.params.items() if name != "Tags"}
    check(request)
    first_tags = alarm_tags.read(call.params.get("Tags", []))
    new = _new(call, request, alarms.clock())
    while alarms.change(new.name, lambda stored: _updated(stored, new)) is None:
        if len(alarms.all()) >= ALARMS_MAX:
            raise errors.QUOTA(limit=ALARMS_MAX)
        if alarms.add(new):  # "If you are using this operation to update [..], any tags you specify [..] are ignored"
            alarms.tags.put(new.arn, first_tags)
            break
    return {}


def delete_alarms(alarms: Alarms, call: Call) -> dict[str, Any]:
    """ "If you specify any incorrect alarm names, the alarms you specify with correct names are still deleted." """
    for name in call.params["AlarmNames"]:
        alarms.remove(name)
    return {}


async def set_alarm_state(alarms: Alarms, call: Call) -> dict[str, Any]:
    """Set the state at once, and run its actions. The alarm's next evaluation overwrites the state."""
    name, data = call.params["AlarmName"], call.params.get("StateReasonData")
    if data is not None and not _is_json(data):
        raise errors.BAD_FORMAT()
    if await asyncio.to_thread(alarms.get, name) is None:
        raise errors.NO_ALARM(name=name)
    state = State(call.params["StateValue"])
    await alarms.enter(name, Standing(state, alarms.clock(), call.params["StateReason"], data))
    return {}


def enable_alarm_actions(alarms: Alarms, call: Call) -> dict[str, Any]:
    return _switch_actions(alarms, call, enabled=True)


def disable_alarm_actions(alarms: Alarms, call: Call) -> dict[str, Any]:
    return _switch_actions(alarms, call, enabled=False)


def _switch_actions(alarms: Alarms, call: Call, *, enabled: bool) -> dict[str, Any]:
    """Enable or disable actions. Names without an alarm are ignored."""
    for name in call.params["AlarmNames"]:
        alarms.change(name, lambda stored: replace(stored, actions_enabled=enabled))
    return {}


def _new(call: Call, request: dict[str, Any], now_s: float) -> Alarm:
    name = request["AlarmName"]
    return Alarm(
        name=name,
        arn=f"arn:aws:cloudwatch:{call.region}:{call.account}:alarm:{name}",
        configured_s=now_s,
        request=request,
        actions_enabled=request.get("ActionsEnabled", True),
        standing=Standing(State.INSUFFICIENT_DATA, now_s, "Unchecked: Initial alarm creation"),
        history=(_configured(name, "created", now_s),),
    )


def _updated(stored: Alarm, new: Alarm) -> Alarm:
    changed = replace(new, arn=stored.arn, standing=stored.standing, history=stored.history)
    return changed.noting(_configured(new.name, "updated", new.configured_s))


def _configured(name: str, what: str, now_s: float) -> HistoryItem:
    kind = {"created": "Create", "updated": "Update"}[what]
    return HistoryItem(
        now_s, HistoryKind.CONFIGURATION, f'Alarm "{name}" {what}'[:255], json.dumps({"version": "1.0", "type": kind})
    )


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


OPERATIONS: dict[str, Operation[Alarms]] = {
    "PutMetricAlarm": put_metric_alarm,
    "DescribeAlarms": alarm_descriptions.describe_alarms,
    "DescribeAlarmsForMetric": alarm_descriptions.describe_alarms_for_metric,
    "DescribeAlarmHistory": alarm_descriptions.describe_alarm_history,
    "DeleteAlarms": delete_alarms,
    "SetAlarmState": set_alarm_state,
    "EnableAlarmActions": enable_alarm_actions,
    "DisableAlarmActions": disable_alarm_actions,
    "TagResource": alarm_tags.tag_resource,
    "UntagResource": alarm_tags.untag_resource,
    "ListTagsForResource": alarm_tags.list_tags_for_resource,
}
