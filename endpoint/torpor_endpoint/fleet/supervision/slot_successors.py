"""Has an instance succeed another one in the same pool: the first is ready before the other leaves."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from torpor_endpoint.fleet.instance_pool import InstancePool


async def succeeded(
    pool: InstancePool,
    number: int,
    successor: int,
    why: str,
    before: Callable[[], Awaitable[None]] | None = None,
    within_s: float | None = None,
) -> bool:
    """Have an instance start in the slot `successor`, which was taken for it. The one in `number` leaves once that is
    ready and `before` is done, or has had its time. False where the successor is not ready within `within_s` seconds,
    or cannot become so: it leaves, and the other one stays."""
    pool.trouble = None  # it belongs to an earlier start
    pool.supervise(successor, why)

    def settled() -> bool:
        both = {number, successor}.issubset(pool.numbers)
        return pool.ready.get(successor) is not None or pool.hopeless or not both

    moved = False
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await pool.until(settled)
                moved = pool.ready.get(successor) is not None
                if moved and before is not None:
                    await before()
    finally:
        pool.retire(number if moved else successor, why)
    return moved
