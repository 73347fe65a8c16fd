"""Checks that a list of digests is signed by a key, in the form of minisign.

minisign (https://jedisct1.github.io/minisign/) signs by Ed25519. Its public key is one line of base64: the letters Ed,
eight bytes that name the key, and its 32 bytes. A signature is a file of four lines:

    untrusted comment: <text>
    base64 of Ed or ED, the key's eight bytes, and the signature of the file, 64 bytes
    trusted comment: <text>
    base64 of the signature of the signature above and of the text, 64 bytes

ED signs the file's BLAKE2b digest of 64 bytes, Ed the file itself, as versions before 0.10 did.
"""

import binascii
import hashlib
from typing import NamedTuple

from torpor_container.artifacts.digests import UnsignedList

PLAIN, HASHED = b"Ed", b"ED"
KEY_BYTES, SIGNED_BYTES, SIGNATURE_BYTES = 42, 74, 64
TRUSTED = "trusted comment: "
LINES = 4


class SigningKey(NamedTuple):
    name: bytes  # eight bytes, the lowest first
    public: bytes

    @property
    def shown(self) -> str:
        """The key's name as minisign prints it."""
        return self.name[::-1].hex().upper()


def signing_key(text: str) -> SigningKey:
    """The public key of this line of base64. Raises ValueError."""
    key = _decoded(text, KEY_BYTES)
    if key is None or key[:2] != PLAIN:
        raise ValueError("must be a public key of minisign: the line of minisign.pub that begins with RW")
    return SigningKey(key[2:10], key[10:])


def check_signed(key: SigningKey, content: bytes, signature: str) -> None:
    """Raises UnsignedList unless the signature is one of the content by the key; ImportError without `cryptography`."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    lines = signature.splitlines()
    signed = _decoded(lines[1], SIGNED_BYTES) if len(lines) >= LINES else None
    whole = _decoded(lines[3], SIGNATURE_BYTES) if len(lines) >= LINES else None
    if signed is None or whole is None or signed[:2] not in (PLAIN, HASHED) or not lines[2].startswith(TRUSTED):
        raise UnsignedList(f"its signature is none of minisign, by the key {key.shown}")
    if signed[2:10] != key.name:
        raise UnsignedList(f"it is signed by the key {signed[2:10][::-1].hex().upper()}, and not by {key.shown}")
    public, own = Ed25519PublicKey.from_public_bytes(key.public), signed[10:]
    comment = lines[2].removeprefix(TRUSTED).encode("utf-8", "surrogateescape")
    try:
        public.verify(own, content if signed[:2] == PLAIN else hashlib.blake2b(content).digest())
        public.verify(whole, own + comment)
    except InvalidSignature:
        raise UnsignedList(f"it is not what the key {key.shown} has signed") from None


def _decoded(text: str, size: int) -> bytes | None:
    try:
        found = binascii.a2b_base64(text.strip(), strict_mode=True)
    except (ValueError, binascii.Error):
        return None
    return found if len(found) == size else None
