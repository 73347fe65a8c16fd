"""Where a server is, and what a connection to it must know."""

from dataclasses import field
from typing import TYPE_CHECKING

from torpor_container.frozen_class import frozen

if TYPE_CHECKING:
    from ssl import SSLContext

    from torpor_container.transport.peers.peer_tls import PeerTls


@frozen
class GuardedAddress:
    """A server on another machine, which takes connections only from those who know its secret (`greeting`).

    `secret` is empty where nobody greets: a neighbour's requests have tickets. `name` is the one that its certificate
    must have; empty: it speaks no TLS. `peers` has what this process proves itself with.
    """

    host: str
    port: int
    secret: bytes = field(repr=False)
    name: str = ""
    peers: "PeerTls | None" = field(default=None, compare=False, repr=False)

    @property
    def security(self) -> "SSLContext | None":
        """What TLS is spoken with; None for none. Raises NoCredential."""
        if not self.name:
            return None
        if self.peers is None:
            from torpor_container.transport.peers.peer_tls import NoCredential

            raise NoCredential(f"this process has no certificate by which {self} takes it")
        return self.peers.client

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


Address = str | tuple[str, int] | GuardedAddress
"""A Unix socket's path; a host and a port; or a host and a port with a secret, and perhaps a certificate's name."""
