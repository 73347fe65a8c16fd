"""Judges by three headers whether a web page sent a request, and whether the page may. Pure rules.

A browser sends requests for any page that it shows, also to this machine. It names the page in `Origin` and in
`Sec-Fetch-Site`, which no script can set. A page whose own name points to this machine (DNS rebinding) has the
endpoint's origin, but `Host` has its name: https://fetch.spec.whatwg.org, https://www.w3.org/TR/fetch-metadata.
"""

import re
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from ipaddress import IPv4Address, IPv6Address, ip_address

from torpor_container.frozen_class import frozen

HEADERS = frozenset({b"host", b"origin", b"sec-fetch-site"})
"""The headers that the rules read, by their names on the wire."""

LOCAL_NAMES = frozenset(
    ("localhost", "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback")
)
"""Names of this machine itself. RFC 6761: so are names under `localhost`, whatever a name server says."""

OWN_SITES = (b"same-origin", b"none")
"""`Sec-Fetch-Site` of one of the endpoint's own pages, and of an address that a person typed."""

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]{1,255}))(?::[0-9]{0,5})?")
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://((?:\[[0-9a-f:.]+\]|[a-z0-9._-]{1,255})(?::[0-9]{1,5})?)")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


class Sender(Enum):
    """The kind of sender, by the three headers."""

    OWN = auto()  # a program, a person, or one of the endpoint's own pages
    ALLOWED = auto()  # a page of an origin that --allow-origin names
    FOREIGN = auto()  # a page of any other origin
    ELSEWHERE = auto()  # a caller that names another host


@frozen
class Judgement:
    """The sender, and the header value that decided: the host for ELSEWHERE, else the origin or site."""

    sender: Sender
    because: str = ""


OWN = Judgement(Sender.OWN)


@frozen
class OwnHosts:
    """The endpoint's own names, with all names under them, its addresses, and the other origins that are allowed.

    Loopback addresses always belong to it. With `any_address` every address does: a server that listens on all of them
    cannot know by which one a caller reaches it, and no name server can make an address point elsewhere.
    """

    names: frozenset[str] = LOCAL_NAMES
    addresses: frozenset[str] = frozenset()
    any_address: bool = False
    origins: frozenset[str] = frozenset()
    scheme: str = "http"
    """What the port speaks: the scheme of its own pages' origin."""

    def has_host(self, host: str) -> bool:
        """Whether this `Host`, with or without a port, is an address or name of the endpoint."""
        name = host_name(host)
        if name is None:
            return False
        address = address_of(name)
        if address is not None:
            return address.is_loopback or self.any_address or str(address) in self.addresses
        return any(name == known or name.endswith(f".{known}") for known in self.names)

    def judge(self, headers: Sequence[tuple[bytes, bytes]], authority: bytes | None = None) -> Judgement:
        """Judge a request by its headers in HEADERS, and by the host in its target if it has one.

        A request without `Host` is from no browser: browsers always send it.
        """
        given = [(name, value) for name, value in headers if name != b"host"]
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        named = hosts if authority is None else [authority.decode("latin-1"), *hosts]
        for host in named if len(hosts) < 2 else [", ".join(hosts)]:
            if not self.has_host(host):
                return Judgement(Sender.ELSEWHERE, host)
        return self._page(given, f"{self.scheme}://{named[0]}".lower() if named else "")

    def _page(self, headers: Iterable[tuple[bytes, bytes]], own: str) -> Judgement:
        foreign = None
        for name, value in headers:
            text = value.decode("latin-1")
            if name == b"origin" and text.lower() in self.origins:
                return Judgement(Sender.ALLOWED, text)
            if name == b"origin" and text.lower() != own:
                foreign = text
            elif name == b"sec-fetch-site" and value not in OWN_SITES:
                foreign = foreign or text
        return OWN if foreign is None else Judgement(Sender.FOREIGN, foreign)


def own_hosts(
    listening: Iterable[str],
    hosts: Iterable[str] = (),
    origins: Iterable[str] = (),
    machine: str = "",
    scheme: str = "http",
) -> OwnHosts:
    """The names, addresses and origins of a server that listens on these addresses or names.

    `hosts` and `origins` are allowed too. `machine` is the machine's own name, which callers from outside use.
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
    return OwnHosts(
        frozenset(names), frozenset(addresses), open_to_all, frozenset(filter(None, map(origin_of, origins))), scheme
    )


def is_loopback(host: str) -> bool:
    """Whether only the machine itself can reach a server on this address or name."""
    address = address_of(host)
    return host.lower() in LOCAL_NAMES if address is None else address.is_loopback


def host_name(host: str) -> str | None:
    """The name or address in a `Host` header, in lower case, without port, brackets and last dot; None if malformed."""
    found = _HOST.fullmatch(host.lower())
    return None if found is None else found[1] or found[2].removesuffix(".") or None


def is_host(text: str) -> bool:
    """Whether the text is a name or an address without a port."""
    return address_of(text) is not None or (":" not in text and host_name(text) is not None)


def origin_of(text: str) -> str | None:
    """The origin as browsers send it, such as `http://localhost:3000`; None if the text is no origin."""
    found = _ORIGIN.fullmatch(text.lower())
    return None if found is None else f"{found[1]}://{found[2].removesuffix(_DEFAULT_PORTS.get(found[1], '/'))}"


def address_of(name: str) -> IPv4Address | IPv6Address | None:
    """The address in a text without brackets; None if it is no address. An IPv4-mapped IPv6 address becomes IPv4."""
    try:
        address = ip_address(name)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
