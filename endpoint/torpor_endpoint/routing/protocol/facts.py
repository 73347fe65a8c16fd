"""What the control says of itself to a router that begins."""

from dataclasses import dataclass

PROTOCOL = 10
"""Changes with every change of what a control and a router say to each other."""


@dataclass(frozen=True)
class ControlFacts:
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
    encrypts: bool = False
    """Whether instances speak TLS: a router needs a certificate of the deployment."""
    takes_certificates: bool = False
    """Whether the control's port, which speaks HTTP, speaks TLS too with routers that have one."""
