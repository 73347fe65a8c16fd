"""Where a gateway sends a request: what a passage decides, as the gateway's stream and the sender tell each other."""

import asyncio
from typing import NamedTuple

from torpor_container import wire
from torpor_container.frozen_class import frozen
from torpor_container.settings import BY_FIELD, BadSetting, read_settings
from torpor_container.transport.address import Address, GuardedAddress
from torpor_container.transport.tickets import HEADER, ticket_for
from torpor_container.transport.upstream_answers import UpstreamAnswer
from torpor_endpoint.core.resource_records import Container

GATEWAY = "torpor.gateway"
"""The key of a request's scope under which a `GatewayRequest` is, if a gateway sends the request on."""
TARGET_MODEL = wire.TARGET_MODEL.lower().encode()
TICKETS = BY_FIELD["tickets"].variable


class Unreachable(Exception):
    """A gateway cannot send to this instance. The message says what to do."""


class PickedPlace(NamedTuple):
    """The instance as `address:port`, and the headers that it gets in place of the caller's."""

    endpoint: str
    headers: list[tuple[bytes, bytes]]


class GatewayRequest:
    """One request of a gateway. `allowed`: the places that the gateway may send it to, None for all of them. `picked`
    is set by the passage, and `answered` by the gateway's stream, once the instance has answered."""

    def __init__(self, allowed: frozenset[str] | None) -> None:
        loop = asyncio.get_running_loop()
        self.allowed = allowed
        self.picked: asyncio.Future[PickedPlace] = loop.create_future()
        self.answered: asyncio.Future[UpstreamAnswer] = loop.create_future()

    def allows(self, address: Address) -> bool:
        """Whether the gateway may send to this place. It names places with or without their port."""
        if self.allowed is None:
            return True
        if not isinstance(address, GuardedAddress):
            return False
        return bool(self.allowed & {joined(address.host, address.port), address.host})


@frozen
class TicketSetting:
    """Whether a container takes requests of gateways, under the table's field name."""

    tickets: bool


def place_for(address: Address, container: Container, headers: list[tuple[bytes, bytes]], now_s: float) -> PickedPlace:
    """The place of an instance, and what it gets. `now_s` are seconds since 1970. Raises Unreachable."""
    if not isinstance(address, GuardedAddress):
        raise Unreachable("its instances are the control's own processes: run them on a cluster (--instances-on)")
    if not _takes_tickets(container):
        raise Unreachable(f"its instances take no requests of a gateway: set {TICKETS}=true in the model's Environment")
    model = dict(headers).get(TARGET_MODEL, b"")
    place = joined(address.host, address.port)
    return PickedPlace(place, [*headers, (HEADER, ticket_for(address.secret, model, now_s))])


def joined(host: str, port: int) -> str:
    """A place as the protocol writes it; an IPv6 address is in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _takes_tickets(container: Container) -> bool:
    try:
        return read_settings(TicketSetting, container.environment).tickets
    except BadSetting:  # the instance does not start by it either
        return False
