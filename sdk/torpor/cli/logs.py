"""`torpor logs`: what the instances of an endpoint printed."""

import typer

from torpor.cli.edge import EndpointName, Url, connected


def logs(endpoint: EndpointName, url: Url = None) -> None:
    """Print the end of every instance's log."""
    typer.echo(connected(url).page("logs", {"endpoint": endpoint}))
