"""Whether a failed step is tried again, by the retry policies of its definition."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

ATTEMPTS_MAX: Final = 20
"""AWS's most."""


class StepFault(StrEnum):
    """The exception types of AWS's policies that a step can fail by here."""

    SERVICE = "Step.SERVICE_FAULT"
    JOB = "SageMaker.JOB_INTERNAL_ERROR"


def retry_after_s(
    policies: Sequence[Mapping[str, Any]], fault: StepFault | None, tried: int, elapsed_s: float
) -> float | None:
    """After how many seconds the step begins again; None if it has failed for good. `tried` is how often it was tried,
    and `elapsed_s` how long ago it first began."""
    policy = next((one for one in policies if fault is not None and fault.value in one.get("ExceptionType", ())), None)
    if policy is None or tried > min(policy.get("MaxAttempts", ATTEMPTS_MAX), ATTEMPTS_MAX):
        return None
    if elapsed_s > policy.get("ExpireAfterMin", float("inf")) * 60:
        return None
    return float(policy.get("IntervalSeconds", 1) * policy.get("BackoffRate", 2.0) ** (tried - 1))
