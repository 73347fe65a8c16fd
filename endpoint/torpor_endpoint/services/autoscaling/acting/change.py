"""Makes one change to a target, as one scaling activity: retries while the endpoint is busy, and records progress."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from torpor_account.core.outages.records_fault import RecordsFault
from torpor_account.outer_edge import outer_edge
from torpor_container.frozen_class import frozen
from torpor_endpoint.core.autoscaling.deciding import Change, Cooldown
from torpor_endpoint.services.autoscaling.acting import activity_texts
from torpor_endpoint.services.autoscaling.acting.activities import Activities
from torpor_endpoint.services.autoscaling.scaling_records import Activity, ScalableTarget

log = logging.getLogger(__name__)

Apply = Callable[[str, int, str], Awaitable[None]]
"""Takes resource id, capacity and dimension; returns when the change is done. Raises Busy or NotApplied."""


class Busy(Exception):
    """Another change of the endpoint is running. Try again later."""


class NotApplied(Exception):
    """The change was refused, or it failed. The text is the reason in the activity."""


@frozen
class ChangeContext:
    """What every change needs. `clock` gives epoch seconds."""

    apply: Apply
    activities: Activities
    clock: Callable[[], float]


class CapacityChange:
    """A change that starts when it is made. Once it is `over`, `cooldown` is the cooldown after it."""

    def __init__(self, target: ScalableTarget, change: Change, context: ChangeContext) -> None:
        self.change = change
        self.over = False
        self.failed = False
        self.cooldown: Cooldown | None = None
        self._target = target
        self._context = context
        self._activity = activity_texts.begun(target, change, context.clock())
        self._trying: asyncio.Task[None] | None = None
        self.start_try()

    @property
    def under_way(self) -> bool:
        """Whether a try is running, as opposed to a wait for the next try."""
        return self._trying is not None and not self._trying.done()

    def start_try(self) -> None:
        """Try to make the change, in a task of its own."""
        self._record(activity_texts.in_progress(self._activity))
        self._trying = asyncio.create_task(self._try(), name=self._activity.description)

    def override(self) -> None:
        """Give the change up, since a newer one replaces it."""
        self.over = True
        self._record(activity_texts.overridden(self._activity, self._context.clock()))

    async def close(self) -> None:
        """Stop trying, and leave the change as it is."""
        if self._trying is not None and not self._trying.done():
            self._trying.cancel()
            await asyncio.gather(self._trying, return_exceptions=True)

    async def _try(self) -> None:
        with outer_edge(log, "cannot scale %s", self._target.resource_id) as edge:
            try:
                await self._context.apply(self._target.resource_id, self.change.to, self._target.dimension)
            except (Busy, RecordsFault) as why:  # the next look tries again
                self._record(activity_texts.pending(self._activity, str(why)))
            except NotApplied as why:
                self._failed(str(why))
            else:
                self._succeeded()
        if edge.fault is not None:
            self._failed(f"{type(edge.fault).__name__}: {edge.fault}")

    def _succeeded(self) -> None:
        now_s = self._context.clock()
        self.over, self.cooldown = True, self.change.cooldown(now_s)
        self._record(activity_texts.successful(self._activity, now_s))

    def _failed(self, reason: str) -> None:
        self.over = self.failed = True
        self._record(activity_texts.failed(self._activity, reason, self._context.clock()))

    def _record(self, activity: Activity) -> None:
        self._activity = activity
        self._context.activities.add(activity)
