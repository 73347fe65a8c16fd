"""By which name of its certificate an endpoint is called, and when a certificate is renewed. Pure rules.

RFC 6125, section 6.4: a `*` in a certificate stands for the whole first label of a name, and for no dot. An address is
in a certificate as an address, never as a name.
"""

from collections.abc import Iterable, Sequence

from torpor_account.core.origins.cross_origin import address_of, is_host, is_loopback

LOCAL = ("localhost", "127.0.0.1", "::1")
BUCKETS_OF_LOCALHOST = "*.s3.localhost"
"""For S3's virtual hosts, such as `models.s3.localhost`."""

CERTIFICATE_S = 90 * 86_400.0
AUTHORITY_S = 10 * 365 * 86_400.0
"""How long the endpoint's own certificate holds, and the authority behind it. Browsers refuse certificates that hold
for more than 825 days, or 398."""

LEFT_SHARE = 1 / 3
"""A certificate is renewed once this share of its time is left."""


def wanted_names(host: str, allowed: Iterable[str], machine: str) -> tuple[str, ...]:
    """The names and addresses of the certificate that an endpoint makes for itself, each once.

    `machine` is the machine's own name. Callers use it only where other machines reach the endpoint.
    """
    own = () if _is_everywhere(host) else (host,)
    outside = () if is_loopback(host) or not is_host(machine) else (machine,)
    return _each_once((*LOCAL, BUCKETS_OF_LOCALHOST, *own, *allowed, *outside))


def callable_names(host: str, allowed: Iterable[str], machine: str) -> tuple[str, ...]:
    """The names and addresses by which programs of this machine may call the endpoint, the best one first."""
    everywhere = _is_everywhere(host)
    first = ("127.0.0.1",) if everywhere else (host,)
    local = LOCAL if everywhere or is_loopback(host) else ()
    outside = () if is_loopback(host) or not is_host(machine) else (machine,)
    return _each_once((*first, *local, *allowed, *outside))


def _is_everywhere(host: str) -> bool:
    address = address_of(host)
    return not host or (address is not None and address.is_unspecified)


def _each_once(names: Iterable[str]) -> tuple[str, ...]:
    """Names in lower case, addresses in their shortest form."""
    plain = (str(address_of(name) or name.lower().removesuffix(".")) for name in names)
    return tuple(dict.fromkeys(plain))


def covers(certified: Iterable[str], name: str) -> bool:
    """Whether a certificate for these names and addresses is one for this name or address."""
    address = address_of(name)
    if address is not None:
        return any(address_of(one) == address for one in certified)
    wanted = name.lower().removesuffix(".")
    _, _, parent = wanted.partition(".")
    return any(one.lower() in (wanted, f"*.{parent}") for one in certified if one)


def called_as(certified: Sequence[str], candidates: Iterable[str]) -> str | None:
    """The first candidate that the certificate is for; None if it is for none of them."""
    return next((name for name in candidates if covers(certified, name)), None)


def renewal_due(begins_s: float, ends_s: float, now_s: float) -> bool:
    """Whether a certificate that holds from `begins_s` to `ends_s` should be made anew."""
    return now_s < begins_s or ends_s - now_s <= (ends_s - begins_s) * LEFT_SHARE
