"""A progress bar on standard error: the present step, the share that is done, and the time that is left."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import TimeRemainingColumn as TimeLeftColumn


class Bar:
    """Shows the present step, and counts what is done: requests, bytes or files."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

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


@contextmanager
def bar(what: str, console: Console | None = None) -> Iterator[Bar]:
    """A progress bar. Without a terminal on standard error it shows nothing."""
    shown = console or Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeLeftColumn(),
    )
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as progress:
        yield Bar(progress, progress.add_task(what, total=None))


@contextmanager
def waiting(what: str, console: Console | None = None) -> Iterator[None]:
    """A spinner with the time so far, for a wait of unknown length. Without a terminal it shows nothing."""
    shown = console or Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as progress:
        progress.add_task(what, total=None)
        yield
