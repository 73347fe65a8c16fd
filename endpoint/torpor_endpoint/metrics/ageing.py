"""Removes old samples from every series by the clock: also from series that nobody writes any more."""

import asyncio
from collections.abc import Awaitable, Callable, Container

from torpor_endpoint.metrics.registry import MetricRegistry

PERIOD_S = 300.0


async def age(
    registry: MetricRegistry,
    endpoints: Container[str],
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Age all series each PERIOD_S, for ever, one series at a time, since requests come first.

    `endpoints` are those that exist: their series stay when they are empty, and go on counting.
    """
    while True:
        await pause(PERIOD_S)
        for series in list(registry.find()):
            registry.age(series, kept=series.key.endpoint in endpoints)
            await pause(0.0)
