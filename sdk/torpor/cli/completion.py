"""Completes the names of endpoints and models in the shell, from the endpoint that runs. It prints no error."""

from collections.abc import Callable, Iterable

import typer

from torpor.calling.connection import EndpointConnection
from torpor.errors import TorporError
from torpor.pages import names

WITHIN_S = 0.5
"""How long a person waits for the names, in seconds; after it there are none."""


def endpoints(ctx: typer.Context, incomplete: str) -> list[str]:
    """The names of endpoints in service that begin so."""
    return _begin(incomplete, lambda: names.in_service(_connection(ctx), WITHIN_S))


def models(ctx: typer.Context, incomplete: str) -> list[str]:
    """The names of models that begin so: of the endpoint that the line names, or of all."""
    return _begin(incomplete, lambda: names.model_names(_connection(ctx), ctx.params.get("endpoint"), WITHIN_S))


def _connection(ctx: typer.Context) -> EndpointConnection:
    return EndpointConnection.configured(ctx.params.get("url"))


def _begin(incomplete: str, known: Callable[[], Iterable[str]]) -> list[str]:
    try:
        return [name for name in known() if name.startswith(incomplete)]
    except (TorporError, ValueError, KeyError, TypeError):  # no endpoint, or something else, is at the URL
        return []
