"""The chore that ages every series by the clock, also those that nobody writes any more."""

import asyncio
from collections.abc import Awaitable, Callable, Container

from torpor_endpoint.metrics.registry import MetricRegistry

PERIOD_S = 300.0


async def age(
    registry: MetricRegistry,
    endpoints: Container[str],
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Now and then, for ever, and one series at a time, since requests come first.

    Those of `endpoints`, which are those that there are, stay when they are empty: they go on counting.
    """
    while True:
        await pause(PERIOD_S)
        for series in list(registry.find()):
            registry.age(series, kept=series.key.endpoint in endpoints)
            await pause(0.0)
