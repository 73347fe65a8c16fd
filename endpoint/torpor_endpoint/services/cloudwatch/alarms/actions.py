"""What an alarm does when it changes its state: a message to an SNS topic, or a scaling policy. It decides nothing."""

import json
from functools import partial
from urllib.parse import urlencode

from torpor_endpoint.aws.calls import Otherwise, Unanswered
from torpor_endpoint.aws.wire.asgi import AwsRequest
from torpor_endpoint.services.cloudwatch.alarms.keeping import Act, NoSuchAction, nothing_to_act
from torpor_endpoint.services.cloudwatch.alarms.records import Alarm, StateChange

SNS_VERSION = "2010-03-31"


def alarm_actions(topics: Otherwise, scaling: Act = nothing_to_act) -> Act:
    """`topics` is who answers SNS's Publish, `scaling` who carries out a scaling policy."""
    by_service: dict[str, Act] = {"sns": partial(_notify, topics), "autoscaling": scaling}

    async def act(alarm: Alarm, change: StateChange) -> None:
        service = change.action.split(":")[2] if change.action.count(":") >= 5 else ""
        if service not in by_service:
            raise NoSuchAction(f"nothing here carries out {change.action}")
        await by_service[service](alarm, change)

    return act


async def _notify(topics: Otherwise, alarm: Alarm, change: StateChange) -> None:
    """Raises NoSuchAction with what SNS answered, unless it took the message."""
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
    """The members of AWS's own notification that readers look at."""
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
    """SNS is asked in the topic's own region, which stands in the scope of a signature."""
    return f"AWS4-HMAC-SHA256 Credential=torpor/19700101/{topic.split(':')[3]}/sns/aws4_request"
