"""The temporary credentials of a role, with which a router writes what it captures."""

from torpor_container.frozen_class import frozen


@frozen
class RoleKeys:
    """`expires_s` is in epoch seconds."""

    access_key: str
    secret: str
    token: str
    expires_s: float
