"""Rules that AWS's service model cannot express, as tables: what breaks the rule, and what the caller is told.

The texts are Torpor's own unless a comment quotes AWS.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from torpor_endpoint.services.sagemaker import errors

T = TypeVar("T")
Wire = Mapping[str, Any]
Rules = tuple[tuple[Callable[[T], bool], str], ...]


def check(rules: Rules[T], subject: T, **names: object) -> None:
    """Raises ValidationException with the text of the first rule that is broken; `names` fill the text in."""
    for broken, text in rules:
        if broken(subject):
            raise errors.INVALID(text.format(**names))
