"""Has instances load the models that they are to take over or to copy, while others serve these.

`core.routing.handing_over` says which models are taken over, why, and which of all is loaded next;
`core.routing.second_copies` says which are copied.
"""

import asyncio

from torpor_endpoint.core.model_choice.model_group import ModelTier
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.routing.handing_over import RETRY_S, DueLoads, Handover
from torpor_endpoint.in_service.asked_tiers import because, brought_by, tiers_of
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.in_service.naming_neighbours import NamingNeighbours
from torpor_endpoint.in_service.wait_estimates import WaitEstimates


class NewcomerLoading:
    """The loads of one variant. They end with the newcomer, or with `end`. `waits` hears how long each took."""

    def __init__(
        self, ready: Placement[Incarnation], waits: WaitEstimates, neighbours: NamingNeighbours | None = None
    ) -> None:
        self._ready = ready
        self._waits = waits
        self._neighbours = neighbours
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
        if await self._is_left(model, handover) or await self._loaded(model, handover):
            self._ready.arrived(model, handover.newcomer)
        else:
            asyncio.get_running_loop().call_later(RETRY_S, self._ready.missed, model, handover.newcomer)

    async def _is_left(self, model: str, handover: Handover[Incarnation]) -> bool:
        """Whether the former owner has the model in memory no more: nothing is loaded then, since no call may come for
        it. A copy is for calls that are there."""
        if handover.copies:
            return False
        tiers = await tiers_of(handover.former, (model,))
        return tiers is None or tiers.get(model) is not ModelTier.MEMORY

    async def _loaded(self, model: str, handover: Handover[Incarnation]) -> bool:
        newcomer, neighbours = handover.newcomer, self._neighbours
        named = [] if neighbours is None else neighbours.order(model, newcomer, (handover.former,))
        clock = asyncio.get_running_loop().time
        began_s = clock()
        brought = await brought_by(newcomer, model, [*named, because(reason_for(handover.former.id))])
        if brought:
            self._waits.load_took(model, clock() - began_s)
        return brought is not None


def reason_for(former: str) -> str:
    """The reason of such a load, in the newcomer's decisions."""
    return f"calls come here once it is loaded; until then {former} serves them from its memory"
