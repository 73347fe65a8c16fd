"""Scaling activities: the last ones of all targets, in memory. Whoever scales writes them, and nobody else."""

from collections import deque
from threading import Lock

from torpor_endpoint.services.autoscaling.records import Activity

ACTIVITIES_MAX = 1000


class Activities:
    """Any thread may call. One that is added again, by its id, takes the place of what it was."""

    def __init__(self, most: int = ACTIVITIES_MAX) -> None:
        self._kept: deque[Activity] = deque(maxlen=most)
        self._lock = Lock()

    def add(self, activity: Activity) -> None:
        with self._lock:
            for place, kept in enumerate(self._kept):
                if kept.activity_id == activity.activity_id:
                    self._kept[place] = activity
                    return
            self._kept.append(activity)

    def all(self) -> tuple[Activity, ...]:
        """The newest first."""
        with self._lock:
            return tuple(reversed(self._kept))
