"""The greeting of a connection over a network: each end proves that it knows a secret, before a byte of HTTP or frames.

An instance on another machine listens on a port that strangers may reach. Each incarnation has a secret of its own, so
a router that finds another instance at an old address learns it before it sends anything.

    router:    MAGIC, its nonce
    instance:  its nonce, and a proof over both nonces
    router:    a proof over both nonces; what the connection is for follows at once

A proof is HMAC-SHA256 by the secret over the name of the end that proves and both nonces, so none can be replayed or
reflected. The greeting keeps strangers out. It does not encrypt: `peers.peer_tls` does, around it. Without TLS, an
attacker who can change bytes between the machines can change requests.
"""

import asyncio
import hmac
from collections.abc import Callable
from hashlib import sha256
from secrets import token_bytes
from typing import Generic, TypeVar, cast

MAGIC = b"torpor1\n"
NONCE_BYTES = PROOF_BYTES = 32
HELLO_BYTES = len(MAGIC) + NONCE_BYTES
REPLY_BYTES = NONCE_BYTES + PROOF_BYTES
GREETED_WITHIN_S = 5.0

P = TypeVar("P", bound=asyncio.Protocol)


class Unproven(ConnectionError):
    """The other end did not prove that it knows the secret."""


def secret_of(deployment: bytes, incarnation: str) -> bytes:
    """The secret of one incarnation, from that of the deployment. 32 bytes."""
    return hmac.digest(deployment, b"incarnation\0" + incarnation.encode(), sha256)


# -- the messages, as values -----------------------------------------------------------------------------------------
def proof(secret: bytes, end: bytes, router_nonce: bytes, instance_nonce: bytes) -> bytes:
    """That this end, `router` or `instance`, knows the secret."""
    return hmac.digest(secret, b"\0".join((end, router_nonce, instance_nonce)), sha256)


def hello(nonce: bytes) -> bytes:
    """The router's first message."""
    return MAGIC + nonce


def reply(secret: bytes, hello_message: bytes, nonce: bytes) -> bytes:
    """The instance's answer to a router's hello. Raises Unproven for bytes that are none."""
    if not hello_message.startswith(MAGIC) or len(hello_message) != HELLO_BYTES:
        raise Unproven("it did not greet")
    return nonce + proof(secret, b"instance", hello_message[len(MAGIC) :], nonce)


def answer(secret: bytes, nonce: bytes, reply_message: bytes) -> bytes:
    """The router's last message, once the instance has proven itself. Raises Unproven."""
    instance_nonce, proven = reply_message[:NONCE_BYTES], reply_message[NONCE_BYTES:]
    if not hmac.compare_digest(proven, proof(secret, b"instance", nonce, instance_nonce)):
        raise Unproven("another instance, or a stranger, answers at this address")
    return proof(secret, b"router", nonce, instance_nonce)


def is_proven(secret: bytes, hello_message: bytes, nonce: bytes, answer_message: bytes) -> bool:
    """Whether the router's last message proves that it knows the secret."""
    return hmac.compare_digest(answer_message, proof(secret, b"router", hello_message[len(MAGIC) :], nonce))


# -- the two ends ------------------------------------------------------------------------------------------------------
class RoutersEnd(asyncio.Protocol, Generic[P]):
    """A router's end. `made` makes the protocol that takes over the connection; `greeted` then has it, or Unproven."""

    def __init__(self, secret: bytes, made: Callable[[], P]) -> None:
        self.greeted: asyncio.Future[P] = asyncio.get_running_loop().create_future()
        self._secret = secret
        self._made = made
        self._nonce = token_bytes(NONCE_BYTES)
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(hello(self._nonce))

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) < REPLY_BYTES or self.greeted.done():
            return
        try:
            last = answer(self._secret, self._nonce, self._received)
        except Unproven as refused:
            self.greeted.set_exception(refused)
            self._transport.abort()
            return
        self._transport.write(last)
        protocol = self._made()
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        self.greeted.set_result(protocol)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.greeted.done():
            self.greeted.set_exception(Unproven(f"it hung up on the greeting{f': {exc}' if exc else ''}"))


class InstancesEnd(asyncio.Protocol):
    """An instance's end. `made` makes the protocol that takes over the connection of a router that proves itself, and
    `plain` that of a connection that does not greet: without it, such a connection is closed."""

    def __init__(
        self,
        secret: bytes,
        made: Callable[[], asyncio.Protocol],
        within_s: float = GREETED_WITHIN_S,
        plain: Callable[[], asyncio.Protocol] | None = None,
    ) -> None:
        self._secret = secret
        self._made = made
        self._plain = plain
        self._within_s = within_s
        self._nonce = token_bytes(NONCE_BYTES)
        self._received = b""
        self._replied = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._alarm = asyncio.get_running_loop().call_later(self._within_s, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._plain is not None and not self._replied and not MAGIC.startswith(self._received[: len(MAGIC)]):
            self._pass_on(self._plain, self._received)
            return
        if not self._replied and len(self._received) >= HELLO_BYTES:
            self._reply()
        whole = HELLO_BYTES + PROOF_BYTES
        if self._replied and len(self._received) >= whole:
            self._hand_over(self._received[HELLO_BYTES:whole], self._received[whole:])

    def _reply(self) -> None:
        try:
            self._transport.write(reply(self._secret, self._received[:HELLO_BYTES], self._nonce))
        except Unproven:
            self._transport.abort()
            return
        self._replied = True

    def _hand_over(self, last: bytes, early: bytes) -> None:
        if not is_proven(self._secret, self._received[:HELLO_BYTES], self._nonce, last):
            self._transport.abort()
            return
        self._pass_on(self._made, early)

    def _pass_on(self, made: Callable[[], asyncio.Protocol], early: bytes) -> None:
        self._alarm.cancel()
        protocol = made()
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        if early:
            protocol.data_received(early)

    def connection_lost(self, exc: Exception | None) -> None:
        self._alarm.cancel()
