"""The sleep of a component without copies of its own: a request starts one, and the keep-alive ends it.

This module decides nothing. `torpor_endpoint.core.scaling` says when the copy leaves, as in the endpoint, on whole
seconds. With a fixed keep-alive, the seconds in which it cannot leave are left out.
"""

from collections.abc import Callable
from math import ceil, floor
from typing import Final, Protocol

from torpor.simulator.components.component_setup import ComponentSetup
from torpor.simulator.engine.call_records import VariantCalls
from torpor.simulator.engine.sizing_rounds import PERIOD_S, SizingRounds
from torpor.simulator.engine.virtual_time import Kernel
from torpor_container.core.keepalive import keep_alive
from torpor_endpoint.core.scaling import Habits, InstanceRange

FIXED: Final = "fixed"


class SleepyComponent(Protocol):
    """What the rule looks at, and changes."""

    setup: ComponentSetup
    calls: VariantCalls

    @property
    def size(self) -> int: ...

    @property
    def stopping(self) -> bool: ...

    def scale(self, size: int) -> None: ...


class CopyNaps:
    """`trace_over` says whether no more requests come. Once it has `ended` it scales no more: a policy has set a number
    of copies."""

    def __init__(self, kernel: Kernel, component: SleepyComponent, trace_over: Callable[[], bool]) -> None:
        self.ended = False
        self._kernel = kernel
        self._component = component
        self._trace_over = trace_over
        self._allowed = InstanceRange(0, 1, component.setup.concurrency)
        learned = keep_alive(component.setup.keep_alive, component.setup.idle_s)
        self._habits = Habits(learned)
        self._rounds = None
        self._planned = False
        if component.setup.keep_alive == FIXED:
            self._plan(ceil(kernel.now_s))
        else:
            self._rounds = SizingRounds(kernel, self, self._allowed, learned, component.calls.traffic)
            kernel.at(ceil(kernel.now_s), self._rounds.round, None)

    def came(self, now_s: float) -> None:
        """A request comes: the rounds that were left out go on."""
        if self._rounds is None:
            self._plan(floor(now_s) + PERIOD_S)
        elif self._rounds.skipped_since_s < float("inf"):
            self._rounds.resume(floor(now_s) + PERIOD_S)

    def _plan(self, at_s: float) -> None:
        if not self._planned:
            self._planned = True
            self._kernel.at(at_s, self._round, None)

    def _round(self, _: None) -> None:
        """As a second of the endpoint's sizer."""
        self._planned = False
        if self.ended:
            return
        now_s, component = self._kernel.now_s, self._component
        traffic = component.calls.traffic
        if wanted := self._habits.wanted(self._allowed, component.size, traffic, now_s):
            component.scale(wanted.size)
        if component.size or traffic.demand:
            left_s = component.setup.idle_s - traffic.idle_s(now_s)
            self._plan(max(now_s + PERIOD_S, float(floor(now_s + left_s))))

    # -- what SizingRounds looks at ------------------------------------------------------------------------------------
    @property
    def size(self) -> int:
        return self._component.size

    @property
    def stopping(self) -> bool:
        return self._component.stopping

    @property
    def quiet(self) -> bool:
        component = self._component
        return self.ended or (self._trace_over() and not component.calls.traffic.demand and not component.size)

    def scale(self, size: int) -> None:
        if not self.ended:
            self._component.scale(size)
