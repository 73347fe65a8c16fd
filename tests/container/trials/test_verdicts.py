"""Verdicts: what is kept for a content, and what a reload forgets."""

import os
from pathlib import Path

import pytest

from torpor_container.core.trials import Verdict
from torpor_container.trials.verdicts import Verdicts, key_of


@pytest.mark.parametrize(
    ("verdict", "kept"),
    [
        (Verdict("it hung"), False),
        (Verdict("too large", limit_bytes=5), False),
        (Verdict("it took 60 s", starved=True), False),
        (Verdict("an instance ended 2 times", deaths=2), True),
        (Verdict("", deaths=1), True),
        (Verdict(), True),
    ],
)
def test_a_pardon_forgets_what_quarantines_a_content_unless_it_ended_instances(
    tmp_path: Path, verdict: Verdict, kept: bool
) -> None:
    known, key = Verdicts(tmp_path / "not there yet"), key_of("content")
    known.write(key, verdict)
    known.pardon(key)
    assert known.read(key) == (verdict if kept else None)


def test_a_verdict_is_for_one_content_and_all_that_decides_what_is_loaded_of_it() -> None:
    keys = [
        key_of("one"),
        key_of("other"),
        key_of("one", "xgboost 3"),
        key_of("one", "xgboost 4"),
        key_of("one", "", "3"),
    ]
    assert len(set(keys)) == len(keys)


def test_the_oldest_verdicts_leave_beyond_the_most_that_are_kept(tmp_path: Path) -> None:
    for number in range(5):
        Verdicts(tmp_path, kept_max=3).write(str(number), Verdict())  # the first one of a process counts all
        os.utime(tmp_path / str(number), (number, number))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2", "3", "4"]
