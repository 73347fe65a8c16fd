"""Runs scheduled actions when their time comes. An action gives a target new bounds, and nothing else."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from math import inf

from torpor_endpoint.services.autoscaling.acting import activity_texts
from torpor_endpoint.services.autoscaling.context import Autoscaling
from torpor_endpoint.services.autoscaling.scaling_records import ScalableTarget, ScheduledAction

log = logging.getLogger(__name__)

NO_ROOM = "Maximum capacity cannot be less than minimum capacity"


class Timetable:
    """The next time of each action. A time that passed while the endpoint was stopped is not made up for."""

    def __init__(self, context: Autoscaling, clock: Callable[[], float]) -> None:
        self._context = context
        self._clock = clock
        self._looked_s = clock()
        self._next: dict[ScheduledAction, float | None] = {}

    async def look(self) -> None:
        """Run the actions whose time has come since the last look."""
        now_s = self._clock()
        actions = await asyncio.to_thread(self._context.schedules.all)
        self._next = {
            action: self._next[action] if action in self._next else _next_or_never(action, self._looked_s)
            for action in actions
        }
        for action, next_s in self._next.items():
            if next_s is not None and next_s <= now_s:
                self._next[action] = _next_or_never(action, now_s)
                await asyncio.to_thread(self._run, action, now_s)
        self._looked_s = now_s

    @property
    def next_s(self) -> float:
        """When the next action falls due, by the actions of the last look; infinity for none."""
        return min((next_s for next_s in self._next.values() if next_s is not None), default=inf)

    def restart(self) -> None:
        """Calculate all next times again, after the clock was set back."""
        self._looked_s = self._clock()
        self._next.clear()

    def _run(self, action: ScheduledAction, now_s: float) -> None:
        target = self._context.targets.get(action.target)
        if target is None or target.suspended.scheduled:
            return
        changed = _with_bounds(target, action)
        if changed.capacity_max < changed.capacity_min:
            self._context.activities.add(activity_texts.rescheduled(changed, action.action_name, now_s, NO_ROOM))
        elif why := self._context.refused(target.resource_id, target.dimension, changed.capacity_min):
            self._context.activities.add(activity_texts.rescheduled(changed, action.action_name, now_s, why))
        elif self._context.targets.replace(changed, still=target.__eq__):
            self._context.activities.add(activity_texts.rescheduled(changed, action.action_name, now_s))
            self._context.bounded(changed)
        else:
            self._run(action, now_s)  # another call has changed the target meanwhile


def next_time(action: ScheduledAction, after_s: float) -> float | None:
    """The action's next time in epoch seconds; None if there is none. Raises ValueError or OverflowError for a time
    outside the calendar."""
    from zoneinfo import ZoneInfo  # few endpoints have a schedule

    from torpor_endpoint.core.autoscaling.occurrences import Recurrence, next_occurrence
    from torpor_endpoint.core.autoscaling.schedules import parse

    span = Recurrence(action.created_s, action.start_s, action.end_s)
    return next_occurrence(parse(action.schedule), ZoneInfo(action.timezone or "UTC"), span, after_s)


def _next_or_never(action: ScheduledAction, after_s: float) -> float | None:
    """The next time; None, with a line in the log, if it cannot be calculated. The other actions go on."""
    try:
        return next_time(action, after_s)
    except (ValueError, OverflowError):
        log.exception("cannot calculate the next time of scheduled action %s: %s", action.action_name, action.schedule)
        return None


def _with_bounds(target: ScalableTarget, action: ScheduledAction) -> ScalableTarget:
    """The target with the action's bounds. A bound that the action does not name stays as it is."""
    return replace(
        target,
        capacity_min=target.capacity_min if action.capacity_min is None else action.capacity_min,
        capacity_max=target.capacity_max if action.capacity_max is None else action.capacity_max,
    )
