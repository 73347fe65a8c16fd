"""Puts what a simulation forecast beside what a live endpoint did with the same requests, and judges both by one goal.

No verdict rests on wall time alone: on a machine that was busy with other work, requests that came too late say nothing
about the plan. Requests that came in time do, since other work only makes them later.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import floor

EXACT = 1e-6
"""The tolerance for binary fractions: 10 % of 10 requests are 1, and not a little less."""
WAITING_MAX = 0.25
"""A machine is busy if processes wait for a processor for more than this share of the time."""
SENT_LATE_MAX = 0.1
"""The traffic is no longer the trace's if requests are sent later than this share of the SLO, at p99."""


COUNTS = frozenset({"loads", "evictions", "wakes", "most instances", "failed", "usd by live times"})
"""The figures that do not depend on how fast the machine is."""


class LiveVerdict(StrEnum):
    SAME = "the same"
    REVERSED = "reversed"
    UNDECIDED = "undecided"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class StepMeans:
    """The mean seconds of each step, over the requests that had it; None if none had."""

    wake_s: float | None = None
    load_s: float | None = None  # from the download to the end of the load
    predict_s: float | None = None  # with the wait for a thread
    overhead_s: float | None = None


@dataclass(frozen=True)
class TrafficFigures:
    """What became of the requests of a trace, forecast or live."""

    requests: int
    failed: int
    late: int  # not answered within the SLO; those that failed among them
    hits: int
    loads: int
    evictions: int
    wakes: int
    instances_most: int
    p50_s: float | None  # of the requests that were answered
    p99_s: float | None
    instance_s: float | None
    usd: float | None  # of the time of the trace
    steps: StepMeans = StepMeans()
    billed_ms: int = 0  # of predictions, each rounded up, as serverless inference is billed

    @property
    def hit_ratio(self) -> float:
        return self.hits / self.requests if self.requests else 0.0

    @property
    def late_share(self) -> float:
        return self.late / self.requests if self.requests else 0.0

    @property
    def timed(self) -> bool:
        """Whether it is known how long requests took: those of a queue and of several routers are in no sum."""
        return self.p99_s is not None or self.failed == self.requests


@dataclass(frozen=True)
class MachineStrain:
    """How busy the machine was while requests were sent. `late` counts requests by the caller's clock, from the moment
    at which they were due: what held up the sender is in it."""

    sent_late_s: float  # at p99
    waiting_share: float  # of the time, in which some process waited for a processor
    late: int
    in_flight_most: int
    in_flight_max: int
    processors: int


@dataclass(frozen=True)
class ConfirmedGoal:
    """The share `quantile` of the requests is answered within `slo_s` seconds."""

    slo_s: float
    quantile: float

    def met(self, late: int, requests: int) -> bool:
        return late <= floor((1 - self.quantile) * requests + EXACT)

    def __str__(self) -> str:
        return f"{self.quantile * 100:.6g} % of the requests within {self.slo_s * 1000:,.6g} ms"


@dataclass(frozen=True)
class ConfirmedFigure:
    """One figure, forecast and live. `off` is the difference in the unit of `aim`: percentage points of a share, or
    percent of the live figure. `agrees` is None for a time on a machine that was too busy to judge it."""

    figure: str
    forecast: float | None
    live: float | None
    off: float | None
    aim: float
    agrees: bool | None


