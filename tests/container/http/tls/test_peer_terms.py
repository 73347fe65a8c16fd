"""Whom an instance on another machine takes without TLS, and as what the others go on."""

import asyncio
from typing import cast

import pytest

from torpor_container.http.clients.connections import Peer
from torpor_container.http.clients.served_port import ServedPort
from torpor_container.http.tls.peer_terms import PeerTerms
from torpor_container.transport.greetings import CountedGreeting, Greetings
from torpor_container.transport.peers.credential import PeerCredential
from torpor_container.transport.peers.handing import CredentialTaker
from torpor_container.transport.peers.peer_names import PeerRole, peer_name
from torpor_container.transport.peers.peer_tls import HANDING_OVER, PeerTls

OWN = peer_name(PeerRole.INSTANCE, "i-1", "0a1b")
REFUSED = peer_name(PeerRole.ROUTER, "r-9", "0a1b")


class Gateway(asyncio.Protocol):
    """What serves requests with a gateway's tickets."""


class Neighbour(asyncio.Protocol):
    """What serves those of other instances."""


class QuietPort:
    """A port whose greetings are never too many."""

    greetings = Greetings(lambda: 1, lambda: None)


def terms(*, gateways: bool = True, neighbours: bool = True) -> PeerTerms:
    peers = PeerTls(PeerCredential(OWN, "", "", 1.0, {REFUSED: 1.0}))
    given = Gateway if gateways else None, Neighbour if neighbours else None
    return PeerTerms(cast(ServedPort, QuietPort()), peers, bytes(32), *given)


@pytest.mark.parametrize(
    ("peer", "gateways", "found"),
    [
        (("127.0.0.1", 1), False, CountedGreeting),
        (("::1", 1), True, CountedGreeting),
        (("10.0.0.9", 1), True, Gateway),
        (("10.0.0.9", 1), False, type(None)),
        (None, False, type(None)),
    ],
)
def test_without_tls_come_this_machine_and_where_they_may_gateways(
    peer: Peer, gateways: bool, found: type[object]
) -> None:
    assert type(terms(gateways=gateways).plain(peer)) is found


@pytest.mark.parametrize(
    ("role", "protocol", "found"),
    [
        (PeerRole.CONTROL, None, CountedGreeting),
        (PeerRole.ROUTER, None, CountedGreeting),
        (PeerRole.INSTANCE, None, Neighbour),
        (PeerRole.CONTROL, HANDING_OVER, CredentialTaker),
        (PeerRole.ROUTER, HANDING_OVER, type(None)),
        (PeerRole.INSTANCE, HANDING_OVER, type(None)),
    ],
)
def test_a_peer_goes_on_as_its_role_allows(role: PeerRole, protocol: str | None, found: type[object]) -> None:
    assert type(terms().following(peer_name(role, "x", "0a1b"), protocol)) is found


@pytest.mark.parametrize("peer", [REFUSED, peer_name(PeerRole.ROUTER, "x", "other"), "", "example.com"])
def test_nobody_else_goes_on(peer: str) -> None:
    assert terms().following(peer, None) is None


def test_an_instance_that_shares_nothing_turns_neighbours_away() -> None:
    assert terms(neighbours=False).following(peer_name(PeerRole.INSTANCE, "x", "0a1b"), None) is None
