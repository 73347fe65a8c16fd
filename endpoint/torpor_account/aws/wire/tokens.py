"""Writes and reads page tokens: JSON in base64, so that clients do not make their own.

A token that a caller gets names its operation.
"""

import base64
import json
from collections.abc import Mapping
from typing import Any

from torpor_account.aws.errors import AwsError

TOKEN_MAX = 16_384
"""Characters. The longest token that Torpor gives has the name of a resource, which is a few thousand long."""

MEMBERS = ("NextToken", "nextToken", "Marker")
"""The members of calls and of answers that hold a page token."""

NUMBER_MAX = (1 << 62) - 1
"""The largest offset, time or count in a token."""


def written(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode()


NOBODYS = written({})
"""A token that no operation reads."""


def read(token: str, invalid: AwsError) -> Any:
    """The value in the token. Raises `invalid` for a text that is no token."""
    if len(token) > TOKEN_MAX:
        raise invalid
    try:
        return json.loads(base64.urlsafe_b64decode(token.encode()))
    except (ValueError, RecursionError):  # ValueError also covers base64, UTF-8 and numbers of too many digits
        raise invalid from None


def named(answer: Mapping[str, Any], operation: str) -> Mapping[str, Any]:
    """The answer, whose page token is now one of this operation alone."""
    return {**answer, **{member: written({operation: answer[member]}) for member in MEMBERS if answer.get(member)}}


def unnamed(params: dict[str, Any], operation: str) -> dict[str, Any]:
    """The call's members, with the page token as the operation wrote it.

    In the place of a token that is not the operation's own is one that no operation reads.
    """
    return {**params, **{member: _own(params[member], operation) for member in MEMBERS if params.get(member)}}


def _own(token: str, operation: str) -> str:
    try:
        value = read(token, AwsError("InvalidToken"))
    except AwsError:  # the operation has an error of its own for that
        return token
    match value:
        case {**names} if list(names) == [operation] and isinstance(names[operation], str):
            return str(names[operation])
    return NOBODYS
