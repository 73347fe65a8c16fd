"""What all List operations share: filters and sorts records, and cuts one page."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from torpor_account.aws.wire import tokens
from torpor_endpoint.services.sagemaker import errors

R = TypeVar("R")


class Named(Protocol):
    """What a page holds for a record that is read later."""

    @property
    def name(self) -> str: ...


DEFAULT_MAX_RESULTS = 10

# "greater than or equal to the specified time" for CreationTimeAfter, "after" for LastModifiedTimeAfter.
FILTERS: dict[str, Callable[[Any, Any], bool]] = {
    "NameContains": lambda record, text: text in record.name,
    "CreationTimeBefore": lambda record, time_s: _shown(record.created_s) < time_s,
    "CreationTimeAfter": lambda record, time_s: _shown(record.created_s) >= time_s,
    "LastModifiedTimeBefore": lambda record, time_s: _shown(record.modified_s) < time_s,
    "LastModifiedTimeAfter": lambda record, time_s: _shown(record.modified_s) > time_s,
    "StatusEquals": lambda record, status: record.status == status,
}

# Every order ends with the name: so no two records are equal, and a page can end between any two.
ORDERS: dict[str, Callable[[Any], tuple[str, str]]] = {
    "Name": lambda record: (record.name.lower(), record.name),
    "CreationTime": lambda record: (f"{record.created_s:020.6f}", record.name),
    "Status": lambda record: (record.status, record.name),
    "SourceArn": lambda record: (record.source, record.name),
    "DestinationArn": lambda record: (record.destination, record.name),
    "SourceType": lambda record: (record.source_type, record.name),
    "DestinationType": lambda record: (record.destination_type, record.name),
}


def _shown(at_s: float) -> float:
    """The time that callers see, in whole milliseconds. They filter by the times that they have seen."""
    return round(at_s, 3)


def page(records: Iterable[R], params: Mapping[str, Any]) -> tuple[list[R], str | None]:
    """The records of one page, and the token of the next page.

    A token holds the last record of the page, not a position: a record that is created or deleted between two pages
    neither repeats nor hides another one.
    """
    sort_by, sort_order = params.get("SortBy", "CreationTime"), params.get("SortOrder", "Descending")
    order, descending = ORDERS[sort_by], sort_order == "Descending"
    rows = sorted(_selected(records, params), key=order, reverse=descending)
    if token := params.get("NextToken"):
        last = _position(token, sort_by, sort_order)
        rows = [row for row in rows if (order(row) < last if descending else order(row) > last)]
    limit = params.get("MaxResults", DEFAULT_MAX_RESULTS)
    more = len(rows) > limit
    return rows[:limit], tokens.written((sort_by, sort_order, *order(rows[limit - 1]))) if more else None


def found(cards: Iterable[Named], find: Callable[[str], R | None]) -> list[R]:
    """The records of a page's cards, without those that were deleted meanwhile."""
    records = (find(card.name) for card in cards)
    return [record for record in records if record is not None]


def _selected(records: Iterable[R], params: Mapping[str, Any]) -> Iterable[R]:
    tests = [(test, params[name]) for name, test in FILTERS.items() if name in params]
    return (record for record in records if all(test(record, value) for test, value in tests))


def _position(token: str, sort_by: str, sort_order: str) -> tuple[str, str]:
    refusal = errors.INVALID("NextToken is not one that this request, with this SortBy and SortOrder, was given.")
    match tokens.read(token, refusal):
        case [by, order, str(value), str(name)] if (by, order) == (sort_by, sort_order):
            return value, name
    raise refusal
