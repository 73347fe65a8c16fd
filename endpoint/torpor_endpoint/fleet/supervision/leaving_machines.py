"""Has instances give way whose machine is announced to go: each gets a successor elsewhere, while there is time.

The successor starts in another slot. Before the instance leaves, others load the models that it has in memory: its
calls wait for no load. Where there is no room elsewhere in time, it stays, and ends with its machine.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Set
from contextlib import suppress
from functools import partial

from torpor_account.log_lines import about
from torpor_container.transport.upstream import Headers
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.fleet.ahead_loading import InstanceAway, in_turns, named_to, resident, why_not_loaded
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.supervision.slot_successors import succeeded
from torpor_endpoint.host import Host, Slot
from torpor_endpoint.in_service.asked_tiers import because
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer

LOOK_S = 1.0
MARGIN_S = 5.0
"""An instance leaves so long before its machine goes, for its last requests."""
AT_ONCE = 4
"""So many models are loaded at a time."""
WHY = "the machine of the one before it goes"

log = logging.getLogger(__name__)


class LeavingMachines:
    """`clock` gives epoch seconds. Copies of inference components and the instances below them stay where they are."""

    def __init__(
        self,
        host: Host,
        roster: FleetRoster,
        clock: Callable[[], float],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._host = host
        self._roster = roster
        self._clock = clock
        self._pause = pause
        self._seen: set[str] = set()  # incarnations
        self._moves: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Look once a second, until cancelled."""
        while True:
            self.look()
            await self._pause(LOOK_S)

    def look(self) -> None:
        """Begin to replace each instance whose machine was announced to go since the last look."""
        leaving = {one.incarnation: one for one in self._host.list() if one.leaves_at_s is not None}
        self._seen &= leaving.keys()
        for incarnation, launched in leaving.items():
            if incarnation not in self._seen and launched.leaves_at_s is not None:
                pool = self._pool_of(launched.slot)
                self._seen.add(incarnation)
                if pool is not None and launched.slot.number in pool.numbers:
                    move = asyncio.create_task(self._replace(pool, launched.slot, launched.leaves_at_s))
                    self._moves.add(move)  # the instance is gone from the host's list before its move has ended
                    move.add_done_callback(self._moves.discard)

    def _pool_of(self, slot: Slot) -> InstancePool | None:
        pools = [pool for live in self._roster if live.name == slot.endpoint for pool in live.every_pool]
        for pool in pools:
            of_components = pool.variant.copies is not None or pool.variant.for_components
            if pool.variant.name == slot.variant and not of_components:
                return pool
        return None

    async def _replace(self, pool: InstancePool, slot: Slot, leaves_at_s: float) -> None:
        fields = about(endpoint=slot.endpoint, variant=slot.variant)
        within_s = max(0.0, leaves_at_s - self._clock() - MARGIN_S) if leaves_at_s else None
        when = "" if within_s is None else f" in {within_s + MARGIN_S:.0f} s"
        successor = pool.take_slot()
        if successor is None:
            log.warning("%s: its machine goes%s, and there is no slot for another instance", slot, when, extra=fields)
            return
        log.warning("%s: its machine goes%s; an instance elsewhere takes its place", slot, when, extra=fields)
        at_least, pool.at_least = pool.at_least, max(pool.at_least, pool.size + 1)  # the sizer keeps both meanwhile
        kept = pool.at_least
        try:
            moved = await succeeded(pool, slot.number, successor, WHY, partial(_loaded_elsewhere, pool, slot), within_s)
        finally:
            if pool.at_least == kept:
                pool.at_least = at_least
        if moved:
            log.info("%s has left its machine: %d took its place", slot, successor, extra=fields)
        else:
            text = "%s stays on a machine that goes: no other instance was ready in time (%s)"
            log.warning(text, slot, pool.trouble.reason if pool.trouble else "there was no room", extra=fields)


async def _loaded_elsewhere(pool: InstancePool, slot: Slot) -> None:
    """Have others load what this instance has in memory: each the models whose calls will come to it."""
    leaving = pool.ready.get(slot.number)
    if leaving is None or not any(one.multi_model for one in pool.variant.containers):
        return
    moves = moves_from(leaving, pool.ready, await resident(pool))
    why = because(f"its calls come here once {leaving.id} has left its machine")
    loads = (
        _loaded(one, model, [*named_to(pool, owner, model, (leaving,)), why])
        for model, owner in moves
        for one in owner.containers
        if one.definition.multi_model
    )
    await in_turns(loads, AT_ONCE)


def moves_from(
    leaving: Incarnation, ready: Placement[Incarnation], holders: Mapping[str, Set[Incarnation]]
) -> Iterator[tuple[str, Incarnation]]:
    """The models that an instance that leaves has in memory, each with the one that its calls will come to, if that has
    it not. `holders` are the instances that have each model in memory. Each is decided when it is asked for."""
    for model in sorted(name for name, instances in holders.items() if leaving in instances):
        owner = next((one for one in ready.first(model, 2) if one is not leaving), None)
        if owner is not None and owner not in holders[model]:
            yield model, owner


async def _loaded(container: LiveContainer, model: str, named: Headers) -> None:
    """A model that cannot be loaded is left to its first caller, who gets the reason."""
    with suppress(InstanceAway):
        await why_not_loaded(container, model, named)
