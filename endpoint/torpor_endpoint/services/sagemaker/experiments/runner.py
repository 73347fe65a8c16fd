"""Looks at the inference experiments whenever something is due, for as long as the endpoint lives."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from math import inf

from torpor_account.outer_edge import outer_edge
from torpor_endpoint.services.jobs.work import finished
from torpor_endpoint.services.sagemaker.experiments.context import Experimenting
from torpor_endpoint.services.sagemaker.experiments.lifecycle import InferenceExperiment

RESTING_S = 60.0
"""How soon to look again at the latest: the clock may be set meanwhile."""

log = logging.getLogger(__name__)


class ExperimentRunner:
    """Brings every experiment forward, by the control plane's clock. `pause` sleeps for so many seconds."""

    def __init__(self, context: Experimenting, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._context = context
        self._clock = context.control.clock
        self._pause = pause
        self._due_s = 0.0  # epoch seconds when something is due next

    async def run(self) -> None:
        """Look when something is due, and at once when an operation wakes the runner, for ever."""
        self._context.wakeup.listen()
        while True:
            next_s = await finished(self.look)
            await self._context.wakeup.wait(self._pause(max(next_s - self._clock(), 0.0)))

    def look(self) -> float:
        """Do all that is due now. Returns when to look again, in epoch seconds."""
        experiments = self._context.experiments.unfinished()
        self._due_s = min(map(self._brought_forward, experiments), default=inf)
        return min(self._clock() + RESTING_S, self._due_s)

    def quiet_s(self) -> float:
        """Seconds in which nothing is due, by the last look."""
        return max(0.0, self._due_s - self._clock())

    def _brought_forward(self, experiment: InferenceExperiment) -> float:
        from torpor_endpoint.services.sagemaker.experiments.steps import bring_forward  # few endpoints need it

        with outer_edge(log, "cannot bring inference experiment %s forward", experiment.name):
            return bring_forward(self._context, experiment)
        return self._clock() + RESTING_S
