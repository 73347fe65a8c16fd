"""Runs the actions of an alarm that changes its state: a message to an SNS topic, or a scaling policy."""

import json
from functools import partial
from urllib.parse import urlencode

from torpor_endpoint.aws.calls import Otherwise, Unanswered
from torpor_endpoint.aws.wire.asgi import AwsRequest
from torpor_endpoint.services.cloudwatch.alarms.keeping import Act, NoSuchAction, nothing_to_act
from torpor_endpoint.services.cloudwatch.alarms.records import Alarm, StateChange

SNS_VERSION = "2010-03-31"


def alarm_actions(topics: Otherwise, scaling: Act = nothing_to_act) -> Act:
    """An `Act`. `topics` answers SNS's Publish; `scaling` runs a scaling policy."""
    by_service: dict[str, Act] = {"sns": partial(_notify, topics), "autoscaling": scaling}

    async def act(alarm: Alarm, change: StateChange) -> None:
        service = change.action.split(":")[2] if change.action.count(":") >= 5 else ""
        if service not in by_service:
            raise NoSuchAction(f"Torpor cannot run the action {change.action}")
        await by_service[service](alarm, change)

    return act


async def _notify(topics: Otherwise, alarm: Alarm, change: StateChange) -> None:
    """Publish the message. Raises NoSuchAction, with SNS's answer, if SNS refuses it."""
    subject = f'{change.after.state}: "{alarm.name}"'[:100]
    form = {"Action": "Publish", "Version": SNS_VERSION, "TopicArn": change.action, "Subject": subject}
    body = urlencode({**form, "Message": json.dumps(_message(alarm, change))}).encode()
    headers = {"content-type": "application/x-www-form-urlencoded", "authorization": _signed(change.action)}
    try:
        answer = await topics("sns", "Publish", AwsRequest("POST", "/", headers, "", body))
    except Unanswered as error:
        raise NoSuchAction(str(error)) from error
    if answer.status != 200:
        raise NoSuchAction(f"SNS answered {answer.status}: {answer.body[:300].decode(errors='replace')}")


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


def _signed(topic: str) -> str:
    """A signature for the topic's own region, which its scope names."""
    return f"AWS4-HMAC-SHA256 Credential=torpor/19700101/{topic.split(':')[3]}/sns/aws4_request"
