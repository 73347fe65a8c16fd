"""One change to a target, carried out as one activity: tried, tried again while the endpoint is busy, and told of."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from torpor_endpoint.core.autoscaling.deciding import Change, Cooldown
from torpor_endpoint.services.autoscaling.acting import wording
from torpor_endpoint.services.autoscaling.acting.activities import Activities
from torpor_endpoint.services.autoscaling.records import Activity, ScalableTarget
from torpor_endpoint.services.autoscaling.resources import VARIANT

log = logging.getLogger(__name__)

Apply = Callable[[str, str, int, str], Awaitable[None]]
"""Endpoint, variant, capacity and dimension in; returns when it is so. Raises Busy or NotApplied."""


class Busy(Exception):
    """The endpoint is being changed already: to be tried again."""


class NotApplied(Exception):
    """It was refused, or came to nothing. The text is the reason that the activity gives."""


@dataclass(frozen=True)
class Means:
    """What changes are carried out with; `clock` gives epoch seconds."""

    apply: Apply
    activities: Activities
    clock: Callable[[], float]


class Undertaking:
    """Begun at once. When nothing more is to come of it, it is `over`, and `cooldown` is what it leaves."""

    def __init__(self, target: ScalableTarget, change: Change, means: Means) -> None:
        self.change = change
        self.over = False
        self.failed = False
        self.cooldown: Cooldown | None = None
        self._target = target
        self._means = means
        self._activity = wording.begun(target, change, means.clock())
        self._trying: asyncio.Task[None] | None = None
        self.tried()

    @property
    def under_way(self) -> bool:
        """Whether it is being done just now, as opposed to waiting for its next try."""
        return self._trying is not None and not self._trying.done()

    def tried(self) -> None:
        self._tell(wording.in_progress(self._activity))
        self._trying = asyncio.create_task(self._try(), name=self._activity.description)

    def overridden(self) -> None:
        self.over = True
        self._tell(wording.overridden(self._activity, self._means.clock()))

    async def close(self) -> None:
        """Leave it as it is."""
        if self._trying is not None and not self._trying.done():
            self._trying.cancel()
            await asyncio.gather(self._trying, return_exceptions=True)

    async def _try(self) -> None:
        named = VARIANT.fullmatch(self._target.resource_id)
        assert named is not None
        try:
            await self._means.apply(named["endpoint"], named["variant"], self.change.to, self._target.dimension)
        except Busy as why:
            self._tell(wording.pending(self._activity, str(why)))
        except NotApplied as why:
            self._failed(str(why))
        except Exception as fault:  # the outer edge of a task of its own: one target's fault is no other's
            log.exception("%s could not be scaled", self._target.resource_id)
            self._failed(f"{type(fault).__name__}: {fault}")
        else:
            self._succeeded()

    def _succeeded(self) -> None:
        now_s = self._means.clock()
        self.over, self.cooldown = True, self.change.cooldown(now_s)
        self._tell(wording.successful(self._activity, now_s))

    def _failed(self, reason: str) -> None:
        self.over = self.failed = True
        self._tell(wording.failed(self._activity, reason, self._means.clock()))

    def _tell(self, activity: Activity) -> None:
        self._activity = activity
        self._means.activities.add(activity)
