"""The names in the certificates of a deployment's own processes, and what the name of a peer lets it do.

A name is that of a process, its role, its deployment and DOMAIN: a DNS name, so that TLS itself compares it with the
one that is wanted. No resolver is asked for it.
"""

from collections.abc import Collection
from enum import StrEnum

DOMAIN = "torpor.internal"


class PeerRole(StrEnum):
    """What a process of a deployment is."""

    CONTROL = "control"
    ROUTER = "router"
    INSTANCE = "instance"


def peer_name(role: PeerRole, which: str, deployment: str) -> str:
    """The name of one process. `which` tells it from the others of its role, `deployment` its deployment from others;
    both are labels of DNS names."""
    return f"{which}.{role}.{deployment}.{DOMAIN}"


def role_of(peer: str, own: str, refused: Collection[str] = ()) -> PeerRole | None:
    """What the peer of this name is to a process of the name `own`. None if it is of another deployment, or is one of
    the `refused` names, or if this is no such name."""
    _, _, deployment = own.split(".", 2)
    labels = peer.split(".", 2)
    if len(labels) != 3 or labels[2] != deployment or peer in refused:
        return None
    try:
        return PeerRole(labels[1])
    except ValueError:
        return None
