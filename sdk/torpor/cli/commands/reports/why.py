"""`torpor why`: the decisions about one model, in order of time."""

from typing import Annotated

import typer

from torpor.calling.connection import EndpointConnection
from torpor.cli.asked_endpoint import (
    NO_ENDPOINT,
    ModelName,
    OneOrAll,
    Url,
    connected,
    listed,
    not_in_service,
    unknown,
    unknown_model,
)
from torpor.cli.console import AsJson, print_json
from torpor.cli.json_records import StoryEntry, WhyOutput
from torpor.errors import TorporError
from torpor.pages import state
from torpor.pages.model_story import origins, story
from torpor_endpoint.core.pages.model_origins import ModelOrigin, told_origin
from torpor_endpoint.core.pages.story import Story

NONE_IN_SERVICE = "no endpoint is in service: `torpor ls` shows their state"


ShowOrigin = Annotated[
    bool,
    typer.Option("--origin", help="Also show the model's object in S3, its digest, and the jobs that made it."),
]


def why(
    model: ModelName,
    endpoint: OneOrAll = None,
    origin: ShowOrigin = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Explain why a model was loaded, evicted or refused, and what it cost."""
    connection = connected(url)
    present = [found for found in state.endpoints(connection) if endpoint in (None, found.name)]
    if not present:
        raise _none(connection, endpoint)
    told = {found.name: story(connection, found, model) for found in present}
    if not any(one.known for one in told.values()):
        errors = [unknown_model(connection, name, model) for name in told]
        if errors[0] is not None and None not in errors:
            raise errors[0]
    found = {name: origins(connection, name, model) if origin else () for name in told}
    if as_json:
        print_json(WhyOutput(tuple(entry(name, one, found[name]) for name, one in told.items())))
        return
    for name, one in told.items():
        typer.echo(f"{name}: {one}")
        for each in found[name]:
            typer.echo("".join(f"  {line}\n" for line in told_origin(each)), nl=False)


def entry(endpoint: str, told: Story, found: tuple[ModelOrigin, ...] = ()) -> StoryEntry:
    return StoryEntry(endpoint, told.model, told.resident, told.decisions, told.past, found, told.choices)


def _none(connection: EndpointConnection, endpoint: str | None) -> TorporError:
    """The error that says why there is nothing to show."""
    if endpoint is not None:
        return unknown(connection, endpoint) or not_in_service(endpoint)
    return TorporError(NO_ENDPOINT if listed(connection) == [] else NONE_IN_SERVICE)
