"""A bar on standard error for what takes long: what goes on, which share of it is done, and how much time is left."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import TimeRemainingColumn as TimeLeftColumn


class Bar:
    """Says what goes on, and counts requests."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def says(self, what: str) -> None:
        """The same piece of work goes on with this."""
        self._progress.update(self._task, description=what)

    def begins(self, what: str) -> None:
        """Another piece of work, of which nothing is done, and nobody knows how much it is."""
        self._progress.reset(self._task, total=None, description=what)

    def of(self, total: int) -> None:
        """So many requests are to be played."""
        self._progress.update(self._task, total=total)

    def done(self, requests: int) -> None:
        """So many more have been."""
        self._progress.advance(self._task, requests)


@contextmanager
def bar(what: str, console: Console | None = None) -> Iterator[Bar]:
    """Nothing is shown where standard error is no terminal."""
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
