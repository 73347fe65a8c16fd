"""Decides whether a call is repeated, and after how long. It neither calls nor waits.

InvokeEndpoint may not be idempotent. So a call is repeated only if it was never sent, or the service refused to begin.
"""

from dataclasses import dataclass

STATUSES = (429, 503)
"""AWS: "Wait and try again." """
CODES = ("ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded")
"""Error codes of refusals to begin, which come with status 400."""


@dataclass(frozen=True)
class Retries:
    """At most `attempts` attempts, and no wait longer than `wait_max_s`. The waits are those of botocore's standard
    mode."""

    attempts: int = 3
    wait_max_s: float = 20.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts is {self.attempts}: a call takes at least 1")

    def wait_s(self, attempt: int, retry_after: str, draw: float) -> float | None:
        """Seconds until the next attempt, after this many; None if there is none. `draw` is a random number from 0 to
        1.

        A `Retry-After` in seconds is obeyed; if it is longer than `wait_max_s`, there is no further attempt.
        """
        if attempt >= self.attempts:
            return None
        if retry_after.isdecimal():
            after_s = float(retry_after)
            return after_s if after_s <= self.wait_max_s else None
        return min(draw * 2.0 ** (attempt - 1), self.wait_max_s)


def may_repeat(status: int, code: str) -> bool:
    """Whether an error means that the service has not begun the call."""
    return status in STATUSES or code in CODES
