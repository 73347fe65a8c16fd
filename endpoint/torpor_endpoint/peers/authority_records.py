"""What a deployment keeps of its authority: as values, and what becomes of them. No I/O, no clock."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

CREDENTIAL_S = 3 * 86_400.0
"""How long the certificate of a process holds. It is what a process that is refused, but was not told apart from the
others by everybody, has left at most; and how long all go on without the control, less what is used already."""

RENEWED_AFTER_S = CREDENTIAL_S / 3
"""How old a certificate becomes before there is a new one."""

LEARNT_S = CREDENTIAL_S / 2
"""How long a further authority is trusted before it signs: by then all have renewed what they have, and know it."""

AUTHORITY_LEFT_S = 365 * 86_400.0
"""An authority that holds for no longer is followed by another."""


@dataclass(frozen=True)
class KeptAuthority:
    """A certificate and its private key, in PEM. `since_s`, in epoch seconds, is when it was made."""

    certificate: str
    key: str = field(repr=False)
    since_s: float


@dataclass(frozen=True)
class PeerRecords:
    """`authorities`: all are trusted, and one of them signs (`signing`). `refused`: the names that nobody accepts any
    more, and when the certificate of each ends by itself, in epoch seconds."""

    authorities: tuple[KeptAuthority, ...] = ()
    refused: Mapping[str, float] = field(default_factory=dict)

    def signing(self, now_s: float) -> KeptAuthority:
        """The youngest one that all have learnt of."""
        learnt = [one for one in self.authorities[1:] if one.since_s + LEARNT_S <= now_s]
        return learnt[-1] if learnt else self.authorities[0]

    def is_old(self, now_s: float, lasts_s: float) -> bool:
        """Whether another authority is to follow, where each holds for `lasts_s`."""
        return not self.authorities or self.authorities[-1].since_s + lasts_s - now_s <= AUTHORITY_LEFT_S

    @property
    def trusted(self) -> str:
        """The authorities' certificates, in PEM."""
        return "".join(one.certificate for one in self.authorities)

    def followed_by(self, authority: KeptAuthority) -> "PeerRecords":
        """With a further authority, which is trusted from now on, and signs once all have learnt of it. Those before it
        are trusted as long as what they signed may hold."""
        return replace(self, authorities=(*self.authorities, authority))

    def refusing(self, name: str, now_s: float) -> "PeerRecords":
        """With one name less that is accepted."""
        return replace(self, refused={**self.refused, name: now_s + CREDENTIAL_S})

    def at(self, now_s: float) -> "PeerRecords":
        """Without what is over: names whose certificates have ended, and authorities that have signed nothing that
        still holds."""
        ends = [later.since_s + LEARNT_S + CREDENTIAL_S for later in self.authorities[1:]]
        before = zip(self.authorities, ends, strict=False)
        kept = tuple(one for one, end_s in before if end_s > now_s)
        refused = {name: end_s for name, end_s in self.refused.items() if end_s > now_s}
        return replace(self, authorities=(*kept, *self.authorities[-1:]), refused=refused)


def is_due(ends_s: float, now_s: float) -> bool:
    """Whether a certificate that ends then is to be renewed now."""
    return ends_s - now_s <= CREDENTIAL_S - RENEWED_AFTER_S
