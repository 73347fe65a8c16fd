"""Recounts a simulation from what it told: bytes, pins and instances, out of its decisions and calls alone.

The running counters are one account of what happened, the log is another. Where the two differ, one of them is wrong.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from torpor.errors import TorporError
from torpor.simulator.engine import Look, Simulation
from torpor.simulator.site import Call
from torpor_container.core.residency import Decision


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
    """Give it to a simulation as `told` and `recorded`, and then ask it. It keeps every call and decision: for traces
    that fit into memory."""

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._decisions: list[tuple[str, Decision]] = []

    def told(self, calls: Sequence[Call]) -> None:
        self._calls.extend(calls)

    def recorded(self, slot: str, decision: Decision) -> None:
        self._decisions.append((slot, decision))

    def verify(self, simulation: Simulation, looks: Sequence[Look] = ()) -> None:
        """Raises Inconsistent. `looks` are the simulation's own, taken while it ran."""
        books = self._books(simulation)
        self._check_pins(books)
        self._check_looks(simulation, looks)

    # -- bytes -----------------------------------------------------------------------------------------------------
    def _books(self, simulation: Simulation) -> dict[tuple[str, int], Books]:
        """One set for each life of a slot: a new instance begins with nothing."""
        budget_bytes = simulation.plan.machine.memory_bytes
        books: dict[tuple[str, int], Books] = defaultdict(Books)
        for slot, decision in self._decisions:
            one = books[slot, self._life(simulation, slot, decision.at_s)]
            try:
                one.told(decision)
            except KeyError as error:
                raise Inconsistent(f"{slot} at {decision.at_s} s: {decision.action} of {error}, not there") from error
            if one.planned_bytes > budget_bytes:
                raise Inconsistent(
                    f"{slot} at {decision.at_s} s: {one.planned_bytes:,} bytes are planned with {budget_bytes:,}"
                )
        for slot, planned_bytes in simulation.planned_bytes().items():
            counted = books[slot, self._life(simulation, slot, simulation.kernel.now_s)].planned_bytes
            if counted != planned_bytes:
                raise Inconsistent(f"{slot}: {planned_bytes:,} bytes are planned, {counted:,} by its decisions")
        return books

    def _life(self, simulation: Simulation, slot: str, at_s: float) -> int:
        """Which of the slot's lives that was."""
        return sum(life.slot == slot and (life.ready_s or 0.0) <= at_s for life in simulation.lives)

    # -- pins ------------------------------------------------------------------------------------------------------
    def _check_pins(self, books: dict[tuple[str, int], Books]) -> None:
        """A model is there all the time that a call uses it, and so nobody was unloaded under a call."""
        stays: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        for (slot, _), one in books.items():
            for name, since_s, until_s in one.stays:
                stays[slot, name].append((since_s, until_s))
            for name, since_s in one.since_s.items():
                stays[slot, name].append((since_s, float("inf")))
        for call in self._calls:
            there = stays[call.slot, call.model]
            if not call.failed and not any(a <= call.ready_s and call.done_s <= b for a, b in there):
                used = f"{call.model} was used from {call.ready_s} to {call.done_s} s"
                raise Inconsistent(f"{call.slot}: {used}, and not there all the time")

    # -- instances -------------------------------------------------------------------------------------------------
    def _check_looks(self, simulation: Simulation, looks: Sequence[Look]) -> None:
        for look in looks:
            for what, counted in self._counted(simulation, look.at_s):
                if counted != getattr(look, what):
                    raise Inconsistent(f"at {look.at_s} s: {getattr(look, what)} {what}, {counted} by the log")

    def _counted(self, simulation: Simulation, at_s: float) -> Iterator[tuple[str, int]]:
        yield "in_flight", sum(call.arrived_s <= at_s < call.done_s for call in self._calls)
        lives = [life for life in simulation.lives if life.began_s <= at_s]
        yield "instances", sum(life.retired_s is None or at_s < life.retired_s for life in lives)
