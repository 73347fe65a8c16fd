"""The outer edge of chores, the work that runs beside the requests: a failure is logged, and ends no chore."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from math import inf

from torpor_account.core.outages.records_fault import RecordsFault
from torpor_account.storage.failures import is_machines
from torpor_endpoint.clocks.clock import Pause

CHORE_PAUSE_S = 1.0
"""The pause before a failed chore starts again."""
STILL_S = 10.0
"""A chore that fails so soon after the last time does so for the same reason."""

log = logging.getLogger(__name__)


async def repeated(name: str, chore: Callable[[], Awaitable[None]], pause: Pause) -> None:
    """Do a chore for ever. If it fails, the log says so and it starts again."""
    while True:
        await finished(name, chore, pause)


async def finished(name: str, chore: Callable[[], Awaitable[None]], pause: Pause) -> None:
    """Do a chore to its end. If it fails, the log says so and it starts again. A database that it lacks, or a failure
    of the machine, is named once for as long as the chore fails at its start, unless the log has it already."""
    loop, failed_s = asyncio.get_running_loop(), -inf
    while True:
        try:
            await chore()
            return
        except Exception as fault:  # outer edge of a chore: one fault must not end it while the process runs
            told = isinstance(fault, RecordsFault) and fault.told
            if not is_machines(fault) and not isinstance(fault, RecordsFault):
                log.exception("the chore %r failed; starting it again in %g s", name, CHORE_PAUSE_S)
            elif not told and loop.time() - failed_s > STILL_S:
                what = "database" if isinstance(fault, RecordsFault) else "machine"
                log.error("the chore %r waits for the %s: %s", name, what, fault)
            failed_s = loop.time()
            await pause(CHORE_PAUSE_S)
