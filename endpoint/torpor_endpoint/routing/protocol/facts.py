"""What the control says of itself to a router that begins."""

from collections.abc import Mapping
from typing import Any, NamedTuple

PROTOCOL = 5
"""Changes with every change of what a control and a router say to each other."""


class ControlFacts(NamedTuple):
    """What a router must know of the control before it begins."""

    region: str
    account: str
    strict: bool
    auth: bool
    storage: str
    """The URL of the S3 that captured data goes to; empty where that is the control's own."""
    sockets: str
    """The folder of the Unix sockets of instances; empty where these listen on a network."""
    rate_limits: tuple[str, ...]
    """As `--rate-limit` has them."""

    @classmethod
    def read(cls, json: Mapping[str, Any]) -> "ControlFacts":
        """Raises KeyError, TypeError."""
        facts = cls(*(json[name] for name in cls._fields))
        return facts._replace(rate_limits=tuple(facts.rate_limits))
