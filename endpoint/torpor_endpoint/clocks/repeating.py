"""The outer edge of chores, the work that runs beside the requests: a failure is logged, and ends no chore."""

import logging
from collections.abc import Awaitable, Callable

from torpor_endpoint.clocks.clock import Pause

CHORE_PAUSE_S = 1.0
"""The pause before a failed chore starts again."""

log = logging.getLogger(__name__)


async def repeated(name: str, chore: Callable[[], Awaitable[None]], pause: Pause) -> None:
    """Do a chore for ever. If it fails, the log says so and it starts again."""
    while True:
        await finished(name, chore, pause)


async def finished(name: str, chore: Callable[[], Awaitable[None]], pause: Pause) -> None:
    """Do a chore to its end. If it fails, the log says so and it starts again."""
    while True:
        try:
            await chore()
            return
        except Exception:  # outer edge of a chore: one fault must not end it while the process runs
            log.exception("the chore %r failed; starting it again in %g s", name, CHORE_PAUSE_S)
            await pause(CHORE_PAUSE_S)
