"""Signs as minisign does, with a key whose name is the bytes 1 to 8."""

import base64
import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

NAME = bytes(range(1, 9))


def public_line(secret: Ed25519PrivateKey) -> str:
    return base64.b64encode(b"Ed" + NAME + secret.public_key().public_bytes_raw()).decode()


def signed(secret: Ed25519PrivateKey, content: bytes, comment: str = "timestamp:1\tfile:SHA256SUMS") -> str:
    """The text of the signature's file."""
    own = secret.sign(hashlib.blake2b(content).digest())
    whole = secret.sign(own + comment.encode())
    first = base64.b64encode(b"ED" + NAME + own).decode()
    lines = ("untrusted comment: a test", first, f"trusted comment: {comment}", base64.b64encode(whole).decode())
    return "\n".join(lines) + "\n"
