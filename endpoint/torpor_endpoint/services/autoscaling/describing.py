"""What all Describe operations share: selects the items of a call, and cuts one page."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from torpor_account.aws.calls import Call
from torpor_account.aws.wire import paging
from torpor_endpoint.services.autoscaling import errors
from torpor_endpoint.services.autoscaling.resources import check_namespace

PAGE_MAX = 50
""" "This value can be between 1 and 50. The default value is 50." """


class OfTarget(Protocol):
    @property
    def resource_id(self) -> str: ...

    @property
    def dimension(self) -> str: ...


T = TypeVar("T", bound=OfTarget)


def selected(items: Iterable[T], call: Call) -> list[T]:
    """The items of the resources and the dimension that the call names, or all."""
    check_namespace(call)
    one = call.params.get("ResourceId")
    ids, dimension = call.params.get("ResourceIds", [one] if one else None), call.params.get("ScalableDimension")
    if dimension is not None and ids is None:
        raise errors.INVALID("If you specify a scalable dimension, you must also specify a resource ID.")
    return [item for item in items if (ids is None or item.resource_id in ids) and dimension in (None, item.dimension)]


def page(items: Iterable[T], name: Callable[[T], str], call: Call) -> tuple[list[T], dict[str, Any]]:
    """The items of one page, and the answer's member with the token of the next page."""
    limit = call.params.get("MaxResults", PAGE_MAX)
    if not 1 <= limit <= PAGE_MAX:
        raise errors.INVALID(f"MaxResults must be between 1 and {PAGE_MAX}.")
    rows, token = paging.page(items, name, call.params.get("NextToken"), limit, errors.BAD_TOKEN())
    return rows, {"NextToken": token}
