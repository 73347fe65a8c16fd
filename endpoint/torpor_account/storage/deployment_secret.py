"""Keeps the secret of a deployment: that of its data folder, from which the secrets of instances elsewhere follow."""

from pathlib import Path
from secrets import token_bytes

from torpor_account.storage.private import write_private

SECRET_BYTES = 32


class UnreadableSecret(Exception):
    """What a deployment keeps of its secrets cannot be read. The message names it, and says what to do."""


def kept_secret(path: Path) -> bytes:
    """The secret in the file, which is made at first: only its owner may read it. Raises UnreadableSecret, and
    OSError if it cannot be written."""
    try:
        secret = path.read_bytes()
    except FileNotFoundError:
        secret = token_bytes(SECRET_BYTES)
        write_private(path, secret)
    except OSError as error:
        raise UnreadableSecret(f"{path} cannot be read ({error.strerror}): it is for this user alone") from error
    if len(secret) != SECRET_BYTES:
        raise UnreadableSecret(f"{path} must have {SECRET_BYTES} bytes: remove it, and another is made")
    return secret
