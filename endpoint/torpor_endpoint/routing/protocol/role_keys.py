"""The temporary credentials of a role, with which a router writes what it captures."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class RoleKeys(NamedTuple):
    """`expires_s` is in epoch seconds."""

    access_key: str
    secret: str
    token: str
    expires_s: float

    @classmethod
    def read(cls, json: Mapping[str, Any]) -> "RoleKeys":
        """Raises KeyError, TypeError, ValueError."""
        return cls(str(json["access_key"]), str(json["secret"]), str(json["token"]), float(json["expires_s"]))
