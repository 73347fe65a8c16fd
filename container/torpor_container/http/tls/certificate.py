"""The certificate of a server: loads it with its key, and loads both again once their files have changed."""

import asyncio
import logging
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torpor_container.http.server import TlsFiles

LOOK_S = 2.0
"""How often the files are looked at. Two calls of the system; they are read only if they have changed."""

ALPN = ["http/1.1"]
NOT_ITS_KEY = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED")
"""OpenSSL's reasons. The last one is for a key of another kind: it looks for a certificate of that kind."""
ENCRYPTED = (b"BEGIN ENCRYPTED PRIVATE KEY", b"Proc-Type: 4,ENCRYPTED")


class BadCertificate(Exception):
    """A certificate and its key cannot be used. `in_key` says which of the two files is at fault."""

    def __init__(self, message: str, *, in_key: bool = False) -> None:
        super().__init__(message)
        self.in_key = in_key


def server_context(files: TlsFiles) -> ssl.SSLContext:
    """What a server speaks TLS with: 1.2 or later, and HTTP/1.1 inside. Raises BadCertificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(ALPN)
    certificate, key = _read(files.certificate, in_key=False), _read(files.key, in_key=True)
    if b"-----BEGIN CERTIFICATE-----" not in certificate:
        raise BadCertificate(f"{files.certificate} has no certificate in PEM form")
    if any(mark in key for mark in ENCRYPTED):
        text = f"{files.key} is encrypted: give a key without a passphrase, which only this user may read"
        raise BadCertificate(text, in_key=True)
    if b"PRIVATE KEY-----" not in key:
        raise BadCertificate(f"{files.key} has no private key in PEM form", in_key=True)
    with _translated(files):
        context.load_cert_chain(files.certificate, files.key, _no_password)
    return context


def _read(path: Path, *, in_key: bool) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadCertificate(f"{path} cannot be read ({error.strerror})", in_key=in_key) from error


def _no_password() -> str:
    return ""  # without this function, OpenSSL would ask the terminal for one


@contextmanager
def _translated(files: TlsFiles) -> Iterator[None]:
    try:
        yield
    except ssl.SSLError as error:
        if error.reason in NOT_ITS_KEY:
            raise BadCertificate(f"{files.key} is not the key of {files.certificate}", in_key=True) from error
        why = error.reason or str(error)
        raise BadCertificate(f"{files.certificate} and {files.key} cannot be loaded ({why})") from error
    except (OSError, ValueError) as error:
        raise BadCertificate(f"{files.certificate} and {files.key} cannot be loaded ({error})") from error


_Identity = tuple[tuple[int, ...] | None, ...]


class ServerCertificate:
    """The certificate that new connections get. Those that are open keep the one that they began with."""

    def __init__(self, files: TlsFiles, log: logging.Logger) -> None:
        """Raises BadCertificate."""
        self._files = files
        self._log = log
        self._seen = self._identity()
        self.context = server_context(files)

    def refresh(self) -> bool:
        """Load the files if they have changed. True if new connections get what is in them from now on; a pair that
        cannot be used is logged, and the old one stays."""
        found = self._identity()
        if found == self._seen:
            return False
        self._seen = found
        try:
            self.context = server_context(self._files)
        except BadCertificate as error:
            self._log.warning("the changed certificate is not used, and the one before it stays: %s", error)
            return False
        self._log.info("new connections get the certificate that is now in %s", self._files.certificate)
        return True

    async def watch(self) -> None:
        """Refresh it every LOOK_S seconds, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.refresh()

    def _identity(self) -> _Identity:
        return tuple(_identity(path) for path in (self._files.certificate, self._files.key))


def _identity(path: Path) -> tuple[int, ...] | None:
    """What changes with the file; None if there is none. Links are followed, since some tools swap those."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
