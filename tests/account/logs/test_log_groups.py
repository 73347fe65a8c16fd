"""Log groups and streams through boto3: shown, deleted, retained, tagged; and their owner."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.account.helpers.logs_over_folder import GROUP, NOON_MS, STREAM, LogsOverFolder
from torpor_account.aws.calls import NotOurs
from torpor_account.logs.files.gauge import LogGrowth
from torpor_account.logs.files.retention import STREAMS_MAX, leaving

ARN = f"arn:aws:logs:us-east-1:123456789012:log-group:{GROUP}"
DAY_MS = 86_400_000


def names(answer: dict[str, Any]) -> list[str]:
    return [stream["logStreamName"] for stream in answer["logStreams"]]


def test_groups_are_shown_with_their_size_and_time(log_files: LogsOverFolder, boto: Any) -> None:
    log_files.say("a\n", NOON_MS)
    log_files.say("b\n", NOON_MS + 1000, group="/aws/sagemaker/Endpoints/flats")
    log_files.say("c\n", NOON_MS, "job/algo-1-1", "/aws/sagemaker/TrainingJobs")
    groups = boto.describe_log_groups()["logGroups"]
    assert [group["logGroupName"].rpartition("/")[2] for group in groups] == ["flats", "houses", "TrainingJobs"]
    assert groups[1] == {
        "logGroupName": GROUP,
        "creationTime": NOON_MS,
        "metricFilterCount": 0,
        "arn": f"{ARN}:*",
        "logGroupArn": ARN,
        "storedBytes": 2,
        "logGroupClass": "STANDARD",
    }
    assert len(boto.describe_log_groups(logGroupNamePrefix="/aws/sagemaker/End")["logGroups"]) == 2
    assert len(boto.describe_log_groups(logGroupNamePattern="hous")["logGroups"]) == 1
    pages = boto.get_paginator("describe_log_groups").paginate(PaginationConfig={"PageSize": 2})
    assert [len(page["logGroups"]) for page in pages] == [2, 1]


def test_an_inference_component_has_a_group_of_its_own(log_files: LogsOverFolder, boto: Any) -> None:
    group = "/aws/sagemaker/InferenceComponents/houses"
    log_files.say("a\n", NOON_MS)
    log_files.say("b\n", NOON_MS, group=group)
    shown = boto.describe_log_groups(logGroupNamePrefix="/aws/sagemaker/Inf")["logGroups"]
    assert [one["logGroupName"] for one in shown] == [group]
    assert len(boto.describe_log_groups(logGroupNamePrefix="/aws/sagemaker")["logGroups"]) == 2
    assert names(boto.describe_log_streams(logGroupName=group)) == [STREAM]
    events = boto.get_log_events(logGroupName=group, logStreamName=STREAM, startFromHead=True)["events"]
    assert [event["message"] for event in events] == ["b"]


def test_streams_by_name_by_time_and_by_page(log_files: LogsOverFolder, boto: Any) -> None:
    for second, stream in enumerate(("V/i-3", "V/i-1", "W/i-2")):
        log_files.say("a\n", NOON_MS + 1000 * second, stream)
    log_files.say("late\n", NOON_MS + 9000, "V/i-3")
    one = boto.describe_log_streams(logGroupName=GROUP)
    assert names(one) == ["V/i-1", "V/i-3", "W/i-2"]
    assert one["logStreams"][1] == {
        "logStreamName": "V/i-3",
        "creationTime": NOON_MS,
        "firstEventTimestamp": NOON_MS,
        "lastEventTimestamp": NOON_MS + 9000,
        "lastIngestionTime": NOON_MS + 9000,
        "arn": f"{ARN}:log-stream:V/i-3",
        "storedBytes": 0,
    }
    latest = boto.describe_log_streams(logGroupName=GROUP, orderBy="LastEventTime", descending=True)
    assert names(latest) == ["V/i-3", "W/i-2", "V/i-1"]
    assert names(boto.describe_log_streams(logGroupName=GROUP, logStreamNamePrefix="V/")) == ["V/i-1", "V/i-3"]
    pages = boto.get_paginator("describe_log_streams").paginate(logGroupName=GROUP, PaginationConfig={"PageSize": 2})
    assert [len(page["logStreams"]) for page in pages] == [2, 1]
    with pytest.raises(ClientError, match="Cannot order by LastEventTime"):
        boto.describe_log_streams(logGroupName=GROUP, orderBy="LastEventTime", logStreamNamePrefix="V")


def test_a_silent_stream_has_no_events_and_no_times_of_any(log_files: LogsOverFolder, boto: Any) -> None:
    log_files.say("", NOON_MS)
    (stream,) = boto.describe_log_streams(logGroupName=GROUP)["logStreams"]
    assert stream["creationTime"] == NOON_MS
    assert "firstEventTimestamp" not in stream
    assert boto.get_log_events(logGroupName=GROUP, logStreamName=STREAM)["events"] == []


def test_a_stream_that_is_being_written_is_emptied_when_deleted_and_others_go(
    log_files: LogsOverFolder, boto: Any
) -> None:
    log_files.writing.add(log_files.say("a\n", NOON_MS, "V/i-1"))
    log_files.say("b\n", NOON_MS, "V/i-2")
    boto.delete_log_stream(logGroupName=GROUP, logStreamName="V/i-1")
    boto.delete_log_stream(logGroupName=GROUP, logStreamName="V/i-2")
    assert names(boto.describe_log_streams(logGroupName=GROUP)) == ["V/i-1"]
    assert boto.filter_log_events(logGroupName=GROUP)["events"] == []
    assert {path.name for path in log_files.path("V/i-1").parent.iterdir()} <= {"i-1.log", "i-1.marks"}
    log_files.writing.clear()
    boto.delete_log_group(logGroupName=GROUP)
    assert boto.describe_log_groups()["logGroups"] == []


def test_a_group_can_be_made_before_its_endpoint(log_files: LogsOverFolder, boto: Any) -> None:
    boto.create_log_group(logGroupName=GROUP, tags={"team": "shop"})
    assert boto.list_tags_for_resource(resourceArn=ARN)["tags"] == {"team": "shop"}
    for refused, name in ((boto.tag_resource, "resourceArn"), (boto.create_log_group, "logGroupName")):
        with pytest.raises(ClientError, match="reserved: aws:x"):
            refused(**{name: ARN if name == "resourceArn" else "another", "tags": {"aws:x": ""}})
    assert boto.list_tags_log_group(logGroupName=GROUP)["tags"] == {"team": "shop"}
    with pytest.raises(ClientError, match="ResourceAlreadyExistsException"):
        boto.create_log_group(logGroupName=GROUP)
    boto.tag_resource(resourceArn=ARN, tags={"a": "b"})
    boto.untag_resource(resourceArn=ARN, tagKeys=["team"])
    assert boto.list_tags_for_resource(resourceArn=ARN)["tags"] == {"a": "b"}
    boto.delete_log_group(logGroupName=GROUP)
    boto.create_log_group(logGroupName=GROUP)
    assert boto.list_tags_for_resource(resourceArn=ARN)["tags"] == {}


def test_retention_is_shown_and_old_streams_go(log_files: LogsOverFolder, boto: Any) -> None:
    boto.create_log_group(logGroupName=GROUP)
    boto.put_retention_policy(logGroupName=GROUP, retentionInDays=3)
    assert boto.describe_log_groups()["logGroups"][0]["retentionInDays"] == 3
    with pytest.raises(ClientError, match="InvalidParameterException"):
        boto.put_retention_policy(logGroupName=GROUP, retentionInDays=4)
    old = log_files.say("a\n", log_files.now_ms - 4 * DAY_MS, "V/i-old")
    log_files.say("a\n", log_files.now_ms - 4 * DAY_MS, "V/i-older")
    log_files.say("b\n", log_files.now_ms - 2 * DAY_MS, "V/i-new")
    LogGrowth(log_files.logs).tidy({old})  # which is still being written
    assert names(boto.describe_log_streams(logGroupName=GROUP)) == ["V/i-new", "V/i-old"]
    boto.delete_retention_policy(logGroupName=GROUP)
    assert "retentionInDays" not in boto.describe_log_groups()["logGroups"][0]


def test_the_oldest_of_too_many_streams_are_removed() -> None:
    ended = {Path(f"/{number}.log"): float(number) for number in range(STREAMS_MAX + 3)}
    assert leaving(ended, None, 1e9) == [Path("/0.log"), Path("/1.log"), Path("/2.log")]
    assert leaving(ended, 1, 86_400.0 + 4) == [Path(f"/{number}.log") for number in range(4)]


def test_the_chore_notes_what_is_written_and_once_more_what_no_longer_is(log_files: LogsOverFolder) -> None:
    log = log_files.path()
    log.write_text("a\n")
    log_files.writing.add(log)
    seconds: list[float] = []

    async def second(length: float) -> None:
        seconds.append(length)
        if len(seconds) == 1:
            log.write_text("a\nlast words\n")
            log_files.writing.clear()
        if len(seconds) == 3:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(LogGrowth(log_files.logs, second).run())
    _, *marks = log.with_suffix(".marks").read_text().split("\n")[:-1]
    assert [mark.split()[0] for mark in marks][-1] == "13"


@pytest.mark.parametrize(
    "name", ["/my/app", "/aws/lambda/f", "/aws/sagemaker/TrainingJobs2", "/aws/sagemaker/NotebookInstances"]
)
def test_foreign_groups_are_not_the_endpoints_own(log_files: LogsOverFolder, name: str) -> None:
    with pytest.raises(NotOurs):
        log_files.groups.find(name)


def test_a_foreign_group_is_refused_at_once_without_moto(log_files: LogsOverFolder, boto: Any) -> None:
    with pytest.raises(ClientError) as caught:
        boto.describe_log_streams(logGroupName="/my/app")
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    with pytest.raises(ClientError):
        boto.describe_log_groups(logGroupNamePrefix="/my")
