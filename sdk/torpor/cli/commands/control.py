"""`torpor control`: runs an endpoint that leaves invocations to routers. It takes the options of `torpor up`."""

from inspect import signature
from typing import Any

from torpor.cli.commands.up import up


def control(**given: Any) -> None:
    """Start a control in the foreground: an endpoint that leaves invocations to its routers (`torpor router`)."""
    up(**given, no_runtime=True)


_OPTIONS = {name: one for name, one in signature(up).parameters.items() if name != "no_runtime"}
control.__signature__ = signature(up).replace(parameters=tuple(_OPTIONS.values()))  # type: ignore[attr-defined]
control.__annotations__ = {name: one.annotation for name, one in _OPTIONS.items()} | {"return": None}
