"""The certificates of one deployment, as its control issues them: its own, those of routers, and those of instances."""

from collections.abc import Callable
from threading import RLock

from torpor_account.core.origins.certificate_names import AUTHORITY_S
from torpor_container.settings import BY_FIELD
from torpor_container.transport.address import GuardedAddress
from torpor_container.transport.peers.credential import PeerCredential
from torpor_container.transport.peers.peer_names import PeerRole, peer_name
from torpor_container.transport.peers.peer_tls import PeerTls
from torpor_endpoint.peers.authority_keeping import AuthorityKeeping, unreadable
from torpor_endpoint.peers.authority_records import CREDENTIAL_S, PeerRecords
from torpor_endpoint.peers.peer_authority import new_authority, new_key, signed


class DeploymentPeers:
    """`deployment` tells it from others, as a label of names. `epoch` gives seconds since 1970. Raises what `keeping`
    raises."""

    def __init__(self, keeping: AuthorityKeeping, deployment: str, epoch: Callable[[], float]) -> None:
        self._keeping = keeping
        self._deployment = deployment
        self._epoch = epoch
        self._changing = RLock()  # commands change the records in threads, beside the rounds
        self._records = keeping.read()
        if not self._records.authorities:
            self._put(self._records.followed_by(new_authority(epoch())))
        try:
            own = self.issued(PeerRole.CONTROL, "control")
        except ValueError as error:
            raise unreadable(keeping.place, error) from error
        self.tls = PeerTls(own)
        """What the control itself proves itself with."""

    @property
    def records(self) -> PeerRecords:
        return self._records

    @property
    def now_s(self) -> float:
        return self._epoch()

    def name_of(self, role: PeerRole, which: str) -> str:
        return peer_name(role, which, self._deployment)

    def issued(self, role: PeerRole, which: str) -> PeerCredential:
        """A new credential, key and all, for a process that this one trusts with it."""
        private, public = new_key()
        unkeyed = self.signed(role, which, public)
        return PeerCredential(unkeyed.name, private + unkeyed.own, unkeyed.trusted, unkeyed.ends_s, unkeyed.refused)

    def signed(self, role: PeerRole, which: str, public_key: bytes) -> PeerCredential:
        """The credential of a process that has made its key itself, still without that. Raises BadKey."""
        name, now_s, records = self.name_of(role, which), self._epoch(), self._records
        certificate = signed(records.signing(now_s), name, public_key, now_s, CREDENTIAL_S)
        return PeerCredential(name, certificate, records.trusted, now_s + CREDENTIAL_S, records.refused)

    def address(self, host: str, port: int, secret: bytes, launch: str) -> GuardedAddress:
        """Where an instance is, of this launch."""
        return GuardedAddress(host, port, secret, self.name_of(PeerRole.INSTANCE, launch), self.tls)

    def environment(self, launch: str) -> dict[str, str]:
        """What an instance of this launch gets for it."""
        return {BY_FIELD["peer_tls"].variable: self.issued(PeerRole.INSTANCE, launch).text()}

    # -- changes -----------------------------------------------------------------------------------------------------
    def renew_own(self) -> None:
        """Renew the control's own certificate. What is over is forgotten, and an old authority gets a successor."""
        with self._changing:
            now_s = self._epoch()
            records = self._records.at(now_s)
            if records.is_old(now_s, AUTHORITY_S):
                records = records.followed_by(new_authority(now_s))
            if records != self._records:
                self._put(records)
            self.tls.take(self.issued(PeerRole.CONTROL, "control"))

    def refuse(self, name: str) -> None:
        """Have nobody accept the process of this name any more. Others learn it with their next credential."""
        with self._changing:
            self._put(self._records.refusing(name, self._epoch()))
            self.renew_own()

    def roll_over(self) -> None:
        """Have a new authority follow the present one (`PeerRecords.followed_by`)."""
        with self._changing:
            self._put(self._records.followed_by(new_authority(self._epoch())))
            self.renew_own()

    def _put(self, records: PeerRecords) -> None:
        self._keeping.write(records)
        self._records = records
