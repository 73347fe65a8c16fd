"""Page tokens: JSON in base64, so that nobody is tempted to write one. What is in them is the caller's business."""

import base64
import json
from typing import Any

from torpor_endpoint.aws.errors import AwsError

TOKEN_MAX = 16_384
"""Characters; the longest that is ever given names a resource of some thousand."""

NUMBER_MAX = (1 << 62) - 1
"""No offset, time or count in a token is larger."""


def written(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode()


def read(token: str, invalid: AwsError) -> Any:
    """What was written. Raises `invalid` for a text that nothing was ever written as."""
    if len(token) > TOKEN_MAX:
        raise invalid
    try:
        return json.loads(base64.urlsafe_b64decode(token.encode()))
    except (ValueError, RecursionError):  # also what base64, UTF-8 and too many digits are refused with
        raise invalid from None
