"""Plays the instances of a variant one after another, several requests of each at a time.

A thousand instances do not fit into the processor's cache, and each request is for another one: in order of time, most
of a simulation is waiting for memory. Here each instance has a clock and a queue of actions of its own, and is played
as far as nothing can come to it from another one. It is the same simulation to the byte, but for the order of what
happens at one moment at two instances.

A request goes to another instance than its model's only if that one is busy, with `busy_min` requests in flight or
more. An instance with fewer has a limit: the first of its next requests that may find it busy, if none ends before. The
instance with the first limit of all is played up to there; no request can find any instance busy before that, so none
comes from one to another. If this one really finds it busy, placement chooses, and for that the others that it looks at
are brought to the same moment. They are not beyond it. One that is to load a copy of the model is among them. How many
it looks at depends on how many requests all have in flight: what each has at most is enough to know for that, unless
nearly all are busy.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import inf

import numpy as np
from numpy.typing import NDArray

from torpor.simulator.engine.apart.busy_bounds import BusyBounds
from torpor.simulator.engine.apart.instance_lane import ArrivalWindow, InstanceLane
from torpor.simulator.engine.call_records import BATCH_MAX, CallsApart, CountsApart, SimulatedCall
from torpor.simulator.engine.handovers.simulated_handovers import SimulatedHandovers
from torpor.simulator.engine.simulated_instance import SimulatedInstance
from torpor.simulator.engine.variant.making_instances import Recorded
from torpor.simulator.engine.virtual_time import Kernel
from torpor.workloads import Chunk, Trace
from torpor_container.core.residency import Decision
from torpor_endpoint.core.routing.ready_slots import WALK_MAX

REQUESTS_EACH = 64
"""A window has so many requests for each instance, as far as its chunk has them, and at least a batch."""


def _at_s(decided: tuple[str, Decision]) -> float:
    return decided[1].at_s


class PlayedApart:
    """`kernel` plays what concerns all instances. `tell` gets ended requests, in order and in batches."""

    def __init__(
        self,
        kernel: Kernel,
        handovers: SimulatedHandovers,
        calls: CallsApart,
        counts: CountsApart,
        recorded: Recorded | None,
        tell: Callable[[list[SimulatedCall]], None],
        bounds: BusyBounds,
    ) -> None:
        self._kernel = kernel
        self._handovers, self._ready = handovers, handovers.ready
        handovers.catch_up = self._begin_copy
        self._calls = calls
        self._counts = counts
        self._recorded = recorded
        self._decisions: list[tuple[str, Decision]] = []  # not handed over yet, with their slots
        self._tell = tell
        self._bounds = bounds
        self._lanes: list[InstanceLane] = []
        self._lane_of: dict[SimulatedInstance, InstanceLane] = {}
        self._choosing_s = 0.0  # when the request comes that placement chooses for
        self._to_copy: list[InstanceLane] = []  # those that are to load a copy for it
        self._counted = 0, 0  # so many were in flight at most, when the window's request of this number came
        self._numbers: NDArray[np.int32] = np.zeros(0, np.int32)  # by model: the number of its lane; -1: not known

    def add(self, instance: SimulatedInstance, kernel: Kernel) -> None:
        """One more instance, before the first request."""
        lane = self._lane_of[instance] = InstanceLane(len(self._lanes), instance, kernel)
        self._lanes.append(lane)

    def decided(self, slot: str, decision: Decision) -> None:
        """Keep a decision of one instance until those of all can be handed over in order of time."""
        self._decisions.append((slot, decision))

    def play(self, trace: Trace) -> None:
        """Play the requests of the trace. What is in flight then goes on in `finish`."""
        for chunk in trace.chunks():
            size = max(BATCH_MAX, len(self._lanes) * REQUESTS_EACH // BATCH_MAX * BATCH_MAX)
            for first in range(0, len(chunk), size):
                part = Chunk(chunk.times_s[first : first + size], chunk.models[first : first + size])
                self._play_part(part, trace)

    def finish(self) -> None:
        """Play until nothing is left to happen."""
        while self._kernel.next is not None:
            self._play_common()
        for lane in self._lanes:
            lane.kernel.run()
        self._kernel.now_s = max(lane.kernel.now_s for lane in self._lanes)
        self._tell_until([inf])

    def _play_part(self, part: Chunk, trace: Trace) -> None:
        times_s, since = part.times_s, 0
        numbers = self._lane_numbers(part.models, trace)
        while (due := self._kernel.next) is not None and -due[0] <= times_s[-1]:
            until = int(np.searchsorted(times_s, -due[0]))
            if since < until:
                self._play_window(times_s[since:until], part.models[since:until], numbers[since:until], trace)
            self._play_common()
            since = until
        if since < len(times_s):
            self._play_window(times_s[since:], part.models[since:], numbers[since:], trace)
        self._kernel.run(float(times_s[-1]))
        self._tell_until([*times_s[BATCH_MAX - 1 : -1 : BATCH_MAX].tolist(), float(times_s[-1])])

    def _play_common(self) -> None:
        """Run the next action that concerns all instances, at its moment for each of them."""
        due = self._kernel.next
        assert due is not None
        for lane in self._lanes:
            lane.kernel.run_before(due)
        self._tell_decisions()
        self._kernel.run_next()
        number = min(self._kernel.number, min(lane.kernel.number for lane in self._lanes))
        for kernel in (self._kernel, *[lane.kernel for lane in self._lanes]):
            kernel.align(number)

    def _tell_until(self, ends_s: list[float]) -> None:
        """Hand over the requests that have ended, in batches that end at these times."""
        self._tell_decisions()
        self._counts.count_loads()
        calls, since = self._calls, 0
        calls.sort()
        for end_s in ends_s:
            until = calls.until(end_s, since)
            if since < until:
                self._tell(calls.done[since:until])
            since = until
        del calls.done[:since]

    def _tell_decisions(self) -> None:
        if self._recorded is not None:
            self._decisions.sort(key=_at_s)
            for slot, decision in self._decisions:
                self._recorded(slot, decision)
            self._decisions.clear()

    # -- a window ----------------------------------------------------------------------------------------------------
    def _lane_numbers(self, models: NDArray[np.int32], trace: Trace) -> NDArray[np.int32]:
        """The number of the lane for each request: that of its model's instance."""
        if len(trace.names) > len(self._numbers):
            more = np.full(len(trace.names) - len(self._numbers), -1, np.int32)
            self._numbers = np.concatenate((self._numbers, more))
        numbers = self._numbers[models]
        if (numbers < 0).any():
            called = np.unique(models[numbers < 0]).tolist()
            owners = [self._ready.first(trace.names[model], 1)[0] for model in called]
            self._numbers[called] = [self._lane_of[owner].number for owner in owners]
            if self._bounds.known:
                self._bounds.learn(called, trace.names)
            numbers = self._numbers[models]
        return numbers

    def _play_window(
        self, times_s: NDArray[np.float64], models: NDArray[np.int32], lanes: NDArray[np.int32], trace: Trace
    ) -> None:
        """Play these requests, of which each has the number of its lane. Nothing concerns all instances meanwhile."""
        order = np.argsort(lanes, kind="stable")
        ordered = times_s[order], models[order], lanes[order]
        bounds = None
        if self._bounds.known:
            unload_s = np.array([lane.instance.brought.longest_unload_s for lane in self._lanes])
            bounds = self._bounds.of(*ordered, unload_s)
        named = list(map(trace.names.__getitem__, ordered[1].tolist()))
        window = ArrivalWindow(ordered[0].tolist(), named, order.tolist(), bounds)
        firsts: list[int] = np.searchsorted(ordered[2], np.arange(len(self._lanes) + 1)).tolist()
        for lane, (first, end) in zip(self._lanes, pairwise(firsts), strict=True):
            lane.begin(first, end)
        self._play_limits(window)
        end_s = float(times_s[-1])
        for lane in self._lanes:
            lane.play(window, lane.end)
            lane.kernel.run(end_s)

    def _play_limits(self, window: ArrivalWindow) -> None:
        """Play all requests that may find their instance busy, and those before them."""
        lanes, busy_min = self._lanes, self._ready.busy_min
        all_played, self._counted = 0, (self._ready.in_flight, 0)
        limits = [(lane.limit, place) for place, lane in enumerate(lanes) if lane.find_limit(window, busy_min)]
        heapify(limits)
        while limits:
            number, place = heappop(limits)
            lane = lanes[place]
            if lane.limit != number:
                continue
            lane.play(window, lane.stop)
            time_s = window.times_s[lane.next]
            lane.kernel.run(time_s)
            if lane.instance.in_flight >= busy_min:
                all_looked_at = self._ready.bound(self._in_flight_max(window, number)) > busy_min
                if all_looked_at:
                    all_played += 1
                    if all_played * len(lanes) > len(window.numbers):
                        self._play_in_step(window, number)
                        return
                chosen = self._chosen(window, lane.next, len(lanes) if all_looked_at else 2)
                lane.next += 1
                chosen.take(window.models[lane.next - 1])
                for one in dict.fromkeys((chosen, *self._to_copy)):
                    if one is not lane and one.find_limit(window, busy_min):
                        heappush(limits, (one.limit, one.number))
            if lane.find_limit(window, busy_min):
                heappush(limits, (lane.limit, place))

    def _in_flight_max(self, window: ArrivalWindow, number: int) -> int:
        """The most requests that all have in flight when the one of this number comes, the next limit. Each lane is
        asked only if all requests since the last time might make an instance of a mean load busy."""
        counted, since = self._counted
        most = counted + number - since
        if self._ready.bound(most) > self._ready.busy_min:
            most = sum([lane.in_flight_max(window, number) for lane in self._lanes])
            self._counted = most, number
        return max(most, self._ready.in_flight)  # placement counts those in flight where each lane is

    def _chosen(self, window: ArrivalWindow, place: int, looked_at: int) -> InstanceLane:
        """The lane that gets this request, whose own instance is busy. Bring those that placement looks at to the
        moment of the request: so many at least."""
        model, number, time_s = window.models[place], window.numbers[place], window.times_s[place]
        self._choosing_s = time_s
        self._to_copy.clear()
        if (copied := self._ready.copied.get(model)) is not None:
            coming = () if copied.coming is None else (copied.coming.newcomer,)
            for instance in (*copied.here, *coming):
                self._lane_of[instance].play_before(window, number, time_s)
        while True:
            first = self._ready.first(model, looked_at)
            for instance in first:
                self._lane_of[instance].play_before(window, number, time_s)
            if len(first) == len(self._lanes) or any(one.in_flight < self._ready.busy_min for one in first[1:]):
                return self._lane_of[self._handovers.chosen(model)]
            looked_at = 2 * looked_at if 2 * looked_at <= WALK_MAX else len(self._lanes)

    def _play_in_step(self, window: ArrivalWindow, since: int) -> None:
        """Play the requests from this number on, and all that happens, in order of time."""
        places = np.argsort(window.numbers)[since:].tolist()
        for lane in self._lanes:
            lane.play_before(window, since, window.times_s[places[0]])
            lane.next = lane.end
        due = [(lane.due_s, place) for place, lane in enumerate(self._lanes) if lane.find_due()]
        heapify(due)
        for place in places:
            time_s, model = window.times_s[place], window.models[place]
            while due and due[0][0] <= time_s:
                at_s, one = heappop(due)
                if (lane := self._lanes[one]).due_s == at_s:
                    lane.kernel.run(at_s)
                    if lane.find_due():
                        heappush(due, (lane.due_s, one))
            self._choosing_s = time_s
            self._to_copy.clear()
            lane = self._lane_of[self._handovers.chosen(model)]
            lane.kernel.run(time_s)
            lane.instance.arrive(model)
            for chosen in (lane, *self._to_copy):
                if chosen.find_due():
                    heappush(due, (chosen.due_s, chosen.number))

    def _begin_copy(self, instance: SimulatedInstance) -> None:
        """The instance is to load a copy of the model that placement chooses for: bring it to that moment."""
        lane = self._lane_of[instance]
        lane.kernel.run(self._choosing_s)
        lane.share()
        self._to_copy.append(lane)
