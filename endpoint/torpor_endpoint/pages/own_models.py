"""Finds the models that a caller may invoke: those in memory, and those that were called in the last day."""

import asyncio
from collections.abc import Awaitable, Callable

from torpor_endpoint.core.pages.own_models import MayInvoke, OwnEndpoint, ServedModels, own_models
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.in_service.asked_state import NO_DECISIONS, state_of
from torpor_endpoint.ledger.reader import LedgerReader

DAY_S = 24 * 3600


async def found_own_models(
    roster: FleetRoster, flush: Callable[[], Awaitable[object]], ledger: LedgerReader, may_invoke: MayInvoke
) -> tuple[OwnEndpoint, ...]:
    """Reads the instances and the ledger. `flush` has the ledger write what it still buffers."""
    served = await asyncio.gather(*map(_served, roster))
    await flush()

    def found() -> tuple[OwnEndpoint, ...]:
        return own_models(served, ledger.called(ledger.clock() - DAY_S), may_invoke)

    return await asyncio.to_thread(found)


async def _served(live: FleetEndpoint) -> ServedModels:
    ready = [incarnation for pool in live.every_pool for incarnation in pool.ready]
    containers = [container for incarnation in ready for container in incarnation.containers]
    states = await asyncio.gather(*(state_of(one, after=NO_DECISIONS) for one in containers))
    resident = [model for state in states if state is not None for model in state["models"]]
    return ServedModels(live.name, any(pool.variant.multi_model for pool in live.every_pool), resident)
