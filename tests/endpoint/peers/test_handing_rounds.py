"""The rounds in which the control gives new certificates to all instances."""

import asyncio

from tests.endpoint.helpers.peer_authorities import TestedPeers
from torpor_container.transport.address import Address, GuardedAddress
from torpor_container.transport.peers.credential import PeerCredential
from torpor_endpoint.peers.authority_records import CREDENTIAL_S
from torpor_endpoint.peers.handing_rounds import ROUND_S, HandingRounds


def test_each_instance_that_speaks_tls_gets_a_certificate_of_its_own_and_one_failure_keeps_none_from_it() -> None:
    tested = TestedPeers()
    addresses: list[Address | None] = [
        None,
        "/unix/socket",
        GuardedAddress("10.0.0.1", 1, b""),
        *(tested.peers.address("10.0.0.2", number, b"", f"i-{number}") for number in range(3)),
    ]
    given: dict[str, PeerCredential] = {}

    async def hand(address: GuardedAddress, credential: PeerCredential) -> None:
        if address.port == 0:
            raise ConnectionRefusedError
        given[address.name] = credential

    rounds = HandingRounds(tested.peers, lambda: addresses, hand=hand)
    before = tested.peers.tls.credential
    tested.now_s += ROUND_S
    assert asyncio.run(rounds.round()) == 1
    assert sorted(name.partition(".")[0] for name in given) == ["i-1", "i-2"]  # in no order: some get theirs at once
    assert all(one.name == name and one.ends_s == tested.now_s + CREDENTIAL_S for name, one in given.items())
    assert tested.peers.tls.credential.ends_s == before.ends_s + ROUND_S


def test_an_instance_that_misses_two_rounds_still_holds() -> None:
    assert 3 * ROUND_S < CREDENTIAL_S
