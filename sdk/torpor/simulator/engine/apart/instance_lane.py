"""One instance that is played apart from the others, and the requests of a part of the trace that come to it."""

from math import inf

from torpor.simulator.engine.simulated_instance import SimulatedInstance
from torpor.simulator.engine.virtual_time import Kernel


class ArrivalWindow:
    """Requests of a part of the trace, those of one instance beside each other. `numbers` are their places among all
    requests of the window, in order of time."""

    __slots__ = ("models", "numbers", "times_s")

    def __init__(self, times_s: list[float], models: list[str], numbers: list[int]) -> None:
        self.times_s = times_s
        self.models = models
        self.numbers = numbers


class InstanceLane:
    """The instance's own requests of a window are those in its places from `next` to `end`; it has had the ones before.
    The one in place `stop`, whose number is `limit`, is the first that may find it busy; NEVER if none may.
    `number` is its own place among all lanes."""

    __slots__ = ("due_s", "end", "instance", "kernel", "limit", "next", "number", "stop")

    NEVER = -1

    def __init__(self, number: int, instance: SimulatedInstance, kernel: Kernel) -> None:
        self.number = number
        self.instance = instance
        self.kernel = kernel
        self.next = self.end = self.stop = 0
        self.limit = self.NEVER
        self.due_s = inf  # in step with the others: when its next action is due

    def play(self, window: ArrivalWindow, end: int) -> None:
        """Play its requests in the places before `end`, each after what happens before it."""
        first = self.next
        if first < end:
            self.next = end
            arrivals = zip(window.times_s[first:end], window.models[first:end], strict=True)
            self.kernel.play(arrivals, self.instance.arrive)

    def play_before(self, window: ArrivalWindow, number: int, time_s: float) -> None:
        """Play all that happens before the window's request of this number, which comes at this time."""
        end = self.next
        while end < self.end and window.numbers[end] < number:
            end += 1
        self.play(window, end)
        self.kernel.run(time_s)

    def is_limited(self, window: ArrivalWindow, busy_min: int) -> bool:
        """Find its limit, now that it is played up to its next request. With `busy_min` in flight it is busy, and each
        request that comes may stay."""
        self.stop = self.next + max(0, busy_min - self.instance.in_flight)
        self.limit = window.numbers[self.stop] if self.stop < self.end else self.NEVER
        return self.limit != self.NEVER

    def is_due(self) -> bool:
        """Find when its next action is due, if there is one."""
        moment = self.kernel.next
        self.due_s = inf if moment is None else -moment[0]
        return moment is not None
