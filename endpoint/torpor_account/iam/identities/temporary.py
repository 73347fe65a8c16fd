"""Makes temporary credentials: for callers of STS, and for SageMaker's instances."""

import secrets
from hashlib import sha256
from typing import Any

from torpor_account.iam.identities.ids import new_access_key, new_secret
from torpor_account.iam.identity_records import TemporaryKey


def new_key(now_s: float, lasts_s: int, **more: Any) -> tuple[TemporaryKey, str]:
    """The credentials, and their token, which is not stored. `now_s` is in epoch seconds, and `more` are further fields
    of the key."""
    token = secrets.token_urlsafe(60)
    digest = token_digest(token)
    return TemporaryKey(new_access_key("ASIA"), new_secret(), digest, int(now_s) + lasts_s, now_s, **more), token


def token_digest(token: str) -> str:
    """What is kept of a token."""
    return sha256(token.encode("utf-8", "replace")).hexdigest()
