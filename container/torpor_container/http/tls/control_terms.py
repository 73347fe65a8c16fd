"""What a control takes at a port without HTTPS, where its deployment has certificates: TLS of its own routers, and
plain HTTP of everybody else. With HTTPS, routers call by that, as all clients do."""

import asyncio
import ssl
from typing import cast

from torpor_container.http.clients.client_connection import Connection
from torpor_container.http.clients.connections import Peer
from torpor_container.http.clients.served_port import ServedPort
from torpor_container.http.tls.front import Handshake, SecureConnection
from torpor_container.transport.peers.peer_names import PeerRole, role_of
from torpor_container.transport.peers.peer_tls import PeerTls, peer_in


class ControlTerms:
    """The terms of one port."""

    advice = b"This port speaks HTTP: call it by http://.\n"

    def __init__(self, port: ServedPort, peers: PeerTls) -> None:
        self._port = port
        self._peers = peers

    @property
    def context(self) -> ssl.SSLContext:
        return self._peers.server

    def secure(self, handshake: Handshake) -> asyncio.Protocol:
        return ArrivedRouter(self._port, handshake, self._peers)

    def plain(self, peer: Peer) -> asyncio.Protocol:
        return Connection(self._port)


class ArrivedRouter(SecureConnection):
    """A connection whose handshake is done. It is closed where its peer is no router, or a refused one."""

    def __init__(self, port: ServedPort, handshake: Handshake, peers: PeerTls) -> None:
        super().__init__(port, handshake)
        self._peers = peers

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        own = self._peers.credential
        peer = peer_in(transport.get_extra_info("ssl_object").getpeercert())
        if role_of(peer, own.name, own.refused) is not PeerRole.ROUTER:
            cast(asyncio.Transport, transport).abort()  # uvloop's is one in all but its class
