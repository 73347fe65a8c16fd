"""GetLogEvents through boto3."""

import os
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.account.helpers.logs_over_folder import GROUP, NOON_MS, STREAM, LogsOverFolder
from torpor_account.logs.files.log_marks import LogMarks

ONE = {"logGroupName": GROUP, "logStreamName": STREAM}


def told(answer: dict[str, Any]) -> list[str]:
    return [event["message"] for event in answer["events"]]


def code(caught: pytest.ExceptionInfo[ClientError]) -> str:
    return str(caught.value.response["Error"]["Code"])


def test_lines_have_the_time_at_which_they_were_first_seen(log_files: LogsOverFolder, boto: Any) -> None:
    log_files.say("a\nb\n", NOON_MS)
    log_files.say("c\r\n\nd\n", NOON_MS + 1000)
    events = boto.get_log_events(**ONE)["events"]
    assert [(event["timestamp"] - NOON_MS, event["message"]) for event in events] == [
        (0, "a"),
        (0, "b"),
        (1000, "c"),
        (1000, "d"),
    ]


def test_forward_pages_end_with_the_token_that_was_given(log_files: LogsOverFolder, boto: Any) -> None:
    log_files.say("".join(f"{number}\n" for number in range(5)), NOON_MS)
    seen, token, pages = [], None, 0
    while True:
        answer = boto.get_log_events(**ONE, startFromHead=True, limit=2, **({"nextToken": token} if token else {}))
        seen += told(answer)
        pages += 1
        if answer["nextForwardToken"] == token:
            break
        token = answer["nextForwardToken"]
    assert (seen, pages) == (["0", "1", "2", "3", "4"], 4)
    log_files.say("5\n", NOON_MS + 1000)
    assert told(boto.get_log_events(**ONE, nextToken=token, startFromHead=True)) == ["5"]


def test_the_latest_come_first_and_backward_pages_lead_to_the_head(log_files: LogsOverFolder, boto: Any) -> None:
    log_files.say("".join(f"{number}\n" for number in range(5)), NOON_MS)
    newest = boto.get_log_events(**ONE, limit=2)
    assert told(newest) == ["3", "4"]
    middle = boto.get_log_events(**ONE, limit=2, nextToken=newest["nextBackwardToken"])
    assert told(middle) == ["1", "2"]
    assert told(boto.get_log_events(**ONE, limit=2, nextToken=middle["nextForwardToken"])) == ["3", "4"]
    oldest = boto.get_log_events(**ONE, limit=2, nextToken=middle["nextBackwardToken"])
    beyond = boto.get_log_events(**ONE, limit=2, nextToken=oldest["nextBackwardToken"])
    assert (told(oldest), told(beyond)) == (["0"], [])
    assert beyond["nextBackwardToken"] == oldest["nextBackwardToken"]


def test_a_time_range_holds_its_start_and_not_its_end(log_files: LogsOverFolder, boto: Any) -> None:
    for second in range(4):
        log_files.say(f"{second}\n", NOON_MS + 1000 * second)
    span = {"startTime": NOON_MS + 1000, "endTime": NOON_MS + 3000}
    assert told(boto.get_log_events(**ONE, **span)) == ["1", "2"]
    assert told(boto.get_log_events(**ONE, **span, startFromHead=True)) == ["1", "2"]
    assert told(boto.get_log_events(**ONE, startTime=NOON_MS + 9000)) == []


def test_a_line_of_two_moments_is_of_the_first(log_files: LogsOverFolder, boto: Any) -> None:
    log_files.say("half", NOON_MS)
    log_files.say(" and half\nnext\n", NOON_MS + 1000)
    events = boto.get_log_events(**ONE, startTime=NOON_MS + 1)["events"]
    assert [event["message"] for event in events] == ["next"]
    assert told(boto.get_log_events(**ONE, endTime=NOON_MS + 1000)) == ["half and half"]


def test_a_last_line_without_its_end_is_shown_when_it_has_rested(log_files: LogsOverFolder, boto: Any) -> None:
    log_files.say("done\nTraceback", NOON_MS)
    log_files.now_ms = NOON_MS + 1000
    assert told(boto.get_log_events(**ONE)) == ["done"]
    log_files.now_ms = NOON_MS + 6000
    assert told(boto.get_log_events(**ONE)) == ["done", "Traceback"]


