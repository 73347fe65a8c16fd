"""Which endpoint a command asks: its URL and its name, and a clear error where there is none."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from torpor.calling.connection import EndpointConnection
from torpor.calling.defaults import URL, URL_VARIABLE
from torpor.errors import EndpointRefused, TorporError
from torpor.pages import state

Url = Annotated[str | None, typer.Option(envvar=URL_VARIABLE, help=f"The endpoint's URL; else {URL}.", metavar="URL")]
EndpointName = Annotated[
    str | None, typer.Argument(help="The endpoint's name; not needed if there is only one.", metavar="ENDPOINT")
]

NO_ENDPOINT = "there is no endpoint yet"


def connected(url: str | None) -> EndpointConnection:
    """A connection to the endpoint, which has answered. Raises EndpointUnreachable, NotTorpor."""
    return EndpointConnection.configured(url).identified()


def only(connection: EndpointConnection, name: str | None) -> str:
    """The given name, or the name of the only endpoint. Raises TorporError if there is none, or several."""
    if name is not None:
        return name
    known = state.names(connection.client("sagemaker"))
    if len(known) != 1:
        raise TorporError(f"name one of the endpoints: {', '.join(known)}" if known else NO_ENDPOINT)
    return known[0]


@contextmanager
def known(connection: EndpointConnection, name: str | None) -> Iterator[None]:
    """Turns a refusal inside the with-statement into TorporError, if the reason is that there is no such endpoint."""
    from botocore.exceptions import ClientError

    try:
        yield
    except (EndpointRefused, ClientError) as error:
        if name is None or name in state.names(connection.client("sagemaker")):
            raise
        raise unknown(connection, name) from error


def unknown(connection: EndpointConnection, name: str) -> TorporError:
    """The error that there is no such endpoint, with the names of those that exist."""
    names = state.names(connection.client("sagemaker"))
    return TorporError(f"there is no endpoint {name!r}, only {', '.join(names)}" if names else NO_ENDPOINT)
