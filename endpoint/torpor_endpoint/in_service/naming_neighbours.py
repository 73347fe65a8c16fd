"""Names to an instance the others of its variant that may have a model's artifact, with tickets to take it from them.

The names go with the first call of a model that comes to the instance, and with each order to load one.
"""

import json
from collections.abc import Callable, Iterable

from torpor_container import wire
from torpor_container.core.target_names import spelling_of
from torpor_container.transport.address import Address, GuardedAddress
from torpor_container.transport.tickets import ARTIFACT, ticket_for
from torpor_container.wire import Neighbour
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.routing.artifact_neighbours import NAMED_MAX, ToldOnce, whom_to_ask
from torpor_endpoint.in_service.asked_tiers import keeping
from torpor_endpoint.in_service.incarnation import Incarnation

Header = tuple[bytes, bytes]
NEIGHBOURS = wire.NEIGHBOURS.lower().encode()
TARGET_MODEL = wire.TARGET_MODEL.lower().encode()


class NamingNeighbours:
    """The neighbours in one variant, whose instances share artifacts. `epoch` gives seconds since 1970."""

    def __init__(self, ready: Placement[Incarnation], epoch: Callable[[], float]) -> None:
        self._ready = ready
        self._epoch = epoch
        self._told = ToldOnce[Incarnation]()

    def first_call(self, model: str, instance: Incarnation) -> Header | None:
        """What the first call of this model adds to its headers; None for any later one, and where nobody else is."""
        if self._ready.count < 2 or not self._told.is_first(model, instance):
            return None
        return self._named(model, instance, ())

    def order(self, model: str, instance: Incarnation, known: Iterable[Incarnation]) -> list[Header]:
        """What an order to load this model adds to its headers. `known` have it."""
        named = self._named(model, instance, known)
        return [] if named is None else [named, (TARGET_MODEL, spelling_of(model).encode(errors="surrogateescape"))]

    def _named(self, model: str, instance: Incarnation, known: Iterable[Incarnation]) -> Header | None:
        order = self._ready.first(model, NAMED_MAX + 1) if self._ready.count else ()
        target, now_s = spelling_of(model).encode(errors="surrogateescape"), self._epoch()
        asked = whom_to_ask(instance, known, order)
        places = [_place(keeping(one).launched.placed_at, target, now_s) for one in asked]
        return (NEIGHBOURS, json.dumps(places).encode()) if places else None


def _place(address: Address, target: bytes, now_s: float) -> Neighbour:
    if isinstance(address, str):
        return {"at": address, "ticket": ""}
    if isinstance(address, GuardedAddress):
        ticket = ticket_for(address.secret, target, now_s, ARTIFACT).decode()
        place: Neighbour = {"at": _joined(address.host, address.port), "ticket": ticket}
        return {**place, "certified": address.name} if address.name else place
    return {"at": _joined(*address), "ticket": ""}


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
