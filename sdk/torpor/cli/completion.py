"""Completes the names of endpoints and models in the shell, from the endpoint that runs. It prints no error."""

import os
from collections.abc import Callable, Collection, Iterable

import typer

from torpor.calling.connection import EndpointConnection
from torpor.errors import TorporError
from torpor.pages import completion_names

LINES = ("COMP_WORDS", "_TORPOR_COMPLETE_ARGS")
"""The variables in which a shell gives the line: bash, and the others."""
WITHIN_S = 0.5
"""How long a person waits for the names, in seconds; after it there are none."""


def endpoints(ctx: typer.Context, incomplete: str) -> list[str]:
    """The names of endpoints in service that begin so."""
    return _begin(incomplete, lambda: completion_names.in_service(_connection(ctx), WITHIN_S))


def models(ctx: typer.Context, incomplete: str) -> list[str]:
    """The names of models that begin so: of the endpoint that the line names, or of all."""

    def known() -> list[str]:
        connection = _connection(ctx)
        endpoint = ctx.params.get("endpoint") or _named(completion_names.in_service(connection, WITHIN_S))
        return completion_names.model_names(connection, endpoint, WITHIN_S)

    return _begin(incomplete, known)


def _named(known: Collection[str]) -> str | None:
    """The endpoint that the line names. The parser does not know it: it stops at an option without its value."""
    line = next((os.environ[name] for name in LINES if name in os.environ), "")
    return next((word for word in line.split()[2:] if word in known), None)


def _connection(ctx: typer.Context) -> EndpointConnection:
    return EndpointConnection.configured(ctx.params.get("url"))


def _begin(incomplete: str, known: Callable[[], Iterable[str]]) -> list[str]:
    try:
        return [name for name in known() if name.startswith(incomplete)]
    except (TorporError, ValueError, KeyError, TypeError):  # no endpoint, or something else, is at the URL
        return []
