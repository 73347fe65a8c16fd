"""FilterLogEvents through boto3."""

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.account.helpers.logs_over_folder import GROUP, NOON_MS, LogsOverFolder
from tests.helpers.example_counts import tries
from torpor_account.aws.calls import Call
from torpor_account.logs.filter_log_events import filter_log_events

STREAMS = ("AllTraffic/i-a", "AllTraffic/i-b", "Other/i-c")


def told(answer: dict[str, Any]) -> list[str]:
    return [event["message"] for event in answer["events"]]


def three(log_files: LogsOverFolder) -> None:
    for second, stream in enumerate((*STREAMS, *STREAMS)):
        log_files.say(f"{second} {'ERROR' if second % 2 else 'fine'}\n", NOON_MS + 1000 * second, stream)


def test_streams_are_merged_by_time(log_files: LogsOverFolder, boto: Any) -> None:
    three(log_files)
    answer = boto.filter_log_events(logGroupName=GROUP)
    assert [event["timestamp"] - NOON_MS for event in answer["events"]] == [0, 1000, 2000, 3000, 4000, 5000]
    assert [event["logStreamName"] for event in answer["events"]] == [*STREAMS, *STREAMS]
    assert len({event["eventId"] for event in answer["events"]}) == 6
    assert answer["searchedLogStreams"] == []
    assert "nextToken" not in answer
    backwards = boto.filter_log_events(logGroupName=GROUP, startFromHead=False)
    assert told(backwards) == told(answer)[::-1]


def test_a_pattern_streams_and_times_narrow_it(log_files: LogsOverFolder, boto: Any) -> None:
    three(log_files)
    assert told(boto.filter_log_events(logGroupName=GROUP, filterPattern="ERROR")) == ["1 ERROR", "3 ERROR", "5 ERROR"]
    assert told(boto.filter_log_events(logGroupName=GROUP, logStreamNames=[STREAMS[2]])) == ["2 fine", "5 ERROR"]
    assert len(told(boto.filter_log_events(logGroupName=GROUP, logStreamNamePrefix="All"))) == 4
    span = {"startTime": NOON_MS + 1000, "endTime": NOON_MS + 3000}  # the end is in it, unlike GetLogEvents'
    assert told(boto.filter_log_events(logGroupName=GROUP, **span)) == ["1 ERROR", "2 fine", "3 ERROR"]


@settings(max_examples=tries(16), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(STREAMS), st.integers(0, 2), st.integers(1, 4)), max_size=12),
    st.integers(1, 5),
    st.booleans(),
)
def test_pages_hold_every_event_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, int, int]], limit: int, from_head: bool
) -> None:
    log_files = LogsOverFolder(tmp_path_factory.mktemp("pages"))
    log_files.path()
    now_ms = NOON_MS
    for stream, later_s, count in said:
        now_ms += later_s * 1000
        log_files.say("line\n" * count, now_ms, stream)
    once = asked(log_files, limit=10_000, startFromHead=from_head)["events"]
    gathered, token = [], None
    while True:
        more: dict[str, Any] = {"nextToken": token} if token else {}
        answer = asked(log_files, limit=limit, startFromHead=from_head, **more)
        gathered += answer["events"]
        token = answer["nextToken"]
        if token is None:
            break
    log_files.database.close()
    assert gathered == once
    assert len(once) == sum(count for *_, count in said)
    times = [event["timestamp"] for event in once]
    assert times == sorted(times, reverse=not from_head)


def asked(log_files: LogsOverFolder, **params: Any) -> dict[str, Any]:
    call = Call("FilterLogEvents", {"logGroupName": GROUP, **params}, "us-east-1", "123456789012", "r")
    return filter_log_events(log_files.logs, call)


def test_a_call_without_a_match_reads_up_to_a_limit_and_its_token_continues(
    log_files: LogsOverFolder, boto: Any
) -> None:
    line = "x" * 65_535 + "\n"
    log_files.say(line * 150 + "needle\n", NOON_MS)
    first = boto.filter_log_events(logGroupName=GROUP, filterPattern="needle")
    assert first["events"] == []
    second = boto.filter_log_events(logGroupName=GROUP, filterPattern="needle", nextToken=first["nextToken"])
    assert told(second) == ["needle"]


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"filterPattern": "{ $.a = 1 }"}, "JSON filter patterns"),
        ({"filterPattern": '"open'}, "Invalid filter pattern"),
        ({"logStreamNames": ["a/b"], "logStreamNamePrefix": "a"}, "both"),
        ({"nextToken": "mine"}, "nextToken"),
        ({"nextToken": "e30="}, "nextToken"),
    ],
)
def test_bad_members_are_refused(log_files: LogsOverFolder, boto: Any, members: dict[str, Any], expected: str) -> None:
    three(log_files)
    with pytest.raises(ClientError, match=expected) as caught:
        boto.filter_log_events(logGroupName=GROUP, **members)
    assert caught.value.response["Error"]["Code"] == "InvalidParameterException"


def test_an_endpoint_without_output_is_not_found_as_the_sdk_expects(log_files: LogsOverFolder, boto: Any) -> None:
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        boto.filter_log_events(logGroupName=f"{GROUP}-none")


def test_training_jobs_are_streams_of_one_group(log_files: LogsOverFolder, boto: Any, tmp_path: Path) -> None:
    group = "/aws/sagemaker/TrainingJobs"
    log_files.say("epoch 1\n", NOON_MS, "job-1/algo-1-1772366400", group)
    answer = boto.filter_log_events(logGroupName=group, logStreamNamePrefix="job-1/")
    assert [(event["logStreamName"], event["message"]) for event in answer["events"]] == [
        ("job-1/algo-1-1772366400", "epoch 1")
    ]
    assert (tmp_path / "training" / "job-1" / "algo-1-1772366400.log").exists()
