"""NextToken: where the next page begins, written so that nobody is tempted to count with it."""

import base64
import binascii

from torpor_endpoint.aws.errors import AwsError


def token(offset: int) -> str:
    return base64.urlsafe_b64encode(f"from {offset}".encode()).decode()


def offset(given: str | None, invalid: AwsError) -> int:
    """Raises `invalid` for a token that is not ours."""
    if given is None:
        return 0
    try:
        word, _, number = base64.urlsafe_b64decode(given.encode()).decode().partition(" ")
    except (binascii.Error, ValueError):
        raise invalid from None
    if word != "from" or not number.isdecimal():
        raise invalid
    return int(number)
