"""What an instance hears of its neighbours: where they are, with a ticket for each that another machine has."""

import json
from typing import cast

from torpor_container import wire
from torpor_container.transport.address import Address, GuardedAddress
from torpor_container.transport.tickets import ARTIFACT, admits
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.resource_records import Container
from torpor_endpoint.host import Launched, Phase, Slot
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer
from torpor_endpoint.in_service.naming_neighbours import NamingNeighbours

NOW_S = 1_700_000_000.0


class Place:
    """A container, as far as its place is asked for."""

    def __init__(self, slot: Slot, address: Address) -> None:
        self.definition = Container("torpor", multi_model=True)
        self.launched = Launched(slot, f"i-{slot.number}", address, Phase.RUNNING)


def variant(*addresses: Address) -> tuple[Placement[Incarnation], list[Incarnation]]:
    ready, instances = Placement[Incarnation](), []
    for number, address in enumerate(addresses):
        slot = Slot("e", "v", number)
        instances.append(Incarnation(slot, f"i-{number}", [cast(LiveContainer, Place(slot, address))]))
        ready.offer(number, instances[-1])
    return ready, instances


def test_the_first_call_alone_names_the_others() -> None:
    ready, (first, second) = variant("/run/0.sock", "/run/1.sock")
    names = NamingNeighbours(ready, lambda: NOW_S)
    header = names.first_call("a", first)
    assert header == (wire.NEIGHBOURS.lower().encode(), b'[{"at": "/run/1.sock", "ticket": ""}]')
    assert names.first_call("a", first) is None
    assert names.first_call("a", second) is not None
    assert names.first_call("b", first) is not None


def test_an_instance_alone_hears_of_nobody() -> None:
    ready, (only,) = variant("/run/0.sock")
    names = NamingNeighbours(ready, lambda: NOW_S)
    assert names.first_call("a", only) is None
    assert names.order("a", only, ()) == []


def test_a_neighbour_on_another_machine_comes_with_a_ticket_for_the_model_as_it_is_spelled() -> None:
    ready, (first, second) = variant(GuardedAddress("10.0.0.1", 80, b"1" * 32), GuardedAddress("::2", 81, b"2" * 32))
    named, target = NamingNeighbours(ready, lambda: NOW_S).order(" ä", first, (second,))
    (place,) = json.loads(named[1])
    assert place["at"] == "[::2]:81"
    assert target == (wire.TARGET_MODEL.lower().encode(), "/ ä".encode())
    assert admits(b"2" * 32, target[1], place["ticket"].encode(), NOW_S, ARTIFACT)
    assert not admits(b"2" * 32, target[1], place["ticket"].encode(), NOW_S)
    assert b"2" * 32 not in named[1]
