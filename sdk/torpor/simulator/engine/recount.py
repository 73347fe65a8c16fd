"""Recounts a simulation from what it told: its log of decisions about memory, its calls and its instances' lives.

Compared are the bytes, models, instances and requests in flight of every look; each model's presence while it is used;
loads, unloads, load seconds and wakes at the end. The disk's decisions are not in the log: of downloads only the
bounds are known that loads set: one number where a slot's disk keeps all that its instances were asked for, and where
models leave for other models only.

The running counters are one account of what happened, the log is another. Where the two differ, one of them is wrong.
"""

from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf, isclose

import numpy as np
from numpy.typing import NDArray

from torpor.errors import TorporError
from torpor.simulator.engine.instance import SimulatedCall
from torpor.simulator.engine.variant import PERIOD_S, SimulatedLife, Simulation, VariantReading
from torpor_container.core.residency import Decision

LOOK_S = 31.4159265
"""Seconds between looks: at moments at which nothing else happens."""


class Inconsistent(TorporError):
    """The log and the counters tell two stories. The message says what, where and when."""


@dataclass
class MemoryRecount:
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


class AllBooks:
    """The books of all instances: one set for each life of a slot, since a new instance begins with nothing."""

    def __init__(self, lives: Sequence[SimulatedLife], budget_bytes: int) -> None:
        self._budget_bytes = budget_bytes
        self._ready_s: dict[str, list[float]] = defaultdict(list)
        self._books: dict[str, list[tuple[float, MemoryRecount]]] = defaultdict(
            list
        )  # until when requests came, and the books
        for life in lives:  # those of one slot follow each other
            if life.ready_s is not None:
                self._ready_s[life.slot].append(life.ready_s)
                until_s = inf if life.retired_s is None else life.retired_s
                self._books[life.slot].append((until_s, MemoryRecount()))

    def told(self, slot: str, decision: Decision) -> None:
        _, books = self._books[slot][bisect_right(self._ready_s[slot], decision.at_s) - 1]
        try:
            books.told(decision)
        except KeyError as error:
            raise Inconsistent(f"{slot} at {decision.at_s} s: {decision.action} of {error}, not there") from error
        if books.planned_bytes > self._budget_bytes:
            planned = f"{books.planned_bytes:,} bytes are planned with {self._budget_bytes:,}"
            raise Inconsistent(f"{slot} at {decision.at_s} s: {planned}")

    def ready(self, at_s: float) -> Iterator[tuple[str, MemoryRecount]]:
        """Of the instances that get requests then, by slot."""
        for slot, ready_s in self._ready_s.items():
            if number := bisect_right(ready_s, at_s):
                until_s, books = self._books[slot][number - 1]
                if at_s < until_s:
                    yield slot, books

    def stays(self) -> dict[tuple[str, str], list[tuple[float, float]]]:
        """From when to when each slot had each model."""
        stays: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        for slot, lives in self._books.items():
            for _, books in lives:
                for name, since_s, until_s in books.stays:
                    stays[slot, name].append((since_s, until_s))
                for name, since_s in books.since_s.items():
                    stays[slot, name].append((since_s, inf))
        return stays


