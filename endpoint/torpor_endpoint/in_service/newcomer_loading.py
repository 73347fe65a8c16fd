"""Has instances load the models that they are to take over or to copy, while others serve these.

`core.routing.handing_over` says which models are taken over, why, and which of all is loaded next;
`core.routing.second_copies` says which are copied. An adapter is taken over and copied as a model is.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from torpor_endpoint.core.model_choice.model_group import ModelTier
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.routing.handing_over import RETRY_S, DueLoads, Handover
from torpor_endpoint.in_service.asked_tiers import adapted, because, brought_by, tiers_of
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.in_service.naming_neighbours import NamingNeighbours
from torpor_endpoint.in_service.wait_estimates import WaitEstimates


class LoadOrders(Protocol):
    """What instances are told of the models, or of the adapters, of one variant."""

    async def is_left(self, name: str, handover: Handover[Incarnation]) -> bool:
        """Whether the former owner has it in memory no more: nothing is loaded then, since no call may come for it."""

    async def brought(self, name: str, handover: Handover[Incarnation]) -> bool | None:
        """Have the newcomer load it. Whether that had to load anything; None if it could not."""


class ModelOrders:
    """For instances of many models. `neighbours`: None where they share no artifacts."""

    def __init__(self, neighbours: NamingNeighbours | None = None) -> None:
        self._neighbours = neighbours

    async def is_left(self, name: str, handover: Handover[Incarnation]) -> bool:
        """A copy is for calls that are there."""
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

    async def is_left(self, name: str, handover: Handover[Incarnation]) -> bool:
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
        self._loads: set[asyncio.Task[None]] = set()

    def begin(self, model: str, handover: Handover[Incarnation]) -> None:
        """A model is under way: have the newcomer load it soon."""
        self._due.add(model, handover)
        self._start(handover.newcomer)

    def end(self) -> None:
        """No instance is to load anything any more: nobody sends calls to them."""
        for load in self._loads:
            load.cancel()

    def _start(self, newcomer: Incarnation) -> None:
        while (due := self._due.next(newcomer)) is not None:
            load = asyncio.create_task(self._load(*due), name=f"load a model on {newcomer.slot}")
            self._loads.add(load)
            load.add_done_callback(self._loads.discard)

    async def _load(self, model: str, handover: Handover[Incarnation]) -> None:
        try:
            await self._move(model, handover)
        finally:
            self._due.ended(handover.newcomer)
        self._start(handover.newcomer)

    async def _move(self, model: str, handover: Handover[Incarnation]) -> None:
        if await self._orders.is_left(model, handover) or await self._loaded(model, handover):
            self._ready.arrived(model, handover.newcomer)
        else:
            asyncio.get_running_loop().call_later(RETRY_S, self._ready.missed, model, handover.newcomer)

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
