"""`torpor versions`: which versions of a model there are, where they are in memory, and which one answers."""

import typer

from torpor.cli.asked_endpoint import EndpointName, ModelName, Url, connected, known, only
from torpor.cli.console import AsJson, print_json
from torpor.pages import printed_lists
from torpor.pages.versions import version_labels


def versions(model: ModelName, endpoint: EndpointName = None, as_json: AsJson = False, url: Url = None) -> None:
    """Show the versions of a model: `*` is in memory, `( )` answers no call, `!` could not be loaded lately."""
    connection = connected(url)
    name = only(connection, endpoint)
    with known(connection, name):
        found = version_labels.versions(connection, name, model)
    if as_json:
        from torpor.cli.json_records import VersionsOutput

        print_json(VersionsOutput(tuple(found)))
        return
    typer.echo(repr(printed_lists.versions(found)))
