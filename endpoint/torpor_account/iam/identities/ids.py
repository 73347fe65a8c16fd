"""Makes the ids and secrets of users, keys and policies."""

import secrets
import string
from typing import NamedTuple

ROLE_ID = "AROATORPORTORPORTORP"
"""The id of DEFAULT_ROLE, whose name is known before there are callers."""

ALPHABET = string.ascii_uppercase + "234567"
"""Base 32, as in AWS's ids."""


class KeyPair(NamedTuple):
    """An access key's id and its secret."""

    access_key: str
    secret: str


def new_pair() -> KeyPair:
    """A new access key."""
    return KeyPair(new_access_key(), new_secret())


def new_id(prefix: str) -> str:
    """An id such as `AIDA…`, of 21 characters."""
    return prefix + "".join(secrets.choice(ALPHABET) for _ in range(17))


def new_access_key(prefix: str = "AKIA") -> str:
    """The id of an access key, of 20 characters."""
    return new_id(prefix)[:20]


def new_secret() -> str:
    """A secret key of 40 characters: 240 bits."""
    return secrets.token_urlsafe(30)
