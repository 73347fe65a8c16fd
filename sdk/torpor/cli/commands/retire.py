"""`torpor reload` and `torpor unload`: a model that is in memory leaves it, wherever it is served."""

from typing import Annotated

import typer

from torpor.cli.edge import Url, connected, known, only
from torpor.pages.retiring import retire
from torpor_endpoint.core.pages import PageName

ModelName = Annotated[str, typer.Argument(help="The model's key below the endpoint's prefix.")]
OfEndpoint = Annotated[str | None, typer.Option("--endpoint", help="Not needed for the only one.")]


def reload(model: ModelName, endpoint: OfEndpoint = None, url: Url = None) -> None:
    """Let every call that begins from now on get what S3 has of a model then; those in flight end on the old copy."""
    _retire(model, endpoint, url, PageName.RELOAD)


def unload(model: ModelName, endpoint: OfEndpoint = None, url: Url = None) -> None:
    """Let a model leave memory as soon as nobody uses it; it stays on disk, and the next call loads it again."""
    _retire(model, endpoint, url, PageName.UNLOAD)


def _retire(model: str, endpoint: str | None, url: str | None, page: PageName) -> None:
    connection = connected(url)
    name = only(connection, endpoint)
    with known(connection, name):
        found = retire(connection, name, model, page)
    for one in found:
        typer.echo(one)
    if not found:
        typer.echo(f"{model}: no instance of {name} runs")
