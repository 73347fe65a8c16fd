"""Refuses the operations of SageMaker that Torpor does not carry out, and says what to use."""

from torpor_account.aws.calls import Unanswered, unimplemented
from torpor_account.aws.wire.asgi import AwsRequest, Response
from torpor_endpoint.core.left_out.substitutes import substitute


def refusal(service: str, operation: str) -> str:
    """The message of the refusal."""
    return f"{unimplemented(service, operation)} {substitute(operation)}".rstrip()


async def refused(service: str, operation: str, request: AwsRequest) -> Response:
    """An `Otherwise` that answers nothing. Raises Unanswered."""
    raise Unanswered(refusal(service, operation))
