"""NextToken: where the next page begins, written so that nobody is tempted to count with it."""

from torpor_endpoint.aws import tokens
from torpor_endpoint.aws.errors import AwsError


def token(offset: int) -> str:
    return tokens.written(["from", offset])


def offset(given: str | None, invalid: AwsError) -> int:
    """Raises `invalid` for a token that is not ours."""
    if given is None:
        return 0
    match tokens.read(given, invalid):
        case ["from", int(number)] if 0 <= number <= tokens.NUMBER_MAX:
            return number
    raise invalid
