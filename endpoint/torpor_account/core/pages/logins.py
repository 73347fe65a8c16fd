"""Rules of the dashboard's login as values: its cookie, its token against forged requests, and wrong tries."""

import hmac
from collections import OrderedDict
from hashlib import sha256
from ipaddress import ip_address

from torpor_container.core.clients import whole_client

LASTS_S = 12 * 3600
"""How long a session lasts at most."""
COOKIE = "torpor-session"
CSRF_HEADER = b"x-torpor-csrf"

FREE_TRIES = 5
"""How many wrong tries an address has before it must wait."""
WAIT_MAX_S = 60.0
FORGOTTEN_S = 900.0
"""After so long without a wrong try an address begins anew."""
ADDRESSES_MAX = 1024
"""The most addresses whose wrong tries are remembered."""


def cookie_name(host: str) -> str:
    """The cookie's name at a `Host`. A browser sends cookies to all ports of a host, so the port is in the name."""
    _, _, port = host.rpartition(":")
    return f"{COOKIE}-{port}" if port.isdecimal() else COOKIE


def set_cookie(name: str, token: str, *, secure: bool) -> str:
    """The header that gives the cookie, or that takes it away where `token` is empty."""
    lasts_s = LASTS_S if token else 0
    flags = f"HttpOnly; SameSite=Strict; Path=/; Max-Age={lasts_s}{'; Secure' if secure else ''}"
    return f"{name}={token}; {flags}"


def cookie_of(header: str, name: str) -> str | None:
    """The value of a cookie in a `Cookie` header. None if it is not there, or there twice."""
    pairs = (pair.strip().partition("=") for pair in header.split(";"))
    found = [value for given, _, value in pairs if given == name]
    return found[0] if len(found) == 1 and found[0] else None


def digest_of(token: str) -> str:
    """What is stored of a session's token."""
    return sha256(token.encode("utf-8", "replace")).hexdigest()


def csrf_of(token: str) -> str:
    """What a page of the session sends with each request that changes something, and no other page can know."""
    return hmac.digest(token.encode("utf-8", "replace"), b"torpor csrf", "sha256").hex()


def is_csrf(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), csrf_of(token).encode())


class WrongTries:
    """The wrong tries by address. Times are in seconds of one clock. An IPv6 network of 64 bits is one address."""

    def __init__(self) -> None:
        self._by_address: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def wait_s(self, address: str, now_s: float) -> float:
        """How long the address has to wait before its next try: 1 s, 2 s, 4 s … after its free tries."""
        count, last_s = self._by_address.get(_place(address), (0, 0.0))
        if count < FREE_TRIES or now_s - last_s > FORGOTTEN_S:
            return 0.0
        wait_s = min(2.0 ** min(count - FREE_TRIES, 30), WAIT_MAX_S)
        return max(0.0, last_s + wait_s - now_s)

    def failed(self, address: str, now_s: float) -> None:
        place = _place(address)
        count, last_s = self._by_address.pop(place, (0, now_s))
        self._by_address[place] = (count + 1 if now_s - last_s <= FORGOTTEN_S else 1), now_s
        while len(self._by_address) > ADDRESSES_MAX:
            self._by_address.popitem(last=False)

    def succeeded(self, address: str) -> None:
        self._by_address.pop(_place(address), None)


def _place(address: str) -> str:
    try:
        found = ip_address(address)
    except ValueError:
        return address
    return whole_client(found)
