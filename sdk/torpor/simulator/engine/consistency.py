"""Checks a simulation's counters against its own log: decisions about memory, requests, and lifetimes of instances.

The counters are one account of what happened, the log is another. Where the two differ, one of them is wrong. For each
reading, the check compares the bytes, models, instances and requests in flight; for each request, that its model was in
memory while it was used; at the end, the loads, unloads, load seconds and wakes. The log has no decisions about the
disk, so the loads only give a lower and an upper bound for the downloads. Both bounds are equal where the slot's disk
has room for all models that its instances were asked for, and models are only evicted to make room for others.
"""

from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf, isclose

import numpy as np
from numpy.typing import NDArray

from torpor.errors import TorporError
from torpor.simulator.engine.call_records import SimulatedCall
from torpor.simulator.engine.simulated_variant import SimulatedLife, Simulation, VariantReading
from torpor.simulator.engine.sizing_rounds import PERIOD_S
from torpor_container.core.residency import Decision

READ_EVERY_S = 31.4159265
"""Seconds between two readings: an odd number, so that nothing else happens at these moments."""


class Inconsistent(TorporError):
    """The log and the counters differ. The message says in what, where and when."""


@dataclass
class MemoryAccount:
    """The memory of one instance according to its decisions: the bytes of each model, and when it was in memory."""

    loading: dict[str, int] = field(default_factory=dict)
    here: dict[str, int] = field(default_factory=dict)
    since_s: dict[str, float] = field(default_factory=dict)
    stays: list[tuple[str, float, float]] = field(default_factory=list)  # model, loaded at, evicted at

    @property
    def planned_bytes(self) -> int:
        return sum(self.loading.values()) + sum(self.here.values())

    def record(self, decision: Decision) -> None:
        name = decision.model
        if decision.action == "load":
            self.loading[name] = decision.size_bytes
        elif decision.action == "loaded":
            del self.loading[name]
            self.here[name], self.since_s[name] = decision.size_bytes, decision.at_s
        elif decision.action == "resized":
            self.here[name] = decision.size_bytes
        elif decision.action == "evict":
            del self.here[name]
            self.stays.append((name, self.since_s.pop(name), decision.at_s))
        elif decision.action == "failed":
            self.loading.pop(name, None)


class InstanceMemories:
    """The memory of all instances: one account for each incarnation of a slot, since a new instance starts empty."""

    def __init__(self, lives: Sequence[SimulatedLife], budget_bytes: int) -> None:
        self._budget_bytes = budget_bytes
        self._ready_s: dict[str, list[float]] = defaultdict(list)
        self._accounts: dict[str, list[tuple[float, MemoryAccount]]] = defaultdict(list)  # each with when it retired
        for life in lives:  # the incarnations of one slot are in order of time
            if life.ready_s is not None:
                self._ready_s[life.slot].append(life.ready_s)
                until_s = inf if life.retired_s is None else life.retired_s
                self._accounts[life.slot].append((until_s, MemoryAccount()))

    def record(self, slot: str, decision: Decision) -> None:
        _, account = self._accounts[slot][bisect_right(self._ready_s[slot], decision.at_s) - 1]
        try:
            account.record(decision)
        except KeyError as error:
            raise Inconsistent(
                f"{slot} at {decision.at_s} s: {decision.action} of {error}, which is not there"
            ) from error
        if decision.action == "load" and account.planned_bytes > self._budget_bytes:
            planned = f"{account.planned_bytes:,} bytes are planned, and the budget is {self._budget_bytes:,}"
            raise Inconsistent(f"{slot} at {decision.at_s} s: {planned}")

    def ready(self, at_s: float) -> Iterator[tuple[str, MemoryAccount]]:
        """By slot, the accounts of the instances that get requests at this time."""
        for slot, ready_s in self._ready_s.items():
            if number := bisect_right(ready_s, at_s):
                until_s, account = self._accounts[slot][number - 1]
                if at_s < until_s:
                    yield slot, account

    def stays(self) -> dict[tuple[str, str], list[tuple[float, float]]]:
        """The intervals of time during which each slot had each model in memory."""
        stays: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        for slot, incarnations in self._accounts.items():
            for _, account in incarnations:
                for name, since_s, until_s in account.stays:
                    stays[slot, name].append((since_s, until_s))
                for name, since_s in account.since_s.items():
                    stays[slot, name].append((since_s, inf))
        return stays


