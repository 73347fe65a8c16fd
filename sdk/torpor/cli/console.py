"""The output of every command: its console, its tables, and one clear line for an error."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from torpor.cli.exit_codes import ExitCode, exit_code
from torpor.errors import TorporError
from torpor.pages.completion_names import near

PIPED = 120
"""The least width of output that does not go to a terminal, in characters."""
GAP = 2
"""Spaces between columns; there is one less after the last column."""
UsageError: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "UsageError")
"""The parent of what the parser raises. It is click's, which newer versions of typer contain and do not export."""
CHOICES = re.compile(r"(.*Value '([^']*)' at .*enum value set: )\[([^]]{200,})\]", re.DOTALL)
"""A refusal by AWS's model that lists all values, of which an error shows the nearest."""
HELP = "NoArgsIsHelpError"
"""The kind of UsageError that is no error: its message is the help of a command that was called without arguments."""


class PlainErrors(TyperGroup):
    """A group of commands whose expected errors end in one line on standard error, with a code of `ExitCode`."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with plain_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with plain_errors():
            return super().invoke(ctx)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turns an expected error inside the with-statement into its line and its exit code."""
    try:
        yield
    except BrokenPipeError:  # the reader of the output has enough: the command ends without a word
        raise
    except KeyboardInterrupt as interrupt:
        _end("interrupted", interrupt)
    except UsageError as error:
        if type(error).__name__ == HELP:
            raise
        _end(usage_line(error), error, ExitCode.USAGE)
    except OSError as error:
        _end(file_line(error), error)
    except TorporError as error:
        _end(str(error), error)
    except _of_botocore() as error:
        _end(api_line(error) if hasattr(error, "response") else str(error), error)


def _of_botocore() -> tuple[type[Exception], ...]:
    """The errors of AWS's clients. Python asks for them only when no clause above has caught the error: a command that
    calls no AWS client does not wait for the import."""
    from botocore.exceptions import BotoCoreError, ClientError

    return ClientError, BotoCoreError


def _end(line: str, error: BaseException, code: ExitCode | None = None) -> None:
    """Print the line, and end the command."""
    printer = Console(stderr=True, highlight=False, markup=False, emoji=False)
    printer.print(f"torpor: {' '.join(line.split())}", style="red", soft_wrap=True)
    raise typer.Exit(code if code is not None else exit_code(error)) from error


def usage_line(error: Any) -> str:
    """`No such option: --foo. See torpor ls --help`"""
    command = error.ctx.command_path if error.ctx is not None else "torpor"
    return f"{error.format_message().rstrip('.')}. See `{command} --help`"


def api_line(error: Any) -> str:
    """`Could not find endpoint "a". (ValidationException of InvokeEndpoint)`"""
    fault = error.response.get("Error", {})
    message = CHOICES.sub(_nearest, str(fault.get("Message", "")).strip()) or "no message was given"
    return f"{message} ({fault.get('Code', 'no code')} of {error.operation_name})"


def _nearest(refused: re.Match[str]) -> str:
    return f"{refused[1]}{near(refused[2], refused[3].split(', '))}"


def file_line(error: OSError) -> str:
    """`a.csv: Permission denied`, with what to do."""
    if error.filename is None or error.strerror is None:
        return str(error)
    advice = {PermissionError: ": change its permissions, or name another", FileNotFoundError: ": name another"}
    return f"{error.filename}: {error.strerror}{advice.get(type(error), '')}"


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


def fitted(rows: Sequence[Mapping[str, str]], spare: Sequence[str], width: int, bold: int | None = None) -> Table:
    """A table of rows with the same columns; the first column has the rows' names. If the terminal is too narrow, the
    columns of `spare` are left out one after another. A column without a name has words, and may wrap."""
    names = list(rows[0])
    for name in spare:
        if sum(GAP + max(map(len, (one, *(row[one] for row in rows)))) for one in names) <= width + 1:
            break
        names = [one for one in names if one != name]
    shown = plain_table("", names[0])
    for name in names[1:]:
        shown.add_column(name, justify="right" if name else "left", no_wrap=bool(name))
    for number, row in enumerate(rows):
        shown.add_row(*(row[name] for name in names), style="bold" if number == bold else "")
    return shown


AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON and nothing else; docs/reference/cli.md lists the keys.")
]


def print_json(record: Any) -> None:
    """Print the record that a command has with `--json`."""
    from torpor.cli import json_records

    typer.echo(json_records.text(record))
