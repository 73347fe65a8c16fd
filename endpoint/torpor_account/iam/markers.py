"""Cuts IAM's pages: reads `Marker` and `MaxItems`, and returns `Marker` and `IsTruncated`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from torpor_account.aws.wire import paging
from torpor_account.iam import errors

T = TypeVar("T")

MAX_ITEMS = 100
""" "If you do not include this parameter, the number of items defaults to 100." """


def page(items: Iterable[T], name: Callable[[T], str], params: Mapping[str, Any]) -> tuple[list[T], dict[str, Any]]:
    """The items of one page, and the answer's members about the next page."""
    limit = params.get("MaxItems", MAX_ITEMS)
    rows, token = paging.page(items, name, params.get("Marker"), limit, errors.BAD_MARKER())
    return rows, {"IsTruncated": token is not None, "Marker": token}
