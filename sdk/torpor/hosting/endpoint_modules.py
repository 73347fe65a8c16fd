"""Names the modules that simulate for an endpoint's dashboard, and that look for drift in its processing jobs.

The endpoint runs them; nothing here imports them.
"""

from torpor.extras import missing

WHAT_IF = "torpor.simulator.what_if"
ANALYZER = "torpor.drift.analyzer"


def simulator() -> str | None:
    """The module; None if its packages are not installed. The dashboard says so then."""
    return None if missing("simulator") else WHAT_IF
