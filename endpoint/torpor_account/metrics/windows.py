"""Groups buckets into the periods that a caller requests. It knows no statistic."""

from collections.abc import Iterable

from torpor_account.metrics.series import MINUTE_S, Series
from torpor_account.metrics.tally import PackedTally, Tally, merged
from torpor_container.frozen_class import frozen

HIGH_RESOLUTION_S = (1, 5, 10, 20, 30)
SHORTEST_S = 10
"""The shortest period that is answered: the shorter ones of CloudWatch are answered by it."""


@frozen
class PeriodWindow:
    """Whole periods from `start_s` up to, but without, `end_s`."""

    start_s: int
    end_s: float
    period_s: int

    @property
    def periods(self) -> int:
        return max(int(-(-(self.end_s - self.start_s) // self.period_s)), 0)

    @property
    def grid(self) -> range:
        """The seconds at which the periods begin."""
        return range(self.start_s, self.start_s + self.periods * self.period_s, self.period_s)

    def tallies(self, series: Iterable[Series]) -> dict[int, Tally]:
        """A tally for each period that has samples, by the second at which it begins, oldest first."""
        grouped: dict[int, list[Tally | PackedTally]] = {}
        for one in series:
            read = one.buckets if self.period_s >= MINUTE_S else one.fine_buckets
            for at_s, bucket in read(self.start_s, self.end_s):
                grouped.setdefault(at_s - (at_s - self.start_s) % self.period_s, []).append(bucket)
        return {at_s: merged(grouped[at_s]) for at_s in sorted(grouped)}


def from_start(start_s: float, end_s: float, period_s: int) -> PeriodWindow:
    """GetMetricStatistics: "Start time less than 15 days ago - Round down to the nearest whole minute"."""
    return PeriodWindow(int(start_s // MINUTE_S) * MINUTE_S, end_s, max(period_s, SHORTEST_S))


def by_clock(start_s: float, end_s: float, period_s: int) -> PeriodWindow:
    """GetMetricData: periods begin at multiples of the period."""
    period_s = max(period_s, SHORTEST_S)
    return PeriodWindow(int(start_s // period_s) * period_s, end_s, period_s)


def looking_back(end_s: float, periods: int, period_s: int) -> PeriodWindow:
    """Alarms: "if the Period is 5 minutes [..] at the end of minute 6, the alarm is evaluated based on the data from
    minutes 2 to 6". So the periods end with the last whole minute, and move with it; those below a minute, which are
    evaluated every ten seconds, with the last ten."""
    period_s = max(period_s, SHORTEST_S)
    step_s = MINUTE_S if period_s >= MINUTE_S else SHORTEST_S
    end_s = end_s // step_s * step_s
    return PeriodWindow(int(end_s) - periods * period_s, end_s, period_s)


def is_period(period_s: int) -> bool:
    """Whether CloudWatch has periods of this length."""
    return period_s in HIGH_RESOLUTION_S or (period_s > 0 and period_s % MINUTE_S == 0)