def test_a_page_has_a_mebibyte_at_most(log_files: LogsOverFolder, boto: Any) -> None:
    line = "x" * 99_999 + "\n"
    log_files.say(line * 25, NOON_MS)
    first = boto.get_log_events(**ONE, startFromHead=True)
    assert len(first["events"]) == 10
    assert len(boto.get_log_events(**ONE)["events"]) == 10
    second = boto.get_log_events(**ONE, nextToken=first["nextForwardToken"], startFromHead=True)
    assert len(second["events"]) == 10


def test_a_token_from_before_the_log_restarted_leads_to_its_new_start(log_files: LogsOverFolder, boto: Any) -> None:
    log_files.say("old\n" * 100, NOON_MS)
    token = boto.get_log_events(**ONE)["nextForwardToken"]
    os.truncate(log_files.path(), 0)
    log_files.say("new\n", NOON_MS + 1000)
    assert told(boto.get_log_events(**ONE, nextToken=token, startFromHead=True)) == ["new"]


def test_times_survive_a_restart(log_files: LogsOverFolder, boto: Any, connected: Any) -> None:
    log_files.say("a\n", NOON_MS)
    log_files.say("b\n", NOON_MS + 1000)
    again = LogsOverFolder(log_files.folder)
    connected[1].append(again)
    again.say("c\n", NOON_MS + 2000)
    events = boto.get_log_events(**ONE)["events"]
    assert [event["timestamp"] - NOON_MS for event in events] == [0, 1000, 2000]
    again.database.close()


@pytest.mark.parametrize("damage", ["", "no number\n", "0\n5 5\n3 9\n", "0\n1 2 3\n"])
def test_damaged_marks_cost_the_times_and_nothing_else(log_files: LogsOverFolder, damage: str) -> None:
    log = log_files.say("a\nb\n", NOON_MS)
    log.with_suffix(".marks").write_text(damage)
    marks = LogMarks().noted(log)
    assert (marks.size_bytes, marks.times_ms) == (4, (NOON_MS,))


def test_marks_that_were_torn_lose_their_last_line_only(log_files: LogsOverFolder) -> None:
    log = log_files.say("a\n", NOON_MS)
    log_files.say("b\n", NOON_MS + 1000)
    beside = log.with_suffix(".marks")
    beside.write_text(beside.read_text()[:-3])
    os.utime(log, ns=((NOON_MS + 2000) * 1_000_000,) * 2)
    assert LogMarks().noted(log).times_ms == (NOON_MS, NOON_MS + 2000)
    assert LogMarks().noted(log).times_ms == (NOON_MS, NOON_MS + 2000)


def test_an_unknown_stream_or_group_is_not_found(log_files: LogsOverFolder, boto: Any) -> None:
    log_files.say("a\n", NOON_MS)
    for unknown in ("AllTraffic/i-1", "../houses", "AllTraffic", "a/../b"):
        with pytest.raises(ClientError) as caught:
            boto.get_log_events(logGroupName=GROUP, logStreamName=unknown)
        assert code(caught) == "ResourceNotFoundException"
    with pytest.raises(ClientError, match="log group does not exist") as caught:
        boto.get_log_events(logGroupName=f"{GROUP}s", logStreamName=STREAM)
    assert code(caught) == "ResourceNotFoundException"


def test_a_group_is_named_or_identified_and_not_both(log_files: LogsOverFolder, boto: Any) -> None:
    log_files.say("a\n", NOON_MS)
    arn = f"arn:aws:logs:us-east-1:123456789012:log-group:{GROUP}"
    assert told(boto.get_log_events(logGroupIdentifier=arn, logStreamName=STREAM)) == ["a"]
    with pytest.raises(ClientError, match="InvalidParameterException"):
        boto.get_log_events(**ONE, logGroupIdentifier=GROUP)
    with pytest.raises(ClientError, match="InvalidParameterException"):
        boto.get_log_events(**ONE, nextToken="mine")


def test_bytes_that_are_no_text_are_shown_as_far_as_they_go(log_files: LogsOverFolder, boto: Any) -> None:
    log_files.path().write_bytes(b"caf\xe9 \xf0\x9f\x8f\xa0\n")
    assert told(boto.get_log_events(**ONE)) == ["caf\ufffd \U0001f3e0"]
