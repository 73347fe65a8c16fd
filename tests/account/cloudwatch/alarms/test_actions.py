"""The actions of an alarm that changes its state."""

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.account.helpers.alarms_on_fake_clock import BUSY
from torpor_account.aws.in_process import client
from torpor_account.aws.service import Service
from torpor_account.cloudwatch.alarms.actions import alarm_actions
from torpor_account.cloudwatch.alarms.alarm_record import Standing
from torpor_account.cloudwatch.alarms.alarm_store import Alarms
from torpor_account.cloudwatch.service import CloudWatch, service
from torpor_account.core.alarms import State
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.moto.longtail import LongTail
from torpor_account.storage.account_tables import ACCOUNT_TABLES
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_account.storage.tag_store import Tags
from torpor_account.topics import Topics

ACCOUNT = "123456789012"


class AlarmsBesideTopics:
    """CloudWatch with alarms beside SNS and SQS."""

    def __init__(self) -> None:
        self.database = SqliteFile(":memory:", ACCOUNT_TABLES)
        self.tail = LongTail(ACCOUNT)
        tags = Tags(self.database)
        self.alarms = Alarms(self.database, tags, time.time, alarm_actions(Topics(self.tail.answer)))
        registry = MetricRegistry(time.time)
        self.cloudwatch = client(service(CloudWatch(registry), self.alarms, account=ACCOUNT))
        self.sns, self.sqs = (
            client(Service(name, None, {}, account=ACCOUNT, otherwise=self.tail.answer)) for name in ("sns", "sqs")
        )

    def history(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.cloudwatch.describe_alarm_history(AlarmName="busy")["AlarmHistoryItems"]
        return [json.loads(item["HistoryData"]) for item in items if item["HistoryItemType"] == "Action"]

    def fire(self, action: str) -> None:
        self.cloudwatch.put_metric_alarm(**BUSY, AlarmActions=[action])
        asyncio.run(self.alarms.enter("busy", Standing(State.ALARM, time.time(), "five orders at once")))

    def close(self) -> None:
        self.tail.close()
        self.database.close()


@pytest.fixture
def services() -> Iterator[AlarmsBesideTopics]:
    made = AlarmsBesideTopics()
    yield made
    made.close()


def test_an_alarm_notifies_its_topic(services: AlarmsBesideTopics) -> None:
    topic = services.sns.create_topic(Name="pager")["TopicArn"]
    queue = services.sqs.create_queue(QueueName="pager")["QueueUrl"]
    arn = services.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    services.sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
    services.fire(topic)
    [message] = services.sqs.receive_message(QueueUrl=queue)["Messages"]
    told = json.loads(json.loads(message["Body"])["Message"])
    assert (told["AlarmName"], told["NewStateValue"]) == ("busy", "ALARM")
    assert told["NewStateReason"] == "five orders at once"
    assert [entry["actionState"] for entry in services.history()] == ["Succeeded"]


def test_a_missing_topic_is_a_failure_in_the_alarms_history(services: AlarmsBesideTopics) -> None:
    services.fire(f"arn:aws:sns:us-east-1:{ACCOUNT}:nobody")
    [entry] = services.history()
    assert (entry["actionState"], "404" in entry["error"]) == ("Failed", True)


def test_an_action_without_support_is_a_failure_in_the_alarms_history(services: AlarmsBesideTopics) -> None:
    services.fire(f"arn:aws:automate:us-east-1:{ACCOUNT}:ec2:stop")
    [entry] = services.history()
    assert "Torpor cannot run the action arn:aws:automate" in entry["error"]
