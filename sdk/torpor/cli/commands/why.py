"""`torpor why`: the decisions about one model, in order of time."""

from typing import Annotated

import typer

from torpor.calling.connection import EndpointConnection
from torpor.cli.endpoints import Url, connected, unknown
from torpor.errors import TorporError
from torpor.pages import state
from torpor.pages.inquiry import story


def why(
    model: Annotated[str, typer.Argument(help="The model's key below the endpoint's prefix.")],
    endpoint: Annotated[str | None, typer.Option(help="Only this endpoint.")] = None,
    url: Url = None,
) -> None:
    """Explain why a model was loaded, evicted or refused, and what it cost."""
    connection = connected(url)
    present = [found for found in state.endpoints(connection) if endpoint in (None, found.name)]
    if not present:
        raise _none(connection, endpoint)
    for found in present:
        typer.echo(f"{found.name}: {story(connection, found, model)}")


def _none(connection: EndpointConnection, endpoint: str | None) -> TorporError:
    """The error that says why there is nothing to show."""
    standing = {found.name: found for found in state.statuses(connection)}
    if endpoint is None or endpoint not in standing:
        return TorporError("no endpoint is in service") if endpoint is None else unknown(connection, endpoint)
    return TorporError(f"endpoint {endpoint} is not in service: {standing[endpoint].status}")
