"""The JSON of the page of a deployment's own certificates, `/_torpor/certificates`."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ShownAuthority:
    """An authority that processes trust, since when, and whether it signs. Times are in epoch seconds."""

    since_s: float
    signs: bool


@dataclass(frozen=True)
class PeerCertificates:
    """`refused` has each name that is accepted no more, and when its certificate ends by itself. `untaken` is how many
    instances did not take what was just changed; they are asked again in the next round."""

    authorities: tuple[ShownAuthority, ...]
    refused: Mapping[str, float]
    ends_s: float
    untaken: int = 0
