"""What an instance on another machine takes at its port: TLS of its deployment's own processes.

The control and routers then greet, since each incarnation has a secret of its own, and the control may hand over a new
certificate. A neighbour's requests have tickets. A client on this machine needs no TLS: nothing travels. A
gateway speaks none of ours, so its requests, each with a ticket, come without, where the instance takes any.
"""

import asyncio
import ssl
from collections.abc import Callable
from functools import partial
from typing import cast

from torpor_container.core.clients import client_of
from torpor_container.http.clients.client_connection import Connection
from torpor_container.http.clients.connections import Peer
from torpor_container.http.clients.served_port import ServedPort
from torpor_container.http.tls.front import Handshake
from torpor_container.transport.greetings import CountedGreeting
from torpor_container.transport.peers.handing import CredentialTaker
from torpor_container.transport.peers.peer_names import PeerRole, role_of
from torpor_container.transport.peers.peer_tls import HANDING_OVER, PeerTls, peer_in

Made = Callable[[], asyncio.Protocol]


class PeerTerms:
    """`gateways` makes what serves requests with a gateway's tickets, and `neighbours` what serves those of other
    instances; None: nobody's are served."""

    advice = (
        b"This port takes connections of Torpor's own processes, by TLS with a certificate of their deployment "
        b"(docs/how-to/internal-tls.md).\n"
    )

    def __init__(
        self, port: ServedPort, peers: PeerTls, secret: bytes, gateways: Made | None, neighbours: Made | None
    ) -> None:
        self._port = port
        self._peers = peers
        self._secret = secret
        self._gateways = gateways
        self._neighbours = neighbours

    @property
    def context(self) -> ssl.SSLContext:
        return self._peers.server

    def secure(self, handshake: Handshake) -> asyncio.Protocol:
        return ArrivedPeer(self, handshake)

    def plain(self, peer: Peer) -> asyncio.Protocol | None:
        if peer is not None and client_of(peer[0]) is None:
            return self._greeting(self._gateways)
        return None if self._gateways is None else self._gateways()

    def following(self, peer: str, protocol: str | None) -> asyncio.Protocol | None:
        """What serves the peer of this name, which asks for this protocol by ALPN; None: it is turned away."""
        role = role_of(peer, self._peers.credential.name, self._peers.credential.refused)
        if protocol == HANDING_OVER:
            return CredentialTaker(self._peers) if role is PeerRole.CONTROL else None
        if role is PeerRole.INSTANCE:
            return None if self._neighbours is None else self._neighbours()
        return None if role is None else self._greeting(None)

    def turned_away(self, peer: str) -> None:
        self._port.log.warning("a connection of %s is closed: it has no part in what this instance answers", peer)

    def _greeting(self, plain: Made | None) -> asyncio.Protocol:
        return CountedGreeting(self._port.greetings, self._secret, partial(Connection, self._port), plain)


class ArrivedPeer(asyncio.Protocol):
    """A connection whose handshake is done: it goes on as what its peer's name allows."""

    def __init__(self, terms: PeerTerms, handshake: Handshake) -> None:
        self._terms = terms
        self._handshake = handshake

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._handshake.end()
        transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but its class
        spoken = transport.get_extra_info("ssl_object")
        peer = peer_in(spoken.getpeercert())
        following = self._terms.following(peer, spoken.selected_alpn_protocol())
        if following is None:
            self._terms.turned_away(peer)
            transport.abort()
            return
        transport.set_protocol(following)
        following.connection_made(transport)
