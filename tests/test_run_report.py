"""The report of a run of the tests, from files as pytest writes them."""

from pathlib import Path

import pytest

from tests import run_report

FIRST = """<testsuites><testsuite>
<testcase classname="tests.a" name="test_slow[1]" time="3.5" />
<testcase classname="tests.a" name="test_by_luck" time="0.25"><failure message="no">no</failure></testcase>
<testcase classname="tests.b" name="test_broken" time="0.5"><failure message="no">no</failure></testcase>
<testcase classname="tests.b" name="test_broken" time="0.5"><error message="no">no</error></testcase>
<testcase classname="tests.b" name="test_left_out" time="0.0"><skipped message="no">no</skipped></testcase>
</testsuite></testsuites>"""
AGAIN = """<testsuites><testsuite>
<testcase classname="tests.a" name="test_by_luck" time="0.25" />
<testcase classname="tests.b" name="test_broken" time="0.5"><failure message="no">no</failure></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    (tmp_path / "first.xml").write_text(FIRST)
    (tmp_path / "again.xml").write_text(AGAIN)
    return [str(tmp_path / name) for name in ("first.xml", "again.xml")]


def test_a_test_that_passed_only_at_the_second_try_is_named_last(
    paths: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run_report.main(paths)
    assert (
        capsys.readouterr().out
        == """4 tests took 5 s together. The files that took most:
     3.8 s  tests.a
     1.0 s  tests.b
The slowest tests:
     3.5 s  tests.a::test_slow[1]
     1.0 s  tests.b::test_broken
     0.2 s  tests.a::test_by_luck
     0.0 s  tests.b::test_left_out
Passed only at the second try:
  tests.a::test_by_luck
"""
    )


def test_a_run_that_passed_at_once_names_no_second_try(paths: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run_report.main([paths[0], paths[1] + ".gone"])
    assert "second try" not in capsys.readouterr().out


def test_there_is_no_report_of_a_run_that_did_not_begin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_report.main([str(tmp_path / "gone.xml")])
    assert capsys.readouterr().out == ""