class ConsistencyCheck:
    """Pass its `on_calls` and `recorded` to a simulation, call `watch` before the run and `verify` after it. It keeps
    every request and decision in memory, so it is for traces that fit there."""

    def __init__(self) -> None:
        self._calls: list[SimulatedCall] = []
        self._decisions: list[tuple[str, Decision]] = []
        self._readings: list[VariantReading] = []

    def on_calls(self, calls: Sequence[SimulatedCall]) -> None:
        self._calls.extend(calls)

    def recorded(self, slot: str, decision: Decision) -> None:
        self._decisions.append((slot, decision))

    def watch(self, simulation: Simulation) -> None:
        """Take a reading every half a minute, from now until the trace is over."""

        def read(simulation: Simulation) -> None:
            self._readings.append(simulation.reading())
            if not simulation.over:
                simulation.kernel.after(READ_EVERY_S, read, simulation)

        simulation.kernel.after(READ_EVERY_S, read, simulation)

    def verify(self, simulation: Simulation, readings: Sequence[VariantReading] = ()) -> None:
        """Raises Inconsistent. `readings` are further readings of the simulation, taken while it ran."""
        readings = sorted([*self._readings, *readings], key=lambda reading: reading.at_s)
        self._check_pins(self._check_memory(simulation, readings), bool(simulation.plan.machine.containers))
        self._check_counts(simulation)
        self._check_downloads(simulation)
        self._check_wakes(simulation)
        self._check_readings(simulation, readings)

    # -- memory ----------------------------------------------------------------------------------------------------
    def _check_memory(self, simulation: Simulation, readings: Sequence[VariantReading]) -> InstanceMemories:
        """The models never need more than the budget, and each reading and the end agree with the log."""
        memories, decisions = (
            InstanceMemories(simulation.lives, simulation.plan.machine.memory_bytes),
            deque(self._decisions),
        )
        for reading in [*readings, simulation.reading()]:
            while decisions and decisions[0][1].at_s <= reading.at_s:
                memories.record(*decisions.popleft())
            ready = dict(memories.ready(reading.at_s))
            _same(reading, "models", sum(len(one.here) for one in ready.values()))
            _same(reading, "memory_bytes", sum(one.planned_bytes for one in ready.values()))
        for slot, planned_bytes in simulation.planned_bytes().items():
            counted = ready[slot].planned_bytes
            if counted != planned_bytes:
                raise Inconsistent(f"{slot}: {planned_bytes:,} bytes are planned, {counted:,} by the log")
        return memories

    # -- pins ------------------------------------------------------------------------------------------------------
    def _check_pins(self, memories: InstanceMemories, piped: bool) -> None:
        """A model stays in memory as long as a request uses it; in a pipeline, until its container has answered."""
        stays = memories.stays()
        for call in self._calls:
            if call.failed:  # it may have reached no instance
                continue
            there = stays[call.slot, call.model]
            until_s = call.used_until_s if piped else call.done_s
            if not any(a <= call.ready_s and until_s <= b for a, b in there):
                used = f"{call.model} was used from {call.ready_s} to {until_s} s"
                raise Inconsistent(f"{call.slot}: {used}, and was not in memory all that time")

    # -- counters --------------------------------------------------------------------------------------------------
    def _check_counts(self, simulation: Simulation) -> None:
        logged, counts = Counter(decision.action for _, decision in self._decisions), simulation.counts
        for what, counted in (("load", counts.loads), ("evict", counts.unloads)):
            if counted != logged[what]:
                raise Inconsistent(f"{what}: {counted:,} were counted, {logged[what]:,} by the log")
        load_s = sum(decision.took_s for _, decision in self._decisions if decision.action == "loaded")
        if not isclose(counts.load_s, load_s, rel_tol=1e-9):
            raise Inconsistent(f"load seconds: {counts.load_s} were counted, {load_s} by the log")

    def _check_downloads(self, simulation: Simulation) -> None:
        """There is at least one download for each model that a slot loaded, and at most one for each load or
        refusal."""
        machine, most = simulation.plan.machine, 0
        requested: dict[str, Counter[str]] = defaultdict(Counter)
        for slot, decision in self._decisions:
            if decision.action in ("load", "failed"):
                requested[slot][decision.model] += 1
        loaded = {(slot, decision.model) for slot, decision in self._decisions if decision.action == "load"}
        for models in requested.values():
            fits = sum(simulation.profiles[name].disk_bytes for name in models) <= machine.disk_bytes
            once = fits and machine.cache and machine.models_rest is None
            most += len(models) if once else models.total()
        if not len(loaded) <= simulation.counts.downloads <= most:
            raise Inconsistent(
                f"downloads: {simulation.counts.downloads:,} were counted, {len(loaded):,} to {most:,} by the log"
            )

    def _check_wakes(self, simulation: Simulation) -> None:
        """A request wakes an instance when none is ready or starting. A request at the very moment of an evaluation of
        the sizing rule may not: the rule may have expected it, and started an instance first."""
        at_s = np.unique([call.arrived_s for call in self._calls])
        at_s = at_s[_present(at_s, *_lives(simulation), before=True) == 0]
        least, most = int(np.count_nonzero(at_s % PERIOD_S)), len(at_s)
        if not least <= simulation.counts.wakes <= most:
            raise Inconsistent(f"wakes: {simulation.counts.wakes:,} were counted, {least:,} to {most:,} by the log")

    def _check_readings(self, simulation: Simulation, readings: Sequence[VariantReading]) -> None:
        at_s = np.array([reading.at_s for reading in readings])
        arrived_s, done_s = [call.arrived_s for call in self._calls], [call.done_s for call in self._calls]
        in_flight, instances = _present(at_s, arrived_s, done_s), _present(at_s, *_lives(simulation))
        for reading, calls, lives in zip(readings, in_flight.tolist(), instances.tolist(), strict=True):
            _same(reading, "in_flight", calls)
            _same(reading, "instances", lives)


# -- inside ------------------------------------------------------------------------------------------------------------
def _same(reading: VariantReading, what: str, counted: int) -> None:
    if getattr(reading, what) != counted:
        raise Inconsistent(
            f"{what} at {reading.at_s} s: {getattr(reading, what):,} in the reading, {counted:,} by the log"
        )


def _lives(simulation: Simulation) -> tuple[list[float], list[float]]:
    """When each instance started, and when it retired."""
    lives = simulation.lives
    return [life.began_s for life in lives], [inf if life.retired_s is None else life.retired_s for life in lives]


def _present(
    at_s: NDArray[np.float64], since_s: Sequence[float], until_s: Sequence[float], before: bool = False
) -> NDArray[np.intp]:
    """How many had begun, and had not ended, at each moment; with `before`, without those that begin at that moment."""
    came = np.searchsorted(np.sort(since_s), at_s, side="left" if before else "right")
    return came - np.searchsorted(np.sort(until_s), at_s, side="right")
