"""Long work shows on a terminal its finished share, and the time left."""

import io

import pytest
from rich.console import Console

from torpor.cli.progress import bar, waiting


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


@pytest.mark.parametrize("terminal", [True, False])
def test_a_wait_shows_what_for_on_a_terminal_only(terminal: bool) -> None:
    out = io.StringIO()
    with waiting("deploying houses", Console(file=out, force_terminal=terminal, width=100)):
        pass
    assert ("deploying houses" in out.getvalue()) == terminal
