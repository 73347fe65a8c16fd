"""The output of every command: its console, its tables, and one clear line for an error."""

from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from torpor.errors import TorporError

PIPED = 120
"""The least width of output that does not go to a terminal, in characters."""


class PlainErrors(TyperGroup):
    """A group of commands whose expected errors end in one line on standard error and exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of the output has enough: click ends the command without a word
            raise
        except (TorporError, ClientError, BotoCoreError, OSError) as error:
            typer.secho(f"torpor: {error}", err=True, fg=typer.colors.RED)
            raise typer.Exit(1) from error


def console() -> Console:
    """A new console for this command, with the terminal's present size. Without a terminal: no colour, no wrapping.
    Markup is off, since a model may be called `a[/b].tar.gz`."""
    found = Console(highlight=False, markup=False, emoji=False)
    if not found.is_terminal:
        found.width = max(found.width, PIPED)
    return found


def plain_table(title: str, *names: str) -> Table:
    """The table of every command: without a frame, and with its first columns."""
    shown = Table(
        title=f"\n{title}" if title else None,
        title_justify="left",
        title_style="bold",
        header_style="dim",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
    )
    for name in names:
        shown.add_column(name, overflow="fold")
    return shown
