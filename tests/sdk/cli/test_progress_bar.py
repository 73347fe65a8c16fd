"""Long work shows on a terminal its finished share, and the time left."""

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from torpor.cli.progress_bar import Bar, Lines, bar, waiting


def shown(terminal: bool) -> str:
    out = io.StringIO()
    with bar("reading", Console(file=out, force_terminal=terminal, width=100)) as progress:
        progress.begins("1 x ml.m5.large, LRU")
        progress.of(200)
        progress.done(50)
    return out.getvalue()


def test_a_share_and_the_time_left_are_shown_on_a_terminal_only() -> None:
    told = shown(terminal=True)
    assert "1 x ml.m5.large, LRU" in told
    assert "25%" in told
    assert "left" in told
    assert shown(terminal=False) == ""


def test_a_file_gets_a_line_each_ten_seconds() -> None:
    out, seconds = io.StringIO(), iter([0.0, 4.0, 12.0, 15.0, 23.0])
    shown = Console(file=out, force_terminal=False, width=100)
    with Progress(console=shown, disable=True) as progress:
        counted = Bar(
            progress, progress.add_task("2 x ml.m5.large, LRU", total=200), Lines(shown, lambda: next(seconds))
        )
        for _ in range(4):
            counted.done(50)
    assert out.getvalue().splitlines() == [
        "2 x ml.m5.large, LRU: 50 % after 12 s",
        "2 x ml.m5.large, LRU: 100 % after 23 s",
    ]


@pytest.mark.parametrize("terminal", [True, False])
def test_a_wait_shows_what_for_on_a_terminal_only(terminal: bool) -> None:
    out = io.StringIO()
    with waiting("deploying houses", Console(file=out, force_terminal=terminal, width=100)):
        pass
    assert ("deploying houses" in out.getvalue()) == terminal
