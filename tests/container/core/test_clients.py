"""Which client an address counts for."""

import pytest

from torpor_container.core.clients import client_of


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1"])
def test_this_machine_counts_for_nobody(address: str) -> None:
    assert client_of(address) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [("10.0.0.7", "::ffff:10.0.0.7"), ("2001:db8::1", "2001:db8:0:0:ffff::9"), ("fe80::1%eth0", "fe80::2%a%b")],
)
def test_these_addresses_are_one_client(one: str, other: str) -> None:
    assert client_of(one) == client_of(other)


@pytest.mark.parametrize(("one", "other"), [("10.0.0.7", "10.0.0.8"), ("2001:db8::1", "2001:db8:0:1::1")])
def test_these_addresses_are_two_clients(one: str, other: str) -> None:
    assert client_of(one) != client_of(other)


def test_what_is_no_address_counts_for_nobody() -> None:
    assert client_of("") is None
