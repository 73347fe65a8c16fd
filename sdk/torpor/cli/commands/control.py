"""`torpor control`: runs an endpoint that leaves invocations to routers. It takes the options of `torpor up`."""

from typing import Any

from torpor.cli.commands.up import up
from torpor.cli.option_tables import takes
from torpor_endpoint.options import OPTIONS


@takes(OPTIONS, without=("no_runtime",))
def control(**given: Any) -> None:
    """Start a control in the foreground: an endpoint that leaves invocations to its routers (`torpor router`)."""
    up(**given, no_runtime=True)
