"""Has instances load the models that they are to take over or to copy, while others serve these.

`core.routing.handing_over` says which models are taken over, why, and which of all is loaded next;
`core.routing.second_copies` says which are copied. An adapter is taken over and copied as a model is.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from torpor_endpoint.core.model_choice.model_group import ModelTier
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.routing.handing_over import RETRY_S, DueLoads, Handover
from torpor_endpoint.in_service.asked_tiers import adapted, because, brought_by, tiers_of
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.in_service.naming_neighbours import NamingNeighbours
from torpor_endpoint.in_service.wait_estimates import WaitEstimates

log = logging.getLogger(__name__)


class LoadOrders(Protocol):
    """Orders to the instances of one variant to load models, or to register adapters."""

    async def is_needless(self, name: str, handover: Handover[Incarnation]) -> bool:
        """Whether no call may come for it: nothing is loaded then."""

    async def brought(self, name: str, handover: Handover[Incarnation]) -> bool | None:
        """Have the newcomer load it. Whether the order led the load; None if it could not."""


class ModelOrders:
    """For instances of many models. `neighbours`: None where they share no artifacts."""

    def __init__(self, neighbours: NamingNeighbours | None = None) -> None:
        self._neighbours = neighbours

    async def is_needless(self, name: str, handover: Handover[Incarnation]) -> bool:
        """Nobody may call what the former owner has in memory no more. A copy is for calls that are there."""
        if handover.copies:
            return False
        tiers = await tiers_of(handover.former, (name,))
        return tiers is None or tiers.get(name) is not ModelTier.MEMORY

    async def brought(self, name: str, handover: Handover[Incarnation]) -> bool | None:
        newcomer, neighbours = handover.newcomer, self._neighbours
        named = [] if neighbours is None else neighbours.order(name, newcomer, (handover.former,))
        return await brought_by(newcomer, name, [*named, because(reason_for(handover.former.id))])


class AdapterOrders:
    """For copies of an inference component with one model. `adapters` has where each of its adapters is, by name."""

    def __init__(self, adapters: Callable[[], Mapping[str, str]]) -> None:
        self._adapters = adapters

    async def is_needless(self, name: str, handover: Handover[Incarnation]) -> bool:
        """An adapter that was deleted is for no call."""
        return name not in self._adapters()

    async def brought(self, name: str, handover: Handover[Incarnation]) -> bool | None:
        return await adapted(handover.newcomer, name, self._adapters().get(name, ""))


class NewcomerLoading:
    """The loads of one variant. They end with the newcomer, or with `end`. `waits` hears how long each took."""

    def __init__(self, ready: Placement[Incarnation], waits: WaitEstimates, orders: LoadOrders) -> None:
        self._ready = ready
        self._waits = waits
        self._orders = orders
        self._due = DueLoads(ready.awaits)
        self._loads: set[asyncio.Task[bool]] = set()
        self._ended = False

    def begin(self, model: str, handover: Handover[Incarnation]) -> None:
        """A model is under way: have the newcomer load it soon."""
        self._due.add(model, handover)
        self._start(handover.newcomer)

    def end(self) -> None:
        """No instance is to load anything any more: nobody sends calls to them, but those that are in flight may still
        look for an instance."""
        self._ended = True
        for load in self._loads:
            load.cancel()

    def _start(self, newcomer: Incarnation) -> None:
        while not self._ended and (due := self._due.next(newcomer)) is not None:
            load = asyncio.create_task(self._is_there(*due), name=f"load a model on {newcomer.slot}")
            self._loads.add(load)
            load.add_done_callback(partial(self._over, due[0], newcomer))

    async def _is_there(self, model: str, handover: Handover[Incarnation]) -> bool:
        """Whether the newcomer may serve the model now."""
        return await self._orders.is_needless(model, handover) or await self._loaded(model, handover)

    def _over(self, model: str, newcomer: Incarnation, load: asyncio.Task[bool]) -> None:
        """However the load failed, a later call may begin it once more."""
        self._loads.discard(load)
        if load.cancelled():
            return
        if (fault := load.exception()) is not None:
            log.error("the load of %s at %s failed", model, newcomer.id, exc_info=fault)
        if fault is None and load.result():
            self._ready.arrived(model, newcomer)
        else:
            asyncio.get_running_loop().call_later(RETRY_S, self._ready.missed, model, newcomer)
        self._due.ended(newcomer)
        self._start(newcomer)

    async def _loaded(self, model: str, handover: Handover[Incarnation]) -> bool:
        clock = asyncio.get_running_loop().time
        began_s = clock()
        brought = await self._orders.brought(model, handover)
        if brought:
            self._waits.load_took(model, clock() - began_s)
        return brought is not None


def reason_for(former: str) -> str:
    """The reason of such a load, in the newcomer's decisions."""
    return f"calls come here once it is loaded; until then {former} serves them from its memory"
