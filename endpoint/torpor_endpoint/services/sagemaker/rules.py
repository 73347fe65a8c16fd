"""Checks rules that AWS's service model cannot express. Each rule is a row: what breaks it, and the message.

The messages are Torpor's own unless a comment quotes AWS.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from torpor_endpoint.services.sagemaker import errors

T = TypeVar("T")
Wire = Mapping[str, Any]
Rules = tuple[tuple[Callable[[T], bool], str], ...]


def check(rules: Rules[T], subject: T, **names: object) -> None:
    """Raises ValidationException with the message of the first broken rule. `names` fill the placeholders in it."""
    if text := broken(rules, subject):
        raise errors.INVALID(text.format(**names))


def broken(rules: Rules[T], subject: T) -> str | None:
    """The message of the first broken rule; None if none is broken."""
    return next((text for breaks, text in rules if breaks(subject)), None)
