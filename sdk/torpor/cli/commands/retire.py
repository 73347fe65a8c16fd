"""`torpor reload` and `torpor unload`: unload a model from the memory of every instance that has it."""

import typer

from torpor.cli.asked_endpoint import EndpointName, ModelName, Url, connected, known, only, unknown_model
from torpor.pages.model_retiring import retire
from torpor_endpoint.core.pages import PageName


def reload(model: ModelName, endpoint: EndpointName = None, url: Url = None) -> None:
    """Serve new calls with the copy of a model that S3 has now; calls in flight end on the old copy."""
    _retire(model, endpoint, url, PageName.RELOAD)


def unload(model: ModelName, endpoint: EndpointName = None, url: Url = None) -> None:
    """Unload a model from memory as soon as no request uses it; it stays on disk, and the next call loads it again."""
    _retire(model, endpoint, url, PageName.UNLOAD)


def _retire(model: str, endpoint: str | None, url: str | None, page: PageName) -> None:
    connection = connected(url)
    name = only(connection, endpoint)
    with known(connection, name):
        found = retire(connection, name, model, page)
    if all(one.was == "absent" for one in found) and (error := unknown_model(connection, name, model)):
        raise error
    for one in found:
        typer.echo(one)
    if not found:
        typer.echo(f"{model}: {name} has no running instance")
