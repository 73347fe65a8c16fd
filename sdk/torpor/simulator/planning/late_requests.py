"""Counts the late requests of a simulation as they end, and stops one that cannot meet its goal any more."""

from collections.abc import Sequence
from dataclasses import dataclass

from torpor.simulator.engine.call_records import SimulatedCall


class Hopeless(Exception):
    """Raised in a simulation that cannot meet the goal any more."""


@dataclass(eq=False)
class LateCount:
    """Counts late requests, and stops the simulation when there are too many."""

    late_s: float
    late_max: int
    since_s: float = 0.0  # earlier requests do not count
    late: int = 0
    ended: int = 0  # of the requests that count

    @property
    def share(self) -> float:
        """The share of late requests so far."""
        return self.late / self.ended if self.ended else 0.0

    def __call__(self, calls: Sequence[SimulatedCall]) -> None:
        late_s, since_s = self.late_s, self.since_s
        self.ended += sum(call.arrived_s >= since_s for call in calls) if since_s else len(calls)
        late = (call.arrived_s for call in calls if call.failed or call.done_s - call.arrived_s > late_s)
        self.late += sum(arrived_s >= since_s for arrived_s in late)
        if self.late > self.late_max:
            raise Hopeless
