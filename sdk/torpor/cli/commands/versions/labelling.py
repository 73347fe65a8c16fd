"""`torpor label`: points a label to a version of a model, removes it, or takes its last move back."""

from typing import Annotated

import typer

from torpor.cli.asked_endpoint import EndpointName, ModelName, Url, connected, known, only
from torpor.errors import TorporError
from torpor.pages import printed_lists
from torpor.pages.versions import version_labels

Move = Annotated[
    str,
    typer.Argument(
        help="LABEL=VERSION; LABEL= removes the label. `default` is what calls without a version mean.", metavar="MOVE"
    ),
]


def label(
    model: ModelName,
    move: Move,
    endpoint: EndpointName = None,
    back: Annotated[bool, typer.Option("--back", help="Take the last move of the label back: MOVE is LABEL.")] = False,
    url: Url = None,
) -> None:
    """Point a label to a version of a model. It returns once that version answers; nothing changes if it cannot."""
    name, equals, version = move.partition("=")
    if back and equals:
        raise TorporError(f"--back goes with a label alone, and not with {move!r}")
    if not back and not (equals and (not version or version.isdecimal())):
        raise TorporError(f"{move!r} must be LABEL=VERSION, such as stable=7; LABEL= removes the label")
    connection = connected(url)
    asked = only(connection, endpoint)
    with known(connection, asked):
        if back:
            found = version_labels.back(connection, asked, model, name)
        else:
            found = version_labels.move(connection, asked, model, name, int(version) if version else None)
    typer.echo(repr(printed_lists.versions(found)))
