"""Hands over a new credential to an instance, so that its certificate never ends while it runs.

The control does, by a connection of its own: it sends the credential as JSON and a newline, and the instance answers
TAKEN once new connections get it. Anything else that comes, or nothing in time, is a failure, and the old one stays.
"""

import asyncio
import logging
from contextlib import ExitStack
from typing import cast

from torpor_container.transport.address import GuardedAddress
from torpor_container.transport.peers.credential import PeerCredential
from torpor_container.transport.peers.peer_tls import NoCredential, PeerTls

TAKEN = b"taken\n"
CREDENTIAL_MAX_BYTES = 256 * 1024
HANDED_WITHIN_S = 10.0

log = logging.getLogger(__name__)


class NotTaken(ConnectionError):
    """The instance did not take the credential."""


class CredentialGiver(asyncio.Protocol):
    """The control's end. `taken` ends with the answer, or with NotTaken."""

    def __init__(self, credential: PeerCredential) -> None:
        self.taken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._credential = credential
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.Transport, transport).write(self._credential.text().encode() + b"\n")

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) >= len(TAKEN) and not self.taken.done():
            if self._received == TAKEN:
                self.taken.set_result(None)
            else:
                self.taken.set_exception(NotTaken("it did not take the certificate"))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.taken.done():
            self.taken.set_exception(NotTaken(f"it hung up on the certificate{f': {exc}' if exc else ''}"))


class CredentialTaker(asyncio.Protocol):
    """The instance's end, of a peer that is the control."""

    def __init__(self, peers: PeerTls, within_s: float = HANDED_WITHIN_S) -> None:
        self._peers = peers
        self._within_s = within_s
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._alarm = asyncio.get_running_loop().call_later(self._within_s, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > CREDENTIAL_MAX_BYTES:
            self._transport.abort()
        elif self._received.endswith(b"\n"):
            self._take()

    def connection_lost(self, exc: Exception | None) -> None:
        self._alarm.cancel()

    def _take(self) -> None:
        try:
            found = PeerCredential.read(self._received.decode())
            if found.name != self._peers.credential.name:
                raise ValueError(f"it is for {found.name}")
            self._peers.take(found)
        except (ValueError, NoCredential) as error:
            log.warning("a new certificate is not used, and the one before it stays: %s", error)
            self._transport.abort()
            return
        self._transport.write(TAKEN)
        self._transport.close()


async def hand_over(address: GuardedAddress, credential: PeerCredential, within_s: float = HANDED_WITHIN_S) -> None:
    """Give the instance at this address its new credential. Raises OSError, of which TimeoutError is one."""
    assert address.peers is not None, "the address of an instance that speaks TLS"
    giver = CredentialGiver(credential)
    async with asyncio.timeout(within_s):
        transport, _ = await asyncio.get_running_loop().create_connection(
            lambda: giver, address.host, address.port, ssl=address.peers.handing, server_hostname=address.name
        )
        with ExitStack() as closing:
            closing.callback(transport.abort)
            await giver.taken
