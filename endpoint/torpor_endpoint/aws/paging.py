"""Pages of a listing that is sorted by name; what is listed, and what its service calls a token, is the caller's."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from torpor_endpoint.aws import tokens
from torpor_endpoint.aws.errors import AwsError

T = TypeVar("T")


def page(
    items: Iterable[T], name: Callable[[T], str], token: str | None, limit: int, invalid: AwsError
) -> tuple[list[T], str | None]:
    """One page and the token of the next; `invalid` is raised for a token that was never given.

    A token names the last item given, not a position, so what is created or deleted between two pages neither repeats
    nor hides another item.
    """
    rows = sorted(items, key=name)
    if token is not None:
        last = _name(token, invalid)
        rows = [row for row in rows if name(row) > last]
    return rows[:limit], _token(name(rows[limit - 1])) if len(rows) > limit else None


def _token(name: str) -> str:
    return tokens.written(["after", name])


def _name(token: str, invalid: AwsError) -> str:
    match tokens.read(token, invalid):
        case ["after", str(name)]:
            return name
    raise invalid
