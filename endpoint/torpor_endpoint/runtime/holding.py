"""The step hold: a request waits, within bounds, until an instance of its variant is ready."""

import asyncio
from collections.abc import Callable

from torpor_container import wire
from torpor_container.frozen_class import frozen
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.passage import Passage


@frozen
class HoldLimits:
    """How many requests one variant holds at a time while no instance is ready, and bytes of their bodies together."""

    requests: int = 1000
    bytes: int = 256 * 1024 * 1024


HELD = HoldLimits()


class PoolClosed(Exception):
    """The pool that a request waited for is no more: its endpoint was updated or deleted meanwhile."""


class NobodyReady(Exception):
    """No instance has room for a request that does not wait for one."""


class Holding:
    """`clock` gives seconds that only go forward."""

    def __init__(self, clock: Callable[[], float], limits: HoldLimits = HELD) -> None:
        self._clock = clock
        self._limits = limits

    async def hold(self, passage: Passage, pool: VariantPool, size_bytes: int, until_s: float) -> None:
        """Wait, within bounds, until an instance is ready: the variant wakes, or an instance is free to take requests.
        `size_bytes` is that of the body that waits.

        Raises RuntimeFault, or PoolClosed.
        """
        if pool.closed:
            raise PoolClosed
        traffic, limits, routers = pool.traffic, self._limits, pool.routers
        if traffic.held >= limits.requests / routers or traffic.held_bytes + size_bytes > limits.bytes / routers:
            raise RuntimeFault(Situation.HOLD_FULL, held=traffic.held)
        began_s = self._clock()
        step = (wire.WaitStep.HOLD if pool.size else wire.WaitStep.WAKE).value
        traffic.hold(size_bytes)
        try:
            async with asyncio.timeout(until_s - began_s):
                await _woken(pool)
        except TimeoutError:
            passage.waited(step, self._clock() - began_s)
            raise _not_ready(passage, pool, passage.limits.hold_s) from None
        finally:
            traffic.release(size_bytes)
        passage.waited(step, self._clock() - began_s)
        if pool.closed:
            raise PoolClosed
        if not pool.ready:
            raise _not_ready(passage, pool, self._clock() - began_s)


async def _woken(pool: VariantPool) -> None:
    """Returns when the pool has a ready instance, or nobody should wait for one. A pool whose instances are taken away
    meanwhile is woken again."""

    def settled() -> bool:
        return bool(pool.ready) or pool.closed or pool.hopeless

    while True:
        pool.wake()  # first: a pool at zero instances may be hopeless from an earlier start
        await pool.until(lambda: settled() or not pool.size)
        if settled():
            return


def _not_ready(passage: Passage, pool: VariantPool, waited_s: float) -> RuntimeFault:
    why = f" ({pool.trouble.reason})" if pool.trouble is not None else ""
    copies = pool.variant.copies
    of = f"instance of production variant {pool.variant.name}"
    what = of if copies is None else f"copy of inference component {copies.component}"
    detail = f"No {what} was ready within {waited_s:g} s{why}. Try again."
    return RuntimeFault(Situation.NOT_READY, detail=detail, steps=dict(passage.steps))
