"""What a check can say of one rule: kept, broken for a reason, or skipped for a reason."""

import json
from enum import StrEnum
from typing import Any, Never

from torpor.conformance.container_client import ContainerAnswer


class RuleOutcome(StrEnum):
    """The outcome of one rule."""

    KEPT = "kept"
    BROKEN = "broken"
    SKIPPED = "skipped"
    NOT_APPLICABLE = "not applicable"


class RuleBroken(Exception):
    """The container breaks the rule. `seen` is what it answered, for a person to read; empty if there is none."""

    def __init__(self, reason: str, seen: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.seen = seen


class RuleSkipped(Exception):
    """The rule cannot be judged. The message says what is missing."""


def expect(true: bool, otherwise: str, answer: ContainerAnswer | None = None) -> None:
    """Raises RuleBroken with this reason, and with the answer as what was seen, if the condition is false."""
    if not true:
        raise RuleBroken(otherwise, answer.shown if answer is not None else "")


def expect_status(answer: ContainerAnswer, *statuses: int) -> None:
    """Raises RuleBroken if the answer has none of these statuses."""
    wanted = " or ".join(map(str, statuses))
    expect(answer.status in statuses, f"{answer.request} answered {answer.status}, not {wanted}", answer)


def expect_success(answer: ContainerAnswer, when: str = "") -> None:
    """Raises RuleBroken if the answer is not 2xx."""
    expect(answer.is_success, f"{answer.request}{when} answered {answer.status}, not 2xx", answer)


def json_of(answer: ContainerAnswer) -> Any:
    """The answer's body as JSON. Raises RuleBroken if it is none."""
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        raise RuleBroken(f"the body of {answer.request} is not JSON", answer.shown) from None


def skip(reason: str) -> Never:
    """Raises RuleSkipped."""
    raise RuleSkipped(reason)
