"""Which requests a web page may have sent, and which of these are let in: rules over three headers, values in and out.

A browser sends requests for any page that it shows, also to this machine. It says which page by `Origin` and by
`Sec-Fetch-Site`, which no script can set. A page whose own name was led to this machine (DNS rebinding) counts as of
our origin, but its name stands in `Host`: https://fetch.spec.whatwg.org, https://www.w3.org/TR/fetch-metadata.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from ipaddress import IPv4Address, IPv6Address, ip_address

HEADERS = frozenset({b"host", b"origin", b"sec-fetch-site"})
"""What the rules read, by names on the wire."""

LOCAL_NAMES = frozenset(
    ("localhost", "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback")
)
"""Names of this machine itself. RFC 6761: names under `localhost` are it too, whatever a name server says."""

OWN_SITES = (b"same-origin", b"none")
"""`Sec-Fetch-Site` of a page of our own, and of what a person typed."""

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]{1,255}))(?::[0-9]{0,5})?")
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://((?:\[[0-9a-f:.]+\]|[a-z0-9._-]{1,255})(?::[0-9]{1,5})?)")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


class Sender(Enum):
    """What kind of sender a request has, as far as the three headers say."""

    OURS = auto()  # a program, a person, or a page of our own
    ALLOWED = auto()  # a page of an origin that the user has named
    FOREIGN = auto()  # a page of any other origin
    ELSEWHERE = auto()  # a caller that takes this machine for another host


@dataclass(frozen=True)
class Judged:
    """The sender, and the header value that decided it: the host for ELSEWHERE, else the origin or site."""

    sender: Sender
    because: str = ""


OURS = Judged(Sender.OURS)


@dataclass(frozen=True)
class Ours:
    """What counts as ours: names with whatever stands under them, addresses, and other origins that are allowed.

    Loopback addresses are always ours. With `any_address` every address is: of a server that listens on all of them
    nobody knows by which one it is reached, and an address, unlike a name, cannot be led elsewhere by a name server.
    """

    names: frozenset[str] = LOCAL_NAMES
    addresses: frozenset[str] = frozenset()
    any_address: bool = False
    origins: frozenset[str] = frozenset()

    def has_host(self, host: str) -> bool:
        """Whether this `Host`, with its port or without, is an address or name of ours."""
        name = host_name(host)
        if name is None:
            return False
        address = address_of(name)
        if address is not None:
            return address.is_loopback or self.any_address or str(address) in self.addresses
        return any(name == ours or name.endswith(f".{ours}") for ours in self.names)

    def judged(self, headers: Sequence[tuple[bytes, bytes]], authority: bytes | None = None) -> Judged:
        """Judge a request by those of its headers that are in HEADERS, and by the host in its target if that has one.

        A request without `Host` is no browser's: they all send it.
        """
        given = [(name, value) for name, value in headers if name != b"host"]
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        named = hosts if authority is None else [authority.decode("latin-1"), *hosts]
        for host in named if len(hosts) < 2 else [", ".join(hosts)]:
            if not self.has_host(host):
                return Judged(Sender.ELSEWHERE, host)
        return self._page(given, f"http://{named[0]}".lower() if named else "")

    def _page(self, headers: Iterable[tuple[bytes, bytes]], own: str) -> Judged:
        foreign = None
        for name, value in headers:
            text = value.decode("latin-1")
            if name == b"origin" and text.lower() in self.origins:
                return Judged(Sender.ALLOWED, text)
            if name == b"origin" and text.lower() != own:
                foreign = text
            elif name == b"sec-fetch-site" and value not in OWN_SITES:
                foreign = foreign or text
        return OURS if foreign is None else Judged(Sender.FOREIGN, foreign)


def ours(listening: Iterable[str], hosts: Iterable[str] = (), origins: Iterable[str] = (), machine: str = "") -> Ours:
    """What is ours of a server that listens on these addresses or names.

    `hosts` and `origins` are allowed besides. `machine` is its own name, by which it is reached from outside.
    """
    names, addresses = set(LOCAL_NAMES), set()
    open_to_all, outside = False, False
    for host in (*listening, *hosts):
        address = address_of(host)
        if address is None:
            names.add(host.lower().removesuffix("."))
        else:
            addresses.add(str(address))
    for host in listening:
        address = address_of(host)
        open_to_all = open_to_all or (address is not None and address.is_unspecified)
        outside = outside or not is_loopback(host)
    if outside and machine:
        names.add(machine.lower())
    return Ours(frozenset(names), frozenset(addresses), open_to_all, frozenset(filter(None, map(origin_of, origins))))


def is_loopback(host: str) -> bool:
    """Whether a server on this address or name is reached from its own machine alone."""
    address = address_of(host)
    return host.lower() in LOCAL_NAMES if address is None else address.is_loopback


def host_name(host: str) -> str | None:
    """The name or address in a `Host` header: in lower case, without port, brackets and last dot. None if malformed."""
    found = _HOST.fullmatch(host.lower())
    return None if found is None else found[1] or found[2].removesuffix(".") or None


def is_host(text: str) -> bool:
    """Whether it is a name or an address, without a port."""
    return address_of(text) is not None or (":" not in text and host_name(text) is not None)


def origin_of(text: str) -> str | None:
    """An origin as browsers send it, such as `http://localhost:3000`; None for what is none."""
    found = _ORIGIN.fullmatch(text.lower())
    return None if found is None else f"{found[1]}://{found[2].removesuffix(_DEFAULT_PORTS.get(found[1], '/'))}"


def address_of(name: str) -> IPv4Address | IPv6Address | None:
    """An address as it is written in a URL, without brackets. One of IPv4 in IPv6's form is of IPv4."""
    try:
        address = ip_address(name)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
