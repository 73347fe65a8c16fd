"""The schedule of an experiment: when it starts and ends, by default and at most. Times are epoch seconds."""

from collections.abc import Mapping
from typing import Any

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
DURATION_MIN_S = HOUR_S
ON_THE_WAY_S = 60.0
"""How much shorter a duration may be: a caller who asks for an hour from now knows only its own now."""
DURATION_MAX_S = 30 * DAY_S
"""AWS: "The default duration is 7 days and the maximum is 30 days." """
DURATION_S = 7 * DAY_S


def planned(schedule: Mapping[str, Any], now_s: float) -> tuple[float, float]:
    """Start and end of an InferenceExperimentSchedule. An experiment starts at once unless it says when."""
    start_s = float(schedule.get("StartTime", now_s))
    return start_s, float(schedule.get("EndTime", max(start_s, now_s) + DURATION_S))


def replanned(schedule: Mapping[str, Any], start_s: float, end_s: float) -> tuple[float, float]:
    """Start and end after an update: the members that it lacks stay."""
    return float(schedule.get("StartTime", start_s)), float(schedule.get("EndTime", end_s))


def started_early(now_s: float, end_s: float) -> float:
    """The end of an experiment that starts now.

    AWS: "If the new duration of the test exceeds 30 days, SageMaker automatically sets the end of the test to 30 days
    after the new start time."
    """
    return min(end_s, now_s + DURATION_MAX_S)


def fault(start_s: float, end_s: float, now_s: float) -> str | None:
    """Why an experiment cannot run from start to end. One that should have started already starts now."""
    if end_s <= now_s:
        return "Schedule.EndTime must be in the future."
    return duration_fault(max(start_s, now_s), end_s)


def duration_fault(start_s: float, end_s: float) -> str | None:
    duration_s = end_s - start_s
    if duration_s < DURATION_MIN_S - ON_THE_WAY_S:
        return "Schedule.EndTime must be at least 1 hour after the start."
    if duration_s > DURATION_MAX_S:
        return "Schedule.EndTime must be at most 30 days after the start."
    return None
