"""Keeps the secret of a deployment: that of its data folder, from which the secrets of instances elsewhere follow."""

from pathlib import Path
from secrets import token_bytes

from torpor_account.storage.private import write_private

SECRET_BYTES = 32


def kept_secret(path: Path) -> bytes:
    """The secret in the file, which is made at first: only its owner may read it. Raises OSError, ValueError."""
    try:
        secret = path.read_bytes()
    except FileNotFoundError:
        secret = token_bytes(SECRET_BYTES)
        write_private(path, secret)
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"{path} must have {SECRET_BYTES} bytes: remove it, and another is made")
    return secret
