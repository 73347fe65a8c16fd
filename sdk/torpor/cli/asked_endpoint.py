"""Which endpoint a command asks: its URL and its name, and a clear error where there is none."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from torpor.calling.connection import EndpointConnection
from torpor.calling.defaults import URL, URL_VARIABLE
from torpor.cli import completion
from torpor.errors import EndpointRefused, EndpointUnreachable, IsRouter, TorporError
from torpor.pages import state
from torpor.pages.completion_names import model_names, near

Url = Annotated[
    str | None,
    typer.Option(help=f"The endpoint's URL, for all services; else {URL_VARIABLE}, else {URL}.", metavar="URL"),
]
EndpointName = Annotated[
    str | None,
    typer.Argument(
        help="The endpoint's name; not needed if there is only one.",
        metavar="[NAME]",
        autocompletion=completion.endpoints,
    ),
]
OneOrAll = Annotated[
    str | None,
    typer.Argument(help="Only the endpoint of this name.", metavar="[NAME]", autocompletion=completion.endpoints),
]
ModelName = Annotated[
    str,
    typer.Argument(
        help="The model's key below the endpoint's prefix.", metavar="MODEL", autocompletion=completion.models
    ),
]

NO_ENDPOINT = "there is no endpoint yet: `torpor deploy PREFIX --name NAME` makes one"


def connected(url: str | None) -> EndpointConnection:
    """A connection to the endpoint, which has answered. Raises EndpointUnreachable, NotTorpor, IsRouter."""
    connection = invocable(url)
    if connection.is_router:
        raise IsRouter(connection.url, connection.control())
    return connection


def invocable(url: str | None) -> EndpointConnection:
    """A connection to the endpoint, or to one of its routers. Raises EndpointUnreachable, NotTorpor."""
    return EndpointConnection.configured(url).identified()


def only(connection: EndpointConnection, name: str | None) -> str:
    """The given name, or the name of the only endpoint. Raises TorporError if there is none, or several."""
    if name is not None:
        return name
    if connection.is_router:
        raise TorporError(f"name the endpoint: {connection.url} is a router, which has no list of them")
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
        if name is not None and (better := unknown(connection, name)) is not None:
            raise better from error
        raise


def unknown(connection: EndpointConnection, name: str) -> TorporError | None:
    """The error that there is no such endpoint, with the names that are nearest. None if there is one of this name, or
    the endpoints cannot be listed."""
    names = listed(connection)
    if names is None or name in names:
        return None
    return TorporError(f"there is no endpoint {name!r}, only {near(name, names)}" if names else NO_ENDPOINT)


def not_in_service(name: str) -> TorporError:
    """The error that an endpoint is there, and serves nothing."""
    return TorporError(f"endpoint {name} is not in service: `torpor ls` shows its state")


def listed(connection: EndpointConnection) -> list[str] | None:
    """The names of all endpoints; None where they cannot be listed: a caller may lack the right to, and a router has no
    list."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return state.names(connection.client("sagemaker"))
    except (BotoCoreError, ClientError):
        return None


def unknown_model(connection: EndpointConnection, endpoint: str, model: str) -> TorporError | None:
    """The error that the endpoint has no such model, with the names that are nearest. None if it has one of this name,
    or its models cannot be listed."""
    try:
        names = model_names(connection, endpoint)
    except (EndpointRefused, EndpointUnreachable):
        return None
    if not names or model.removeprefix("/") in names:
        return None
    return TorporError(f"{endpoint} has no model {model!r}: it has {near(model, names)}")
