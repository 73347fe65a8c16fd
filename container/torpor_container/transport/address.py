"""Where a server is, and what a connection to it must know."""

from dataclasses import field

from torpor_container.frozen_class import frozen


@frozen
class GuardedAddress:
    """A server on another machine, which takes connections only from those who know its secret (`greeting`)."""

    host: str
    port: int
    secret: bytes = field(repr=False)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


Address = str | tuple[str, int] | GuardedAddress
"""A Unix socket's path; a host and a port; or a host and a port with a secret."""
