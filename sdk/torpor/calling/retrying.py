"""When a call is made once more, and after how long. It decides; it neither calls nor waits.

InvokeEndpoint may not be idempotent: repeated is only what was never sent, and what the service refused to begin.
"""

from dataclasses import dataclass

STATUSES = (429, 503)
"""AWS: "Wait and try again." """
CODES = ("ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded")
"""Refusals to begin that come with 400."""


@dataclass(frozen=True)
class Retries:
    """At most `attempts` in all; no wait is longer than `wait_max_s`. The waits are as in botocore's standard mode."""

    attempts: int = 3
    wait_max_s: float = 20.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts is {self.attempts}: a call takes at least 1")

    def wait_s(self, attempt: int, retry_after: str, draw: float) -> float | None:
        """Seconds until the next one, after so many; None if there is none. `draw` is between 0 and 1.

        A `Retry-After` in seconds is obeyed; a caller who would wait longer than `wait_max_s` is told at once instead.
        """
        if attempt >= self.attempts:
            return None
        if retry_after.isdecimal():
            told_s = float(retry_after)
            return told_s if told_s <= self.wait_max_s else None
        return min(draw * 2.0 ** (attempt - 1), self.wait_max_s)


def may_repeat(status: int, code: str) -> bool:
    """Whether the service says that it has not begun."""
    return status in STATUSES or code in CODES
