"""Log streams are read on another machine as they were, from their copies in the database."""

import errno
import os
from pathlib import Path

import pytest

from tests.account.helpers.databases import OpenPart
from torpor_account.core.file_growth import Marks
from torpor_account.logs.files import log_copies
from torpor_account.logs.files.log_copies import LOG_COPIES, LogCopies
from torpor_account.logs.files.log_marks import LogMarks
from torpor_account.storage.databases.database import DatabaseAway
from torpor_account.storage.databases.sqlite_file import SqliteFile

STREAM = "endpoints/shop/AllTraffic/i-1.log"


class Machine:
    """The logs of one machine."""

    def __init__(self, folder: Path, opened: OpenPart) -> None:
        self.folder = folder
        self.marks = LogMarks()
        self.database = opened(LOG_COPIES)
        self.copies = LogCopies(self.database, folder, self.marks)

    def says(self, text: str, at_s: int, stream: str = STREAM) -> None:
        """A line that is written and seen at this second."""
        place = self.folder / stream
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("a") as file:
            file.write(text)
        os.utime(place, (at_s, at_s))
        self.marks.noted(place)

    def text(self, stream: str = STREAM) -> str:
        return (self.folder / stream).read_text()

    def streams(self) -> set[str]:
        return {str(place.relative_to(self.folder)) for place in self.folder.rglob("*.log")}


def next_machine(opened: OpenPart, folder: Path) -> Machine:
    machine = Machine(folder, opened)
    machine.copies.restore()
    return machine


def test_a_stream_has_its_lines_and_their_times(opened: OpenPart, tmp_path: Path) -> None:
    first = Machine(tmp_path / "first", opened)
    first.says("one\n", 100)
    first.says("two\n", 200)
    first.copies.copied()
    second = next_machine(opened, tmp_path / "second")
    assert second.text() == "one\ntwo\n"
    marks = second.marks.noted(second.folder / STREAM)
    assert marks == Marks(0, (4, 8), (100_000, 200_000))  # a reader's tokens hold
    second.says("three\n", 300)
    second.copies.copied()
    first_again = next_machine(opened, tmp_path / "first")  # it has an older copy
    assert first_again.text() == "one\ntwo\nthree\n"
    assert first_again.marks.noted(first_again.folder / STREAM).times_ms == (100_000, 200_000, 300_000)


def test_what_is_newer_here_stays(opened: OpenPart, tmp_path: Path) -> None:
    first = Machine(tmp_path / "first", opened)
    first.says("one\n", 100)
    first.copies.copied()
    first.says("two\n", 200)
    assert next_machine(opened, tmp_path / "first").text() == "one\ntwo\n"


def test_of_a_long_stream_the_whole_lines_of_its_end_are_kept(
    opened: OpenPart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_copies, "KEPT_BYTES", 10)
    first = Machine(tmp_path / "first", opened)
    for number, line in enumerate(("aaaa\n", "bbbb\n", "cccc\n")):
        first.says(line, 100 * (number + 1))
    first.says("d", 400)
    first.copies.copied()
    second = next_machine(opened, tmp_path / "second")
    assert second.text() == "cccc\nd"
    marks = second.marks.noted(second.folder / STREAM)
    assert marks == Marks(1, (5, 6), (300_000, 400_000))  # another generation: offsets are others


def test_streams_that_are_deleted_or_too_many_leave_the_database(
    opened: OpenPart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_copies, "TOO_MANY", log_copies.TOO_MANY.replace(str(log_copies.STREAMS_MAX - 1), "1"))
    first = Machine(tmp_path / "first", opened)
    for number in range(4):
        first.says("x\n", 100 + number, f"transform/job/{number}.log")
    first.copies.copied()
    (tmp_path / "first/transform/job/3.log").unlink()
    first.copies.copied()
    assert next_machine(opened, tmp_path / "second").streams() == {"transform/job/2.log"}


def test_a_few_streams_are_copied_at_a_time_and_each_has_its_turn(
    opened: OpenPart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_copies, "AT_ONCE", 2)
    first = Machine(tmp_path / "first", opened)
    for turn in range(3):
        for number in range(5):  # all of them grow all the time
            first.says("x\n", 100 + turn, f"training/job/{number}.log")
        first.copies.copied()
    assert len(next_machine(opened, tmp_path / "second").streams()) == 5


def test_a_database_that_is_away_costs_no_line(tmp_path: Path) -> None:
    class AwayDatabase(SqliteFile):
        away = True

        def changed(self, statement: str, *values: object) -> bool:
            if self.away:
                raise DatabaseAway("it does not answer")
            return super().changed(statement, *values)

    database = AwayDatabase(":memory:", LOG_COPIES)
    first = Machine(tmp_path / "first", lambda part: database)
    first.says("one\n", 100)
    first.copies.copied()
    database.away = False
    first.copies.copied()
    assert next_machine(lambda part: database, tmp_path / "second").text() == "one\n"


def test_a_copy_that_the_folder_could_not_take_stays_in_the_database(opened: OpenPart, tmp_path: Path) -> None:
    first = Machine(tmp_path / "first", opened)
    first.says("one\n", 100)
    first.copies.copied()
    second = Machine(tmp_path / "second", lambda part: first.database)
    second.folder.write_text("no folder")
    second.copies.restore()
    second.folder.unlink()
    second.copies.copied()
    second.copies.restore()
    assert second.text() == "one\n"


def test_a_start_that_fails_before_it_restores_leaves_newer_copies(opened: OpenPart, tmp_path: Path) -> None:
    """It closes what it has opened, and copies once more then."""
    first = Machine(tmp_path / "first", opened)
    first.says("one\n", 100)
    first.copies.copied()
    second = next_machine(opened, tmp_path / "second")
    second.says("two\n", 200)
    second.copies.copied()
    failed = Machine(tmp_path / "first", opened)
    failed.copies.close()
    assert next_machine(opened, tmp_path / "first").text() == "one\ntwo\n"


def test_a_copy_that_is_not_whole_takes_no_older_logs_place(
    opened: OpenPart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Machine(tmp_path / "first", opened)
    first.says("one\n", 100)
    first.copies.copied()
    second = next_machine(opened, tmp_path / "second")
    second.says("two\n", 200)
    second.copies.copied()

    def full_disk(place: Path, content: bytes) -> int:
        with place.open("wb") as file:
            file.write(content[:5])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    failed = next_machine(opened, tmp_path / "first")
    assert failed.text() == "one\n"
    assert {place.name for place in failed.folder.rglob("*.*")} == {"i-1.log", "i-1.marks"}
    failed.copies.copied()
    monkeypatch.undo()
    assert next_machine(opened, tmp_path / "third").text() == "one\ntwo\n"


def test_a_row_that_names_no_log_is_not_written(
    opened: OpenPart, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = Machine(tmp_path / "logs" / "first", opened)
    first.database.changed(log_copies.PUT, "../elsewhere.log", 1, 0, "[[],[]]", b"")
    first.copies.restore()
    assert not (tmp_path / "logs" / "elsewhere.log").exists()
    assert "is no log" in caplog.text
