"""Names the module that simulates for an endpoint's dashboard. The endpoint runs it; nothing here imports it."""

from torpor.extras import missing

WHAT_IF = "torpor.simulator.what_if"


def simulator() -> str | None:
    """The module; None if its packages are not installed. The dashboard says so then."""
    return None if missing("simulator") else WHAT_IF
