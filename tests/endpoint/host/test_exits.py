"""How an instance ended, in words."""

from pathlib import Path

from torpor_endpoint.host.exits import SHOWN_MAX, exit_reason, last_output


def test_an_end_is_told_by_its_signal_or_its_code() -> None:
    reasons = [exit_reason(code) for code in (0, 3, -9)]
    assert reasons == ["it ended", "its process ended with exit code 3", "its process was ended by signal 9"]


def test_the_last_two_lines_are_told_as_far_as_there_is_room(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert last_output(log) == ""
    log.write_text("one\ntwo\nthree\n")
    assert last_output(log) == "; its last output: two / three"
    log.write_bytes(b"\xff" * 10_000)
    assert len(last_output(log)) == len("; its last output: ") + SHOWN_MAX
