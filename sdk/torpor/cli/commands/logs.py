"""`torpor logs`: what the instances of an endpoint printed."""

import re

import typer

from torpor.cli.edge import EndpointName, Url, connected, known, only
from torpor_endpoint.core.pages import PageName

SILENT = re.compile(r"^(==> .+ <==)\n(?=\n==> |\s*\Z)", re.MULTILINE)
"""An instance's heading with nothing below it."""
NOTHING = "nothing was printed"


def logs(endpoint: EndpointName = None, url: Url = None) -> None:
    """Print the end of every instance's log."""
    connection = connected(url)
    name = only(connection, endpoint)
    with known(connection, name):
        printed = connection.page(PageName.LOGS, {"endpoint": name}).decode()
    typer.echo(told(printed))


def told(printed: str) -> str:
    """The same, where silence is said."""
    return SILENT.sub(rf"\1\n{NOTHING}\n", printed) or NOTHING
