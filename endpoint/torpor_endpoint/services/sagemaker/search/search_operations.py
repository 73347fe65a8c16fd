"""Search and GetSearchSuggestions. They read all records of one kind, each time: nothing is indexed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from torpor_account.aws.calls import Call, Operation
from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire import tokens
from torpor_endpoint.core.search.record_property import PropertyType
from torpor_endpoint.core.search.search_condition import (
    CONTAINS,
    BadCondition,
    Condition,
    NestedCondition,
    SearchExpression,
    condition,
)
from torpor_endpoint.core.search.search_order import Position, SearchOrder
from torpor_endpoint.services.sagemaker import errors
from torpor_endpoint.services.sagemaker.listing import DEFAULT_MAX_RESULTS
from torpor_endpoint.services.sagemaker.search.searched_kinds import SearchedKind
from torpor_endpoint.services.sagemaker.search.searched_properties import (
    comparable,
    list_of,
    named_values,
    property_of,
    property_within,
)

Wire = Mapping[str, Any]
PARTS: Final = ("Filters", "NestedFilters", "SubExpressions")
PARTS_MAX = 50
""" "The maximum number of recursive SubExpressions, NestedFilters, and Filters that can be included in a
SearchExpression object is 50." """
SUGGESTIONS = 10


@dataclass(frozen=True)
class Searching:
    """What can be searched, by resource."""

    kinds: Mapping[str, SearchedKind]


def search(searching: Searching, call: Call) -> dict[str, Any]:
    params = call.params
    kind = _kind(searching, params)
    if "VisibilityConditions" in params:
        raise errors.INVALID("VisibilityConditions is not supported by Torpor: give SearchExpression.")
    expression = _expression(kind, params["SearchExpression"]) if "SearchExpression" in params else None
    order = _order(kind, params)
    others = params.get("CrossAccountFilterOption") == "CrossAccount"  # no other account shares any
    records = {} if others else dict(kind.records())
    seen = {arn: comparable(kind, record) for arn, record in records.items()}
    positions = [
        order.position(arn, record) for arn, record in seen.items() if expression is None or expression.holds(record)
    ]
    begin = [kind.resource, order.property.name, order.descending]
    last = _position(params["NextToken"], begin) if "NextToken" in params else None
    try:
        rows, more = order.page(positions, last, params.get("MaxResults", DEFAULT_MAX_RESULTS))
    except TypeError:  # the token's value is not of the property's type
        raise _bad_token() from None
    return {
        "Results": [{kind.member: records[arn]} for _, _, arn in rows],
        "NextToken": tokens.written([begin, *rows[-1]]) if more else None,
        "TotalHits": {"Value": len(positions), "Relation": "EqualTo"},
    }


def get_search_suggestions(searching: Searching, call: Call) -> dict[str, Any]:
    """The names of hyperparameters, tags and metrics that begin so."""
    kind = _kind(searching, call.params)
    hint = call.params.get("SuggestionQuery", {}).get("PropertyNameQuery", {}).get("PropertyNameHint", "")
    names = sorted(named_values(kind, (comparable(kind, record) for _, record in kind.records())))
    fitting = [name for name in names if name.lower().startswith(hint.lower())]
    return {"PropertyNameSuggestions": [{"PropertyName": name} for name in fitting[:SUGGESTIONS]]}


OPERATIONS: Mapping[str, Operation[Searching]] = {
    "Search": search,
    "GetSearchSuggestions": get_search_suggestions,
}


def _kind(searching: Searching, params: Wire) -> SearchedKind:
    kind = searching.kinds.get(params["Resource"])
    if kind is None:
        known = ", ".join(searching.kinds)
        raise errors.INVALID(f"Torpor keeps nothing of Resource {params['Resource']}. It searches {known}.")
    return kind


def _expression(kind: SearchedKind, wire: Wire) -> SearchExpression:
    """Raises ValidationException."""
    try:
        expression = _read(kind, wire)
    except BadCondition as bad:
        raise errors.INVALID(str(bad)) from None
    count, contains = _counted(expression)
    if count > PARTS_MAX:
        raise errors.INVALID(f"SearchExpression has {count} filters and expressions: {PARTS_MAX} are the most.")
    if contains > 1:  # AWS's text
        raise errors.INVALID("'CONTAINS' operator usage limit of 1 exceeded.")
    return expression


def _read(kind: SearchedKind, wire: Wire) -> SearchExpression:
    if not any(wire.get(part) for part in PARTS):
        raise errors.INVALID("SearchExpression must have at least one of Filters, NestedFilters and SubExpressions.")
    parts: list[Condition | NestedCondition | SearchExpression] = [
        *(
            condition(property_of(kind, one["Name"]), one.get("Operator"), one.get("Value"))
            for one in wire.get("Filters", ())
        ),
        *(_nested(kind, one) for one in wire.get("NestedFilters", ())),
        *(_read(kind, one) for one in wire.get("SubExpressions", ())),
    ]
    return SearchExpression(tuple(parts), wire.get("Operator", "And") == "And")


def _nested(kind: SearchedKind, wire: Wire) -> NestedCondition:
    name = wire["NestedPropertyName"]
    steps, item = list_of(kind, name)
    conditions = (
        condition(property_within(item, name, one["Name"]), one.get("Operator"), one.get("Value"))
        for one in wire["Filters"]
    )
    return NestedCondition(steps, tuple(conditions))


def _counted(expression: SearchExpression) -> tuple[int, int]:
    """How many filters and expressions are in it, at any depth, and how many conditions with Contains."""
    count = contains = 0
    for part in expression.parts:
        conditions = part.conditions if isinstance(part, NestedCondition) else ()
        within = _counted(part) if isinstance(part, SearchExpression) else (len(conditions), 0)
        single = (part,) if isinstance(part, Condition) else ()
        count += 1 + within[0]
        contains += within[1] + sum(one.operator == CONTAINS for one in (*conditions, *single))
    return count, contains


def _order(kind: SearchedKind, params: Wire) -> SearchOrder:
    property = property_of(kind, params.get("SortBy", kind.order))
    if property.type is PropertyType.WHOLE:
        raise errors.INVALID(f"SortBy '{property.name}' has properties of its own: name one of them.")
    return SearchOrder(property, params.get("SortOrder", "Descending") == "Descending")


def _position(token: str, begin: list[Any]) -> Position:
    match tokens.read(token, _bad_token()):
        case [begun, bool(missing), value, str(arn)] if begun == begin:
            return missing, value, arn
    raise _bad_token()


def _bad_token() -> AwsError:
    return errors.INVALID("NextToken is not one that this request, with this SortBy and SortOrder, was given.")
