"""Cuts listings into pages, by name or by position, for any kind of item."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire import tokens

T = TypeVar("T")


def page(
    items: Iterable[T], name: Callable[[T], str], token: str | None, limit: int, invalid: AwsError
) -> tuple[list[T], str | None]:
    """One page in order of name, and the token of the next page. Raises `invalid` for a token that Torpor never gave.

    A token holds the name of the last item on the page, not a position: an item that is created or deleted between
    two pages neither repeats nor hides another one.
    """
    rows = sorted(items, key=name)
    if token is not None:
        last = _name(token, invalid)
        rows = [row for row in rows if name(row) > last]
    return rows[:limit], _token(name(rows[limit - 1])) if len(rows) > limit else None


def cut(items: Sequence[T], token: str | None, limit: int, invalid: AwsError) -> tuple[Sequence[T], str | None]:
    """One page by position, and the token of the next page: for a listing in another order than by name."""
    first = offset(token, invalid)
    last = first + limit
    return items[first:last], written_offset(last) if len(items) > last else None


def written_offset(number: int) -> str:
    return tokens.written(["from", number])


def offset(token: str | None, invalid: AwsError) -> int:
    """The position in a token. Raises `invalid` for a token that Torpor never gave."""
    if token is None:
        return 0
    match tokens.read(token, invalid):
        case ["from", int(number)] if 0 <= number <= tokens.NUMBER_MAX:
            return number
    raise invalid


def _token(name: str) -> str:
    return tokens.written(["after", name])


def _name(token: str, invalid: AwsError) -> str:
    match tokens.read(token, invalid):
        case ["after", str(name)]:
            return name
    raise invalid