@dataclass(frozen=True)
class ForecastBesideFact:
    """Both sides of one comparison."""

    goal: ConfirmedGoal
    forecast: TrafficFigures
    live: TrafficFigures
    strain: MachineStrain
    usd_by_live_times: float | None = None
    """The bill that the forecast's arithmetic makes of what was live: its seconds of instances and its milliseconds of
    predictions. So a slow machine does not look like a wrong rule."""
    by_duration: bool = False  # whether predictions are billed, as those of serverless inference
    scales: bool = False  # whether slower requests get more instances
    at_bound: bool = False  # whether the forecast is too near the goal's bound to decide

    @property
    def forecast_meets(self) -> bool:
        return self.goal.met(self.forecast.late, self.forecast.requests)

    @property
    def busy(self) -> bool:
        """Whether the times say more about the machine than about the plan."""
        too_late = self.strain.sent_late_s > SENT_LATE_MAX * self.goal.slo_s
        return too_late or self.strain.waiting_share > WAITING_MAX

    @property
    def live_meets(self) -> bool | None:
        """Whether the live endpoint met the goal. None if nobody knows how long requests took, or if too many were late
        and the machine was busy."""
        if not self.live.timed:
            return None
        if not self.busy:
            return self.goal.met(self.live.late, self.live.requests)
        # From the moment at which they were due: requests that were held up made room for the others.
        return True if self.goal.met(max(self.live.late, self.strain.late), self.live.requests) else None

    @property
    def verdict(self) -> LiveVerdict:
        if self.live_meets is None:
            return LiveVerdict.UNKNOWN
        if self.live_meets == self.forecast_meets:
            return LiveVerdict.SAME
        return LiveVerdict.UNDECIDED if self.at_bound else LiveVerdict.REVERSED

    @property
    def figures(self) -> Sequence[ConfirmedFigure]:
        """Each figure beside the other, with the aim of the simulator."""
        here, there = self.forecast, self.live
        return (
            self._share("hit ratio", here.hit_ratio, there.hit_ratio, 1.0, timed=self._loads_agree),
            self._part("loads", here.loads, there.loads, 2.0),
            self._part("evictions", here.evictions, there.evictions, 2.0),
            self._part("wakes", here.wakes, there.wakes, 2.0),
            self._part("most instances", here.instances_most, there.instances_most, 0.0, timed=self.scales),
            self._part("p50_s", here.p50_s, there.p50_s, 10.0, timed=True),
            self._part("p99_s", here.p99_s, there.p99_s, 10.0, timed=True),
            self._share("late", here.late_share, there.late_share if there.timed else None, 1.0, timed=True),
            self._part("failed", here.failed, there.failed, 0.0),
            self._part("usd", here.usd, there.usd, 2.0, timed=self.by_duration),
            self._part("usd by live times", self.usd_by_live_times, there.usd, 2.0),
        )

    @property
    def counts_agree(self) -> bool:
        """Whether everything agrees that does not depend on how fast the machine is."""
        return all(one.agrees is not False for one in self.figures if one.figure in COUNTS)

    @property
    def _loads_agree(self) -> bool:
        """Whether there were as many loads. Then hits differ only by requests that waited for the load of another one,
        and the slower a machine loads, the more these are."""
        loads = self._part("loads", self.forecast.loads, self.live.loads, 2.0)
        return loads.agrees is True

    def _share(
        self, figure: str, forecast: float, live: float | None, aim_points: float, timed: bool = False
    ) -> ConfirmedFigure:
        if live is None:
            return ConfirmedFigure(figure, forecast, live, None, aim_points, None)
        off = 100 * (forecast - live)
        return ConfirmedFigure(figure, forecast, live, off, aim_points, self._agrees(off, aim_points, timed))

    def _part(
        self, figure: str, forecast: float | None, live: float | None, aim_percent: float, timed: bool = False
    ) -> ConfirmedFigure:
        if forecast is None or live is None:
            return ConfirmedFigure(figure, forecast, live, None, aim_percent, None)
        if forecast == live:
            return ConfirmedFigure(figure, forecast, live, 0.0, aim_percent, self._agrees(0.0, aim_percent, timed))
        if not live:
            return ConfirmedFigure(figure, forecast, live, None, aim_percent, False)
        off = 100 * (forecast / live - 1)
        return ConfirmedFigure(figure, forecast, live, off, aim_percent, self._agrees(off, aim_percent, timed))

    def _agrees(self, off: float, aim: float, timed: bool) -> bool | None:
        return None if timed and self.busy else abs(off) <= aim + EXACT
