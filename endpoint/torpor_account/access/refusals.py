"""Refuses a request at the door, in the form of the service that was called."""

from collections.abc import Awaitable, Callable

from torpor_account.access.problems import NotAuthentic, Problem
from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import Scope, Send, opened
from torpor_account.core.access.needs import AccessRefused

Refuse = Callable[[AwsError, Scope, Send], Awaitable[None]]
"""Answers a request with an error."""


def aws_error(refused: NotAuthentic | AccessRefused, scope: Scope) -> AwsError:
    """The error of a caller who is not who it says, or may not do what it asks."""
    from torpor_account.aws.wire.protocols import protocol_of
    from torpor_account.aws.wire.query import Query

    if isinstance(refused, AccessRefused):
        refused = NotAuthentic(Problem.DENIED, refused.message)
    problem = refused.problem
    code, status = problem.query if isinstance(protocol_of(opened(scope)), Query) else problem.json
    return AwsError(code, status, refused.explained)


async def refuse_in_protocol(error: AwsError, scope: Scope, send: Send) -> None:
    """The form of any service of AWS whose errors follow its protocol."""
    from torpor_account.aws.refusing import refused

    await refused(opened(scope), error, send)
