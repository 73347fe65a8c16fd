"""What a process proves itself with, and when a container can serve with it."""

import pytest

from torpor_container.transport.peers.credential import PeerCredential

ENDS_S = 1000.0
CREDENTIAL = PeerCredential("i-1.instance.4f1c2a9b.torpor.internal", "key", "authority", ENDS_S)


@pytest.mark.parametrize(
    ("secret", "now_s", "why"),
    [
        (b"secret", ENDS_S - 1, None),
        (b"secret", ENDS_S, "its certificate has ended"),
        (None, ENDS_S - 1, "it needs TORPOR_INSTANCE_SECRET"),
        (None, ENDS_S, "it needs TORPOR_INSTANCE_SECRET"),
    ],
)
def test_a_container_serves_with_it_alone_if_it_has_a_secret_and_holds(
    secret: bytes | None, now_s: float, why: str | None
) -> None:
    assert (CREDENTIAL.fault(secret, now_s) or "").startswith(why or "")
    assert (CREDENTIAL.fault(secret, now_s) is None) == (why is None)
