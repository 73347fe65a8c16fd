"""What an attempt to answer a request came to, and what follows."""

from torpor_container.frozen_class import frozen

ATTEMPTS = 3
"""How often a request is sent whose failure is the platform's."""

SEE_LOGS = "See the SageMaker Endpoint logs in your account for more information."


@frozen
class Completed:
    """The result is in S3."""

    content_type: str
    result_bytes: int
    head: bytes  # the first bytes of the result, for a notification


@frozen
class ModelFailed:
    """The model refused the request, or failed. It is not sent again. `body` is what the container answered."""

    status: int
    body: bytes
    content_type: str

    @property
    def reason(self) -> str:
        """In AWS's words, as observed."""
        kind = "client" if 400 <= self.status < 500 else "server"
        return f"ClientError: Received {kind} error ({self.status}) from model. {SEE_LOGS}"


@frozen
class Unanswerable:
    """The request can never be answered: its input cannot be used, or there is nowhere to put its result."""

    reason: str


@frozen
class OutOfTime:
    """The model took longer than the request allows."""

    timeout_s: float

    @property
    def reason(self) -> str:
        return f"ClientError: The model did not answer within {self.timeout_s:g} s (InvocationTimeoutSeconds)."


@frozen
class PlatformFailed:
    """The platform broke, such as an instance that ended. It is worth another attempt."""

    reason: str


@frozen
class Postponed:
    """No instance had room any more, or the model is not ready there. It counts as no attempt."""

    reason: str = ""


@frozen
class MachineFailed:
    """The machine failed: no disk, no descriptor, no database, no store. It counts as no attempt, and every request
    waits until it is over."""

    reason: str


Outcome = Completed | ModelFailed | Unanswerable | OutOfTime | PlatformFailed | Postponed | MachineFailed


def is_attempt(outcome: Outcome) -> bool:
    """Whether the request was tried, so that it counts."""
    return not isinstance(outcome, Postponed | MachineFailed)


def is_final(outcome: Outcome, attempts: int) -> bool:
    """Whether the request has ended, after so many attempts."""
    return is_attempt(outcome) and (not isinstance(outcome, PlatformFailed) or attempts >= ATTEMPTS)
