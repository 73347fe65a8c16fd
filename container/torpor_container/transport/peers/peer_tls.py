"""TLS between the processes of one deployment: 1.3 alone, and each end shows a certificate of its authority.

A client compares the server's name with that of the process that it means. A server asks what its peer is
(`peers.peer_names`). New connections take the credential that is there by then; open ones keep theirs.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torpor_container.transport.peers.credential import PeerCredential

if TYPE_CHECKING:
    import ssl

HANDING_OVER = "torpor-credential"
"""By ALPN: the connection hands over a credential (`peers.handing`). Any other connection names nothing."""


class NoCredential(ConnectionError):
    """This process has no certificate of the deployment, or one that cannot be used."""


class PeerTls:
    """The credential of this process. It may have none at first, and get others later."""

    def __init__(self, credential: PeerCredential | None = None) -> None:
        self._credential = credential
        self._made: dict[str, ssl.SSLContext] = {}

    @property
    def credential(self) -> PeerCredential:
        """Raises NoCredential."""
        if self._credential is None:
            raise NoCredential("this process has no certificate of its deployment yet")
        return self._credential

    @property
    def has_one(self) -> bool:
        return self._credential is not None

    def take(self, credential: PeerCredential) -> None:
        """Use this one for all new connections. Raises NoCredential if it cannot be used; the one before it stays."""
        made = {"server": _server(credential)}
        self._credential, self._made = credential, made

    @property
    def server(self) -> "ssl.SSLContext":
        """For connections that others open. Raises NoCredential."""
        return self._made.get("server") or self._made.setdefault("server", _server(self.credential))

    @property
    def client(self) -> "ssl.SSLContext":
        """For connections to others. Raises NoCredential."""
        return self._made.get("client") or self._made.setdefault("client", _client(self.credential))

    @property
    def handing(self) -> "ssl.SSLContext":
        """For connections that hand over a credential. Raises NoCredential."""
        return self._made.get("handing") or self._made.setdefault("handing", _client(self.credential, HANDING_OVER))


def peer_in(certificate: object) -> str:
    """The name in a peer's certificate, as `ssl.SSLObject.getpeercert` gives it; empty if there is none."""
    found = certificate.get("subjectAltName", ()) if isinstance(certificate, dict) else ()
    return next((name for kind, name in found if kind == "DNS"), "")


def _client(credential: PeerCredential, protocol: str | None = None) -> "ssl.SSLContext":
    import ssl

    context = _context(ssl.PROTOCOL_TLS_CLIENT, credential)  # it compares names
    if protocol is not None:
        context.set_alpn_protocols([protocol])
    return context


def _server(credential: PeerCredential) -> "ssl.SSLContext":
    import ssl

    context = _context(ssl.PROTOCOL_TLS_SERVER, credential)
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols([HANDING_OVER])
    context.num_tickets = 0  # no session is resumed: each handshake looks at the certificate
    return context


def _context(protocol: int, credential: PeerCredential) -> "ssl.SSLContext":
    import ssl

    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_verify_locations(cadata=credential.trusted)
        with _file(credential.own) as path:
            context.load_cert_chain(path)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise NoCredential(f"the certificate of {credential.name} cannot be used: {error}") from error
    return context


@contextmanager
def _file(text: str) -> Iterator[str]:
    """A file with this text, which OpenSSL reads keys from: in memory alone, where the system can."""
    if not hasattr(os, "memfd_create"):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(text)
            file.flush()
            yield file.name
        return
    descriptor = os.memfd_create("credential", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(descriptor), "w") as file:
            file.write(text)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
