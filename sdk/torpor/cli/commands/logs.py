"""`torpor logs`: shows what the instances of an endpoint printed."""

import re

import typer

from torpor.cli.asked_endpoint import EndpointName, Url, connected, known, only
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
    typer.echo(with_silence(printed))


def with_silence(printed: str) -> str:
    """The logs, with a note below the heading of each instance that printed nothing."""
    return SILENT.sub(rf"\1\n{NOTHING}\n", printed) or NOTHING
