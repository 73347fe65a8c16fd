"""`torpor ledger`: copies an endpoint's ledger into a file, from which the simulator reads traces and profiles."""

from pathlib import Path
from typing import Annotated

import typer

from torpor.cli.asked_endpoint import Url, connected
from torpor.cli.exit_codes import UsageRefused
from torpor.pages.ledger import whole


def ledger(
    file: Annotated[Path, typer.Argument(help="The file to write: its name ends with .sqlite.", metavar="FILE")],
    url: Url = None,
) -> None:
    """Copy the ledger into a file for `torpor simulate`, `plan` and `replay`: also from another machine, and from
    PostgreSQL."""
    if file.suffix != ".sqlite":
        raise UsageRefused(f"FILE: {file} must end with .sqlite, by which the simulator knows a ledger")
    if file.exists():
        raise UsageRefused(f"FILE: {file} exists already: name another")
    file.write_bytes(whole(connected(url)))
    typer.echo(f"{file}: {file.stat().st_size} bytes")
