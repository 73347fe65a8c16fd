"""Runs the actions of an alarm that changes its state: a message to an SNS topic, or a scaling policy."""

import json
from functools import partial

from torpor_account.cloudwatch.alarms.alarm_record import Alarm, StateChange
from torpor_account.cloudwatch.alarms.alarm_store import Act, NoSuchAction, nothing_to_act
from torpor_account.topics import NotPublished, Topics


def alarm_actions(topics: Topics, scaling: Act = nothing_to_act) -> Act:
    """An `Act`. `scaling` runs a scaling policy."""
    by_service: dict[str, Act] = {"sns": partial(_notify, topics), "autoscaling": scaling}

    async def act(alarm: Alarm, change: StateChange) -> None:
        service = change.action.split(":")[2] if change.action.count(":") >= 5 else ""
        if service not in by_service:
            raise NoSuchAction(f"Torpor cannot run the action {change.action}")
        await by_service[service](alarm, change)

    return act


async def _notify(topics: Topics, alarm: Alarm, change: StateChange) -> None:
    """Publish the message. Raises NoSuchAction, with SNS's answer, if SNS refuses it."""
    subject = f'{change.after.state}: "{alarm.name}"'
    try:
        await topics.publish(change.action, json.dumps(_message(alarm, change)), subject)
    except NotPublished as error:
        raise NoSuchAction(str(error)) from error


def _message(alarm: Alarm, change: StateChange) -> dict[str, object]:
    """The members of AWS's own notification that its readers use."""
    return {
        "AlarmName": alarm.name,
        "AlarmArn": alarm.arn,
        "AlarmDescription": alarm.request.get("AlarmDescription"),
        "OldStateValue": change.before.state,
        "NewStateValue": change.after.state,
        "NewStateReason": change.after.reason,
        "StateChangeTime": change.after.since_s,
    }
