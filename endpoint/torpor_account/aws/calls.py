"""The call of an AWS operation as an operation's function gets it, and the exceptions with which it declines."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from torpor_account.aws.wire.asgi import AwsRequest, Response
from torpor_container.frozen_class import frozen

if TYPE_CHECKING:
    from torpor_account.core.access.needs import CallerAccess

C = TypeVar("C")
Answer = Mapping[str, Any]

Otherwise = Callable[[str, str, AwsRequest], Coroutine[Any, Any, Response]]
"""Answers the operations that a service's table lacks: takes service, operation and the whole request, and returns the
answer in its wire form. Raises `Unanswered`."""


class NotOurs(Exception):
    """Raised by an operation that, after reading its parameters, leaves the call to `Otherwise`."""


class Unanswered(Exception):
    """The operation is not available. The caller gets the text as the reason."""


@frozen
class Call:
    """One validated call. `params` has the members by their names on the wire, and timestamps as epoch seconds."""

    operation: str
    params: dict[str, Any]
    region: str
    account: str
    request_id: str
    access: "CallerAccess | None" = None
    """Who calls; None where signatures are not verified, so that nobody knows."""


Operation = Callable[[C, Call], Answer | Awaitable[Answer]]


def bound(operations: Mapping[str, Operation[C]], context: C) -> dict[str, Operation[Any]]:
    """The operations with their own context in hand, for a service that is built around another context."""
    return {name: partial(_called, operation, context) for name, operation in operations.items()}


def _called(operation: Operation[C], context: C, _: object, call: Call) -> Any:
    """An asynchronous operation answers its coroutine, which the service then awaits on the event loop."""
    return operation(context, call)


Guard = Callable[[C, Call], None]
"""Checks a call that is left to `Otherwise`. Raises an AwsError if the call concerns something that Torpor owns."""


def unimplemented(service: str, operation: str) -> Unanswered:
    return Unanswered(f"Torpor does not implement the operation {operation} of {service}.")
