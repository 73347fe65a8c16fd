"""What one process of a deployment proves itself with, as a value and as JSON."""

import json
from collections.abc import Mapping
from dataclasses import field

from torpor_container.frozen_class import frozen
from torpor_container.typed_json import read, written


@frozen
class PeerCredential:
    """The key and the certificate of one process, and whom it trusts.

    `own` is PEM: the private key, and the certificate of the `name`, which ends at `ends_s` in epoch seconds. `trusted`
    is PEM too: the certificates of the deployment's authority. `refused` has the names of peers that are accepted no
    more, each with the epoch second at which its certificate ends by itself.
    """

    name: str
    own: str = field(repr=False)
    trusted: str
    ends_s: float
    refused: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> "PeerCredential":
        """Reads what `text` has written. Raises ValueError, which never shows what is secret."""
        try:
            return read(cls, json.loads(text))
        except ValueError:
            raise ValueError("it is no credential of this release") from None

    def fault(self, secret: bytes | None, now_s: float) -> str | None:
        """Why a container with this secret cannot serve with it now; None if it can."""
        if secret is None:
            return "it needs TORPOR_INSTANCE_SECRET, by which the container knows its callers. Set both, or neither"
        if self.ends_s <= now_s:  # a container that is started again may have the one of its first start
            return "its certificate has ended. The endpoint launches another instance"
        return None

    def text(self) -> str:
        return json.dumps(written(self), separators=(",", ":"))
