"""Writes and reads page tokens: JSON in base64, so that clients do not make their own."""

import base64
import json
from typing import Any

from torpor_account.aws.errors import AwsError

TOKEN_MAX = 16_384
"""Characters. The longest token that Torpor gives has the name of a resource, which is a few thousand long."""

NUMBER_MAX = (1 << 62) - 1
"""The largest offset, time or count in a token."""


def written(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode()


def read(token: str, invalid: AwsError) -> Any:
    """The value in the token. Raises `invalid` for a text that is no token."""
    if len(token) > TOKEN_MAX:
        raise invalid
    try:
        return json.loads(base64.urlsafe_b64decode(token.encode()))
    except (ValueError, RecursionError):  # ValueError also covers base64, UTF-8 and numbers of too many digits
        raise invalid from None
