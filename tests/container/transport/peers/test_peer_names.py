"""The names of a deployment's processes: what a peer's name makes of it."""

import pytest

from torpor_container.transport.peers.peer_names import PeerRole, peer_name, role_of

OWN = peer_name(PeerRole.INSTANCE, "i-1", "0a1b")


@pytest.mark.parametrize("role", PeerRole)
def test_a_peer_of_the_same_deployment_is_what_its_name_says(role: PeerRole) -> None:
    assert role_of(peer_name(role, "x", "0a1b"), OWN) is role


@pytest.mark.parametrize(
    "peer",
    [
        "",
        "router",
        "torpor.internal",
        "x.router.0a1c.torpor.internal",
        "x.router.0a1b.torpor.internal.example.com",
        "x.router.0a1b.example.internal",
        "x.admin.0a1b.torpor.internal",
        "y.x.router.0a1b.torpor.internal",
        "router.0a1b.torpor.internal",
    ],
)
def test_any_other_name_is_nobody(peer: str) -> None:
    assert role_of(peer, OWN) is None


def test_a_refused_name_is_nobody() -> None:
    one, other = (peer_name(PeerRole.ROUTER, which, "0a1b") for which in ("r-1", "r-2"))
    assert [role_of(peer, OWN, {one: 1.0}) for peer in (one, other)] == [None, PeerRole.ROUTER]
