"""Keeps the latest scaling activities of all targets, in memory. Only the scaler adds to them."""

from collections import deque
from threading import Lock

from torpor_endpoint.services.autoscaling.scaling_records import Activity

ACTIVITIES_MAX = 1000


class Activities:
    """Any thread may call its methods. An activity replaces the earlier one with the same id."""

    def __init__(self, most: int = ACTIVITIES_MAX) -> None:
        self._activities: deque[Activity] = deque(maxlen=most)
        self._lock = Lock()

    def add(self, activity: Activity) -> None:
        with self._lock:
            for place, present in enumerate(self._activities):
                if present.activity_id == activity.activity_id:
                    self._activities[place] = activity
                    return
            self._activities.append(activity)

    def all(self) -> tuple[Activity, ...]:
        """All activities, the newest first."""
        with self._lock:
            return tuple(reversed(self._activities))
