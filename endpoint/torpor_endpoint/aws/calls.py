"""One call of an AWS operation as those who answer it see it, and what they raise when they do not."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from torpor_endpoint.aws.wire.asgi import AwsRequest, Response

C = TypeVar("C")
Answer = Mapping[str, Any]

Otherwise = Callable[[str, str, AwsRequest], Coroutine[Any, Any, Response]]
"""Who answers the operations that a service's own table lacks: service, operation and whole request in, the answer as
it goes over the wire out. Raises `Unanswered`."""


class NotOurs(Exception):
    """An operation, having seen its parameters, leaves the call to whoever answers what is not in the table."""


class Unanswered(Exception):
    """Nobody answers the operation; the text tells the caller why."""


@dataclass(frozen=True)
class Call:
    """One validated call. `params` has the members as on the wire, timestamps as epoch seconds."""

    operation: str
    params: dict[str, Any]
    region: str
    account: str
    request_id: str


Operation = Callable[[C, Call], Answer | Awaitable[Answer]]


def bound(operations: Mapping[str, Operation[C]], context: C) -> dict[str, Operation[Any]]:
    """The operations with their own context in hand, for a service that is built around another context."""
    return {name: partial(_called, operation, context) for name, operation in operations.items()}


def _called(operation: Operation[C], context: C, _: object, call: Call) -> Any:
    """An asynchronous operation answers its coroutine, which the service then awaits on the event loop."""
    return operation(context, call)


Guard = Callable[[C, Call], None]
"""Looks at a call that is left to others, and raises an AwsError if it is about what is ours."""


def unimplemented(service: str, operation: str) -> Unanswered:
    return Unanswered(f"Torpor does not implement the operation {operation} of {service}.")
