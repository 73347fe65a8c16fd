"""Lists of what cannot exist here: each answers an empty one, so that a program that looks before it acts goes on.

A list that asks for the name of a resource is none of them: there is no such resource.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from torpor_account.aws.calls import Call
from torpor_endpoint.core.left_out.empty_lists import EMPTY_LISTS
from torpor_endpoint.core.left_out.substitutes import substitute
from torpor_endpoint.services.sagemaker import errors
from torpor_endpoint.services.sagemaker.context import Control

KEPT: Final = tuple(sorted(set(EMPTY_LISTS.values())))


def _empty(member: str, _: Control, call: Call) -> dict[str, Any]:
    if "NextToken" in call.params:
        raise errors.INVALID("NextToken is not one that this request was given: the list is empty.")
    return {member: []}


OPERATIONS: Final[Mapping[str, Callable[[Control, Call], dict[str, Any]]]] = {
    operation: partial(_empty, member) for operation, member in EMPTY_LISTS.items()
}

DIFFERENCES: Final[Mapping[str, str]] = {
    operation: f"The list is always empty. {substitute(operation)}" for operation in EMPTY_LISTS
}
