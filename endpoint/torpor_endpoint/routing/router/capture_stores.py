"""Where a router's captured data goes: to the control's S3 as the role of its model, or to another S3."""

from collections.abc import Callable

from torpor_account.s3.access.embedded import StorageAway, StorageError
from torpor_endpoint.routing.protocol.facts import ControlFacts
from torpor_endpoint.routing.protocol.role_keys import RoleKeys
from torpor_endpoint.routing.router.control_client import ControlAway, ControlClient
from torpor_endpoint.runtime.capture.delivery import CaptureStore
from torpor_endpoint.runtime.capture.files import CaptureFile

RENEWED_S = 600.0
"""Credentials that hold for less than this are not used any more."""
ANY_KEYS = ("torpor", "torpor", None)
"""For a control that verifies no caller."""


class CaptureStores:
    """The stores, each made with its first file: boto3 takes long to import. For one thread; they may block."""

    def __init__(self, facts: ControlFacts, control: ControlClient, clock: Callable[[], float]) -> None:
        """`clock` gives epoch seconds."""
        self._facts = facts
        self._control = control
        self._clock = clock
        self._known: dict[tuple[str, str], CaptureStore] = {}

    def of(self, file: CaptureFile) -> CaptureStore:
        """The store of a file."""
        by_role = self._facts.auth and not self._facts.storage
        whose = (file.endpoint, file.role) if by_role else ("", "")
        if whose not in self._known:
            self._known[whose] = (
                RoleStore(self._control, self._facts.region, *whose, self._clock) if by_role else self._made()
            )
        return self._known[whose]

    def _made(self) -> CaptureStore:
        from torpor_account.s3.access.remote import RemoteStorage

        url, region, trusted = self._facts.storage, self._facts.region, self._control.trusted
        if url:
            return RemoteStorage.at(url, region, trusted=trusted)  # with the keys of this environment
        return RemoteStorage.at(self._control.url, region, ANY_KEYS, trusted)


class RoleStore:
    """The control's S3, used as a role. Its credentials are renewed before they expire, and after a failure: a control
    that has started again does not know those that it gave before."""

    def __init__(
        self, control: ControlClient, region: str, endpoint: str, role: str, clock: Callable[[], float]
    ) -> None:
        self._control = control
        self._region = region
        self._whose = endpoint, role
        self._clock = clock
        self._store: CaptureStore | None = None
        self._until_s = 0.0

    def write(self, body: bytes, bucket: str, key: str) -> None:
        """Write an object. Raises StorageError."""
        if self._store is None or self._clock() > self._until_s:
            keys = self._lent()
            self._store, self._until_s = self._as(keys), keys.expires_s - RENEWED_S
        try:
            self._store.write(body, bucket, key)
        except StorageError:
            self._store = None
            raise

    def _lent(self) -> RoleKeys:
        """Raises StorageError."""
        try:
            return self._control.role_keys(*self._whose)
        except ControlAway as error:
            raise StorageAway(str(error)) from error

    def _as(self, keys: RoleKeys) -> CaptureStore:
        from torpor_account.s3.access.remote import RemoteStorage

        given = (keys.access_key, keys.secret, keys.token)
        return RemoteStorage.at(self._control.url, self._region, given, self._control.trusted)
