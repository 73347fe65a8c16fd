"""Automatic scaling of one component's copies in virtual time: a look every ten seconds, as in the endpoint.

This module decides nothing. `torpor_endpoint.core.autoscaling` judges the data points and decides on the proposals.
While nobody calls, and the component has its least copies, no look changes anything: those looks are left out, and the
data points begin anew with the next request.
"""

from collections.abc import Callable, Iterator, Sequence
from math import floor
from typing import Final, Protocol

from torpor.simulator.components.component_setup import METRICS, CopyScaling
from torpor.simulator.engine.virtual_time import Kernel
from torpor_endpoint.core.autoscaling import stepping
from torpor_endpoint.core.autoscaling.deciding import Change, Cooldown, Proposal, ScalableCapacity, base, decide
from torpor_endpoint.core.autoscaling.delays import DELAYS, Delay
from torpor_endpoint.core.autoscaling.samples import DataPoint, LoadReading, Samples, VariantLoad
from torpor_endpoint.core.autoscaling.stepping import Breach, StepAdjustment, StepScaling
from torpor_endpoint.core.autoscaling.tracking import Causes, Tracking, proposal

LOOK_S: Final = DELAYS[Delay.LOOK].seconds
LAG_S: Final = DELAYS[Delay.LAG].seconds
BREACH_S: Final = 30.0
"""The period of the alarm on NoCapacityInvocationFailures in AWS's notebook on scaling to zero."""
FROM_ZERO: Final = StepScaling("ChangeInCapacity", (StepAdjustment(1, lower=0.0),), 60.0, "Maximum")
"""The step policy of that notebook, which such an alarm runs."""
NEW_MAX: Final = 8
"""The most data points that become visible between two looks, with those that are not visible yet."""
NO_CAUSES: Final = Causes("", "")


class ScaledComponent(Protocol):
    """What the policies look at, and change."""

    refused: int

    @property
    def load(self) -> VariantLoad: ...

    def rescale(self, desired: int) -> None: ...


class CopyScaler:
    """`trace_over` says whether no more requests come. `strict`: a step policy brings the first copy back."""

    def __init__(
        self,
        kernel: Kernel,
        component: ScaledComponent,
        scaling: CopyScaling,
        trace_over: Callable[[], bool],
        *,
        strict: bool,
    ) -> None:
        self._kernel = kernel
        self._component = component
        self._scaling = scaling
        self._trace_over = trace_over
        self._strict = strict
        self._tracking = scaling.tracking
        self._tracked, self._measure = METRICS[scaling.metric]
        self._samples = Samples()
        self._cooldown: Cooldown | None = None
        self._running: Change | None = None  # whose copies are not all there yet
        self._counted = 0  # of the refused requests, those that an alarm has seen
        self._breached_s = float("-inf")  # when the alarm on them last ran its policy
        self._looks = False
        self._runs = _Runs(self._tracking)

    def came(self) -> None:
        """A request has come: look again, if the looks were left out."""
        if not self._looks:
            self._looks = True
            self._samples, self._runs = Samples(), _Runs(self._tracking)
            now_s = self._kernel.now_s
            self._note(floor(now_s / LOOK_S) * LOOK_S)
            self._kernel.at((floor(now_s / LOOK_S) + 1) * LOOK_S, self._look, None)

    def _note(self, at_s: float) -> None:
        load = self._component.load
        self._samples = self._samples.noted(LoadReading(at_s, load, load.ready), self._tracked.period_s, self._measure)

    def _look(self, _: None) -> None:
        now_s, load = self._kernel.now_s, self._component.load
        self._note(now_s)
        if self._running is not None and load.ready == load.desired:
            self._cooldown = self._running.cooldown(now_s) or self._cooldown
            self._running = None
        if self._running is None:
            self._decide(load, now_s)
        if self._may_rest(load):
            self._looks = False
        else:
            self._kernel.at(now_s + LOOK_S, self._look, None)

    def _may_rest(self, load: VariantLoad) -> bool:
        """Whether no look would change anything before another request comes."""
        if load.in_flight or self._running is not None or load.desired > self._scaling.copies_min:
            return False
        unseen = self._strict and self._component.refused > self._counted
        return not unseen and not any(point.value for point in self._samples.points[-self._tracked.points_out :])

    def _decide(self, load: VariantLoad, now_s: float) -> None:
        scaling = self._scaling
        capacity = ScalableCapacity(load.desired, scaling.copies_min, scaling.copies_max)
        tracked = None
        if self._runs.ready(self._samples.points, now_s - LAG_S):
            tracked = proposal(self._tracking, self._samples.until(now_s - LAG_S), load.desired, NO_CAUSES)
        proposals = [*([] if tracked is None else [tracked]), *self._steps(capacity, now_s)]
        decided = decide(capacity, proposals, self._cooldown, now_s) if proposals else None
        if isinstance(decided, Change):
            self._running = decided
            self._component.rescale(decided.to)

    def _steps(self, capacity: ScalableCapacity, now_s: float) -> Iterator[Proposal]:
        """The alarm on refused requests runs the step policy, once for each of its periods with any."""
        came = self._component.refused - self._counted
        if not self._strict or not came or now_s < self._breached_s + BREACH_S:
            return
        self._counted, self._breached_s = self._component.refused, now_s
        counted_from = base(capacity, self._cooldown, now_s)
        proposed = stepping.proposal(FROM_ZERO, Breach([1.0], 1.0, True), "", capacity.current, counted_from)
        if proposed is not None:
            yield proposed


class _Runs:
    """Counts the newest data points in a row that are above the target, or below what scales in: only long rows need
    to be judged. It decides nothing."""

    def __init__(self, tracking: Tracking) -> None:
        self._tracking = tracking
        self._low = tracking.low.threshold
        self._seen_s = float("-inf")
        self._above = self._below = 0

    def ready(self, points: Sequence[DataPoint], until_s: float) -> bool:
        """Whether an alarm may be in ALARM by the points up to this time."""
        new = [point for point in points[-NEW_MAX:] if self._seen_s < point.at_s <= until_s]
        for point in new:
            value = point.value
            self._above = self._above + 1 if value is not None and value > self._tracking.target else 0
            self._below = self._below + 1 if value is not None and value < self._low else 0
            self._seen_s = point.at_s
        return self._above >= self._tracking.points_out or self._below >= self._tracking.points_in