class Recount:
    """Give it to a simulation as `told` and `recorded`, let it watch, and then ask it. It keeps every call and
    decision: for traces that fit into memory."""

    def __init__(self) -> None:
        self._calls: list[SimulatedCall] = []
        self._decisions: list[tuple[str, Decision]] = []
        self._looks: list[VariantReading] = []

    def told(self, calls: Sequence[SimulatedCall]) -> None:
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

    def verify(self, simulation: Simulation, looks: Sequence[VariantReading] = ()) -> None:
        """Raises Inconsistent. `looks` are more of the simulation's own, taken while it ran."""
        looks = sorted([*self._looks, *looks], key=lambda look: look.at_s)
        self._check_pins(self._check_memory(simulation, looks))
        self._check_counts(simulation)
        self._check_downloads(simulation)
        self._check_wakes(simulation)
        self._check_looks(simulation, looks)

    # -- memory ----------------------------------------------------------------------------------------------------
    def _check_memory(self, simulation: Simulation, looks: Sequence[VariantReading]) -> AllBooks:
        """Never more than fits, and at every look and at the end as much as was said."""
        books, to_tell = AllBooks(simulation.lives, simulation.plan.machine.memory_bytes), deque(self._decisions)
        for look in [*looks, simulation.look()]:
            while to_tell and to_tell[0][1].at_s <= look.at_s:
                books.told(*to_tell.popleft())
            ready = dict(books.ready(look.at_s))
            _same(look, "models", sum(len(one.here) for one in ready.values()))
            _same(look, "memory_bytes", sum(one.planned_bytes for one in ready.values()))
        for slot, planned_bytes in simulation.planned_bytes().items():
            counted = ready[slot].planned_bytes
            if counted != planned_bytes:
                raise Inconsistent(f"{slot}: {planned_bytes:,} bytes are planned, {counted:,} by the log")
        return books

    # -- pins ------------------------------------------------------------------------------------------------------
    def _check_pins(self, books: AllBooks) -> None:
        """A model is there all the time that a call uses it, and so nobody was unloaded under a call."""
        stays = books.stays()
        for call in self._calls:
            there = stays[call.site.slot, call.model]
            if not call.failed and not any(a <= call.ready_s and call.done_s <= b for a, b in there):
                used = f"{call.model} was used from {call.ready_s} to {call.done_s} s"
                raise Inconsistent(f"{call.site.slot}: {used}, and not there all the time")

    # -- counters --------------------------------------------------------------------------------------------------
    def _check_counts(self, simulation: Simulation) -> None:
        logged, counts = Counter(decision.action for _, decision in self._decisions), simulation.counts
        for what, counted in (("load", counts.loads), ("evict", counts.unloads)):
            if counted != logged[what]:
                raise Inconsistent(f"{counted:,} x {what} were counted, {logged[what]:,} by the log")
        load_s = sum(decision.took_s for _, decision in self._decisions if decision.action == "loaded")
        if not isclose(counts.load_s, load_s, rel_tol=1e-9):
            raise Inconsistent(f"{counts.load_s} s of loads were counted, {load_s} s by the log")

    def _check_downloads(self, simulation: Simulation) -> None:
        """At least one for each model that a slot loaded, at most one for each that it brought in or refused."""
        machine, most = simulation.plan.machine, 0
        asked: dict[str, Counter[str]] = defaultdict(Counter)
        for slot, decision in self._decisions:
            if decision.action in ("load", "failed"):
                asked[slot][decision.model] += 1
        loaded = {(slot, decision.model) for slot, decision in self._decisions if decision.action == "load"}
        for models in asked.values():
            fits = sum(simulation.profiles[name].disk_bytes for name in models) <= machine.disk_bytes
            once = fits and machine.cache and machine.models_rest is None
            most += len(models) if once else models.total()
        if not len(loaded) <= simulation.counts.downloads <= most:
            raise Inconsistent(
                f"{simulation.counts.downloads:,} downloads were counted, {len(loaded):,} to {most:,} by the log"
            )

    def _check_wakes(self, simulation: Simulation) -> None:
        """Who calls where no instance is, or is on its way, wakes one. At the very moment of a look of the sizing rule
        it may have been that, which expected the call."""
        at_s = np.unique([call.arrived_s for call in self._calls])
        at_s = at_s[_there(at_s, *_lives(simulation), before=True) == 0]
        least, most = int(np.count_nonzero(at_s % PERIOD_S)), len(at_s)
        if not least <= simulation.counts.wakes <= most:
            raise Inconsistent(f"{simulation.counts.wakes:,} wakes were counted, {least:,} to {most:,} by the log")

    def _check_looks(self, simulation: Simulation, looks: Sequence[VariantReading]) -> None:
        at_s = np.array([look.at_s for look in looks])
        arrived_s, done_s = [call.arrived_s for call in self._calls], [call.done_s for call in self._calls]
        in_flight, instances = _there(at_s, arrived_s, done_s), _there(at_s, *_lives(simulation))
        for look, calls, lives in zip(looks, in_flight.tolist(), instances.tolist(), strict=True):
            _same(look, "in_flight", calls)
            _same(look, "instances", lives)


# -- inside ------------------------------------------------------------------------------------------------------------
def _same(look: VariantReading, what: str, counted: int) -> None:
    if getattr(look, what) != counted:
        raise Inconsistent(f"at {look.at_s} s: {getattr(look, what):,} {what}, {counted:,} by the log")


def _lives(simulation: Simulation) -> tuple[list[float], list[float]]:
    """Since when each instance was wanted, and until when."""
    lives = simulation.lives
    return [life.began_s for life in lives], [inf if life.retired_s is None else life.retired_s for life in lives]


def _there(
    at_s: NDArray[np.float64], since_s: Sequence[float], until_s: Sequence[float], before: bool = False
) -> NDArray[np.intp]:
    """How many had come, and had not gone, at each moment; or `before` anybody came in it."""
    came = np.searchsorted(np.sort(since_s), at_s, side="left" if before else "right")
    return came - np.searchsorted(np.sort(until_s), at_s, side="right")
