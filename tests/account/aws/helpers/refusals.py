"""The outcome of a call: its answer, or the AWS error that refuses it."""

from collections.abc import Callable
from typing import TypeVar

from torpor_account.aws.errors import AwsError

T = TypeVar("T")


def outcome(call: Callable[[], T]) -> T | AwsError:
    """Returns the answer of the call, or the AWS error that refuses it. Any other error is raised."""
    try:
        return call()
    except AwsError as refused:
        return refused
