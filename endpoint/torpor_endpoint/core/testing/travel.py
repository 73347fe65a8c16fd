"""Decides where a travelling clock stops on its way, and which chores are due there. It moves nothing.

A chore looks for work at intervals, so a jump over many intervals would skip what falls due within them. The clock
therefore travels in stops: each is the next moment at which some chore has work. A chore that knows that it has none
for a while (`quiet_until_s`) needs no stop before that.
"""

from collections.abc import Iterable
from math import inf

from torpor_container.frozen_class import frozen


@frozen
class Appointment:
    """The next look of one chore, in steady seconds."""

    chore: str
    due_s: float
    quiet_until_s: float = -inf
    """No stop is needed for the chore before this moment. It looks at any stop after `due_s`."""

    @property
    def stop_s(self) -> float:
        return max(self.due_s, self.quiet_until_s)


def next_stop(appointments: Iterable[Appointment], now_s: float, target_s: float, elsewhere_s: float = inf) -> float:
    """The next moment at which something is due, from `now_s` to `target_s`. `elsewhere_s` is due outside of chores."""
    earliest_s = min((one.stop_s for one in appointments), default=inf)
    return max(now_s, min(target_s, earliest_s, elsewhere_s))


def due(appointments: Iterable[Appointment], at_s: float) -> tuple[str, ...]:
    """The chores that look at this moment, in the order in which they fell due; by name where that is the same."""
    return tuple(one.chore for one in sorted(appointments, key=_order) if one.due_s <= at_s)


def _order(appointment: Appointment) -> tuple[float, str]:
    return appointment.due_s, appointment.chore
