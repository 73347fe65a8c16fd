"""Says which client a connection counts for, where each may have so many. No sockets."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

NETWORK_BITS = 64
"""The holder of one IPv6 address has the other 2^64 of its network too, and so they are one client."""

ADDRESSES_CACHED = 1024


@lru_cache(ADDRESSES_CACHED)
def client_of(address: str) -> str | None:
    """The client behind an address: an IPv4 address, or a network of IPv6.

    None for this machine's own loopback addresses, which count for nobody: a proxy on this machine brings the
    connections of all its clients.
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return None if _plain(found).is_loopback else whole_client(found)


def whole_client(address: IPv4Address | IPv6Address) -> str:
    """An IPv4 address, or the network of an IPv6 address."""
    plain = _plain(address)
    return str(plain) if plain.version == 4 else str(IPv6Network((int(plain), NETWORK_BITS), strict=False))


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """An IPv4 address also where IPv6 carries it."""
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
