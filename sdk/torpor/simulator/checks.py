"""Recounts a simulation from what it told: bytes, pins and instances, out of its decisions and calls alone.

The running counters are one account of what happened, the log is another. Where the two differ, one of them is wrong.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from torpor.errors import TorporError
from torpor.simulator.engine import Look, Simulation
from torpor.simulator.site import Call
from torpor_container.core.residency import Decision

LOOK_S = 31.4159265
"""Seconds between looks: at moments at which nothing else happens."""


class Inconsistent(TorporError):
    """The log and the counters tell two stories. The message says what, where and when."""


@dataclass
class Books:
    """One instance's memory, as its decisions tell it: what each model takes, and when it was there."""

    loading: dict[str, int] = field(default_factory=dict)
    here: dict[str, int] = field(default_factory=dict)
    since_s: dict[str, float] = field(default_factory=dict)
    stays: list[tuple[str, float, float]] = field(default_factory=list)  # model, from when to when

    @property
    def planned_bytes(self) -> int:
        return sum(self.loading.values()) + sum(self.here.values())

    def told(self, decision: Decision) -> None:
        name = decision.model
        if decision.action == "load":
            self.loading[name] = decision.size_bytes
        elif decision.action == "loaded":
            del self.loading[name]
            self.here[name], self.since_s[name] = decision.size_bytes, decision.at_s
        elif decision.action == "evict":
            del self.here[name]
            self.stays.append((name, self.since_s.pop(name), decision.at_s))
        elif decision.action == "failed":
            self.loading.pop(name, None)


class Recount:
    """Give it to a simulation as `told` and `recorded`, let it watch, and then ask it. It keeps every call and
    decision: for traces that fit into memory."""

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._decisions: list[tuple[str, Decision]] = []
        self._looks: list[Look] = []

    def told(self, calls: Sequence[Call]) -> None:
        self._calls.extend(calls)

    def recorded(self, slot: str, decision: Decision) -> None:
        self._decisions.append((slot, decision))

    def watch(self, simulation: Simulation) -> None:
        """Looks at it every half a minute, from now until its trace is over."""

        def look(simulation: Simulation) -> None:
            self._looks.append(simulation.look())
            if not simulation.over:
                simulation.kernel.after(LOOK_S, look, simulation)

        simulation.kernel.after(LOOK_S, look, simulation)

    def verify(self, simulation: Simulation, looks: Sequence[Look] = ()) -> None:
        """Raises Inconsistent. `looks` are more of the simulation's own, taken while it ran."""
        books = self._books(simulation)
        self._check_pins(books)
        self._check_counts(simulation)
        self._check_looks(simulation, [*self._looks, *looks])

    # -- bytes -----------------------------------------------------------------------------------------------------
    def _books(self, simulation: Simulation) -> dict[tuple[str, int], Books]:
        """One set for each life of a slot: a new instance begins with nothing."""
        budget_bytes, ready_s = simulation.plan.machine.memory_bytes, _ready_s(simulation)
        books: dict[tuple[str, int], Books] = defaultdict(Books)
        for slot, decision in self._decisions:
            one = books[slot, bisect_right(ready_s[slot], decision.at_s)]
            try:
                one.told(decision)
            except KeyError as error:
                raise Inconsistent(f"{slot} at {decision.at_s} s: {decision.action} of {error}, not there") from error
            if one.planned_bytes > budget_bytes:
                raise Inconsistent(
                    f"{slot} at {decision.at_s} s: {one.planned_bytes:,} bytes are planned with {budget_bytes:,}"
                )
        for slot, planned_bytes in simulation.planned_bytes().items():
            counted = books[slot, bisect_right(ready_s[slot], simulation.kernel.now_s)].planned_bytes
            if counted != planned_bytes:
                raise Inconsistent(f"{slot}: {planned_bytes:,} bytes are planned, {counted:,} by its decisions")
        return books

    # -- pins ------------------------------------------------------------------------------------------------------
    def _check_pins(self, books: dict[tuple[str, int], Books]) -> None:
        """A model is there all the time that a call uses it, and so nobody was unloaded under a call."""
        stays: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        for (slot, _), one in books.items():
            for name, since_s, until_s in one.stays:
                stays[slot, name].append((since_s, until_s))
            for name, since_s in one.since_s.items():
                stays[slot, name].append((since_s, inf))
        for call in self._calls:
            there = stays[call.site.slot, call.model]
            if not call.failed and not any(a <= call.ready_s and call.done_s <= b for a, b in there):
                used = f"{call.model} was used from {call.ready_s} to {call.done_s} s"
                raise Inconsistent(f"{call.site.slot}: {used}, and not there all the time")

    # -- counters --------------------------------------------------------------------------------------------------
    def _check_counts(self, simulation: Simulation) -> None:
        logged = Counter(decision.action for _, decision in self._decisions)
        for what, counted in (("load", simulation.counts.loads), ("evict", simulation.counts.unloads)):
            if counted != logged[what]:
                raise Inconsistent(f"{counted:,} x {what} were counted, {logged[what]:,} by the log")

    def _check_looks(self, simulation: Simulation, looks: Sequence[Look]) -> None:
        lives = simulation.lives
        counted = {
            "in_flight": _there(looks, [call.arrived_s for call in self._calls], [call.done_s for call in self._calls]),
            "instances": _there(
                looks,
                [life.began_s for life in lives],
                [inf if life.retired_s is None else life.retired_s for life in lives],
            ),
        }
        for what, numbers in counted.items():
            for look, number in zip(looks, numbers, strict=True):
                if number != getattr(look, what):
                    raise Inconsistent(f"at {look.at_s} s: {getattr(look, what)} {what}, {number} by the log")


# -- inside ------------------------------------------------------------------------------------------------------------
def _ready_s(simulation: Simulation) -> dict[str, list[float]]:
    """When each slot's instances were ready, one after another."""
    ready_s: dict[str, list[float]] = defaultdict(list)
    for life in simulation.lives:
        ready_s[life.slot].append(life.ready_s or 0.0)
    return {slot: sorted(times_s) for slot, times_s in ready_s.items()}


def _there(looks: Sequence[Look], since_s: Sequence[float], until_s: Sequence[float]) -> list[int]:
    """How many had come, and had not gone, at each look."""
    at_s = np.array([look.at_s for look in looks])
    numbers: list[int] = (
        np.searchsorted(np.sort(since_s), at_s, side="right") - np.searchsorted(np.sort(until_s), at_s, side="right")
    ).tolist()
    return numbers
