"""Progress on standard error: a bar with the present step, the share that is done and the time that is left; where
standard error is no terminal, a line now and then."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    Task,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import TimeRemainingColumn as TimeLeftColumn

LINE_EVERY_S = 10.0
"""Where there is no terminal, so many seconds lie between two lines: what takes less prints none."""


class Bar:
    """Shows the present step, and counts what is done: requests, bytes or files. `lines`, if any, prints it."""

    def __init__(self, progress: Progress, task: TaskID, lines: "Lines | None" = None) -> None:
        self._progress = progress
        self._task = task
        self._lines = lines

    def says(self, what: str) -> None:
        """Rename the present step."""
        self._progress.update(self._task, description=what)

    def begins(self, what: str) -> None:
        """Begin another step, whose total is not known yet."""
        self._progress.reset(self._task, total=None, description=what)

    def of(self, total: int) -> None:
        """Set the size of the present step."""
        self._progress.update(self._task, total=total)

    def done(self, count: int) -> None:
        """Count more as done."""
        self._progress.advance(self._task, count)
        if self._lines is not None:
            self._lines.look(self._progress.tasks[self._task])


class Lines:
    """Prints the present step each LINE_EVERY_S: `2 x ml.m5.large, LRU: 40 % after 20 s`."""

    def __init__(self, console: Console, now: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._now = now
        self._began_s = self._last_s = now()

    def look(self, task: Task) -> None:
        """Print the step if it is time."""
        now_s = self._now()
        if now_s - self._last_s < LINE_EVERY_S:
            return
        self._last_s = now_s
        share = "" if task.total is None else f": {task.percentage:.0f} %"
        self._console.print(f"{task.description}{share} after {now_s - self._began_s:.0f} s", soft_wrap=True)


@contextmanager
def bar(what: str, console: Console | None = None) -> Iterator[Bar]:
    """A progress bar. Without a terminal on standard error, it is a line each LINE_EVERY_S."""
    shown = console or Console(stderr=True)
    lines = None if shown.is_terminal else Lines(shown)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeLeftColumn(),
    )
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as progress:
        yield Bar(progress, progress.add_task(what, total=None), lines)


@contextmanager
def waiting(what: str, console: Console | None = None) -> Iterator[Callable[[str], None]]:
    """A spinner with the time so far, for a wait of unknown length. Without a terminal it shows nothing. What it yields
    renames the wait."""
    shown = console or Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda renamed: progress.update(task, description=renamed)
