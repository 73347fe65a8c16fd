"""Whether a failed step is tried again, by the retry policies of its definition."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, Literal

from torpor_endpoint.core.pipelines.pipeline_members import GivenRetryPolicy

ATTEMPTS_MAX: Final = 20
"""AWS's most."""
PAUSE_MAX_S: Final = 86_400.0
LIMITS: Final[
    Mapping[Literal["IntervalSeconds", "BackoffRate", "MaxAttempts", "ExpireAfterMin"], tuple[float, float]]
] = {
    "IntervalSeconds": (0, PAUSE_MAX_S),
    "BackoffRate": (0, 1000),
    "MaxAttempts": (1, ATTEMPTS_MAX),
    "ExpireAfterMin": (0, 14_400),
}
"""The least and the most of each member of a policy. AWS limits the last two; the others keep a pause below a day."""


class StepFault(StrEnum):
    """The exception types of AWS's policies that a step can fail by here."""

    SERVICE = "Step.SERVICE_FAULT"
    JOB = "SageMaker.JOB_INTERNAL_ERROR"


def retry_after_s(
    policies: Sequence[GivenRetryPolicy], fault: StepFault | None, tried: int, elapsed_s: float
) -> float | None:
    """After how many seconds the step begins again; None if it has failed for good. `tried` is how often it was tried,
    and `elapsed_s` how long ago it first began."""
    policy = next((one for one in policies if fault is not None and fault.value in one["ExceptionType"]), None)
    if policy is None or tried > policy.get("MaxAttempts", ATTEMPTS_MAX):
        return None
    if elapsed_s > policy.get("ExpireAfterMin", float("inf")) * 60:
        return None
    pause_s = policy.get("IntervalSeconds", 1) * policy.get("BackoffRate", 2.0) ** (tried - 1)
    return float(min(pause_s, PAUSE_MAX_S))
