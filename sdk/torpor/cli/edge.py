"""The edge of every command: where the endpoint is, where the output goes, and one clear line for an error."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from torpor.calling.connection import EndpointConnection
from torpor.calling.defaults import URL, URL_VARIABLE
from torpor.errors import EndpointRefused, TorporError
from torpor.pages import state

Url = Annotated[
    str | None, typer.Option(envvar=URL_VARIABLE, help=f"Where the endpoint is; {URL} if neither says.", metavar="URL")
]
EndpointName = Annotated[
    str | None, typer.Argument(help="The endpoint's name; not needed for the only one.", metavar="ENDPOINT")
]

NO_ENDPOINT = "there is no endpoint yet"
PIPED = 120
"""Columns of what no terminal shows."""


class PlainErrors(TyperGroup):
    """A group of commands whose expected errors end in one line on standard error and exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return super().invoke(ctx)
        except (TorporError, ClientError, BotoCoreError, OSError) as error:
            typer.secho(f"torpor: {error}", err=True, fg=typer.colors.RED)
            raise typer.Exit(1) from error


def connected(url: str | None) -> EndpointConnection:
    """The connection, after a look who answers. Raises EndpointUnreachable, NotTorpor."""
    return EndpointConnection.configured(url).identified()


def only(connection: EndpointConnection, name: str | None) -> str:
    """The endpoint named, else the only one there is. Raises TorporError."""
    if name is not None:
        return name
    known = state.names(connection.client("sagemaker"))
    if len(known) != 1:
        raise TorporError(f"name one of the endpoints: {', '.join(known)}" if known else NO_ENDPOINT)
    return known[0]


def present(option: str, file: Path) -> None:
    """Raises TorporError for a file that is not there, or is none."""
    if not file.exists():
        raise TorporError(f"{option} {file}: there is no such file")
    if file.is_dir():
        raise TorporError(f"{option} {file}: that is a folder, name a file")


@contextmanager
def known(connection: EndpointConnection, name: str | None) -> Iterator[None]:
    """What is asked of an endpoint in here. Where it is refused and there is no such endpoint, that is what is said."""
    from botocore.exceptions import ClientError

    try:
        yield
    except (EndpointRefused, ClientError) as error:
        if name is None or name in state.names(connection.client("sagemaker")):
            raise
        raise unknown(connection, name) from error


def unknown(connection: EndpointConnection, name: str) -> TorporError:
    """That there is no such endpoint, and which there are."""
    names = state.names(connection.client("sagemaker"))
    return TorporError(f"there is no endpoint {name!r}: known are {', '.join(names)}" if names else NO_ENDPOINT)


def console() -> Console:
    """Made anew for each command: it looks at the terminal as it is now. Where there is none, no colour and no wrap.
    Names are shown as they are: a model may be called `a[/b].tar.gz`, which is markup elsewhere."""
    found = Console(highlight=False, markup=False, emoji=False)
    if not found.is_terminal:
        found.width = max(found.width, PIPED)
    return found


def plain_table(title: str, *names: str) -> Table:
    """Without a frame: the table of every command, with its first columns."""
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
