"""One instance that is played apart from the others, and the requests of a part of the trace that come to it."""

from bisect import bisect_left
from math import inf
from typing import Final

from torpor.simulator.engine.apart.busy_bounds import BoundedRequests
from torpor.simulator.engine.simulated_instance import SimulatedInstance
from torpor.simulator.engine.virtual_time import Kernel

BEHIND: Final = 2**62


class ArrivalWindow:
    """Requests of a part of the trace, those of one instance beside each other. `numbers` are their places among all
    requests of the window, in order of time; `bounds` has what is known of them, or None."""

    __slots__ = ("bounds", "models", "numbers", "times_s")

    def __init__(
        self, times_s: list[float], models: list[str], numbers: list[int], bounds: BoundedRequests | None
    ) -> None:
        self.times_s = times_s
        self.models = models
        self.numbers = numbers
        self.bounds = bounds


class InstanceLane:
    """The instance's own requests of a window are those in its places from `next` to `end`; it has had the ones before.
    The one in place `stop`, whose number is `limit`, is the first that may find it busy; NEVER if none may.
    `number` is its own place among all lanes."""

    __slots__ = ("bounded", "due_s", "end", "instance", "kernel", "limit", "next", "number", "shared", "stop")

    NEVER = -1

    def __init__(self, number: int, instance: SimulatedInstance, kernel: Kernel) -> None:
        self.number = number
        self.instance = instance
        self.kernel = kernel
        self.next = self.end = self.stop = 0
        self.limit = self.NEVER
        self.bounded = False  # whether the window's bounds hold for its requests from `next` on
        self.shared = False  # whether it got another one's request in this window, or a copy of another one's model
        self.due_s = inf  # in step with the others: when its next action is due

    def begin(self, first: int, end: int) -> None:
        """Its requests of another window are those in these places."""
        self.next, self.end = first, end
        self.bounded = self.shared = False

    def take(self, model: str) -> None:
        """Get a request that placement sends here, not only one of its own."""
        self.share()
        self.instance.arrive(model)

    def share(self) -> None:
        """It serves another one's model: no bound of this window holds any more."""
        self.bounded, self.shared = False, True

    def play(self, window: ArrivalWindow, end: int) -> None:
        """Play its requests in the places before `end`, each after what happens before it."""
        first = self.next
        if first < end:
            self.next = end
            arrivals = zip(window.times_s[first:end], window.models[first:end], strict=True)
            self.kernel.play(arrivals, self.instance.arrive)

    def play_before(self, window: ArrivalWindow, number: int, time_s: float) -> None:
        """Play all that happens before the window's request of this number, which comes at this time."""
        self.play(window, self._place(window, number))
        self.kernel.run(time_s)

    def find_limit(self, window: ArrivalWindow, busy_min: int) -> bool:
        """Find its limit, now that it is played up to its next request: whether there is one. With `busy_min` in flight
        it is busy, and each request that comes may stay."""
        in_flight = self.instance.in_flight
        self.stop = self.next + max(0, busy_min - in_flight)
        if window.bounds is not None and not self.shared and not self.instance.brought.going_on:
            self.bounded = not in_flight or (self.bounded and in_flight < busy_min)
            if self.bounded:
                self._stop_later(window.bounds)
        self.limit = window.numbers[self.stop] if self.stop < self.end else self.NEVER
        return self.limit != self.NEVER

    def in_flight_max(self, window: ArrivalWindow, number: int) -> int:
        """The most requests that it has when the window's request of this number comes. No limit of its own is before
        that."""
        place = self._place(window, number)
        most = self.instance.in_flight + place - self.next
        if place == self.next or window.bounds is None or not self.bounded:
            return most
        return min(most, int(window.bounds.found[place - 1]) + 1)

    def _place(self, window: ArrivalWindow, number: int) -> int:
        """The place of its first request to come that has this number or a later one."""
        return bisect_left(window.numbers, number, self.next, self.end)

    def _stop_later(self, bounds: BoundedRequests) -> None:
        """Leave out the requests that cannot find it busy. It has some more of them at least, whatever is known."""
        unsure = _first(bounds.unsure, self.next)
        self.stop = min(_first(bounds.maybe_busy, self.stop), max(unsure, self.stop))
        self.bounded = self.stop <= unsure

    def find_due(self) -> bool:
        """Find when its next action is due: whether there is one."""
        moment = self.kernel.next
        self.due_s = inf if moment is None else -moment[0]
        return moment is not None


def _first(places: list[int], since: int) -> int:
    """The first of these places from this one on; a place behind all if there is none."""
    number = bisect_left(places, since)
    return places[number] if number < len(places) else BEHIND
