"""The switches of versions in a ledger, played again: a new version is loaded beside the one that answers.

The endpoint's own core decides in both: which version a name means, and when the new one takes over. A ledger has the
requests by the version that answered them. Where a version is still being loaded here when the ledger has its first
requests, the version beside it answers, as the endpoint does.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from torpor.simulator.engine.call_records import SimulatedCall
from torpor.simulator.engine.handovers.brought_models import in_use
from torpor.simulator.engine.simulated_instance import SimulatedInstance
from torpor.simulator.engine.simulated_variant import Simulation
from torpor.workloads import BadTrace, LedgerFile, Trace
from torpor.workloads.trace_formats.ledger_trace import one_variant
from torpor_container.core.occupancy import ModelStage
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.versions.version_answers import AnsweringVersions
from torpor_endpoint.core.versions.version_layout import VERSIONED
from torpor_endpoint.core.versions.version_steps import StepKind
from torpor_endpoint.core.versions.version_switching import VersionPlan, plan_versions, versions_in

STEPS = """SELECT at_s, kind, model, beside FROM version_steps
    WHERE endpoint = ? AND variant = ? AND at_s >= ? AND at_s < ? ORDER BY at_s"""
HAS_STEPS = "SELECT 1 FROM sqlite_master WHERE name = 'version_steps'"
"""A ledger of an earlier version has no steps."""
WITHDRAWN = "its version was withdrawn"
LOOK_S = 0.1
"""How long until an instance looks again whether a withdrawn version is still in use."""


class TakenStep(NamedTuple):
    """A step of a ledger, at a time of its trace."""

    at_s: float
    kind: StepKind
    key: str
    beside: str


class VersionPair(NamedTuple):
    """A version that answers, and the one that takes over from it, by their keys."""

    name: str
    old: str
    new: str

    def plan(self, ready: Placement[SimulatedInstance]) -> VersionPlan:
        """What the endpoint's core says of them, by what is in memory."""
        old, new = (VERSIONED.fullmatch(key) for key in (self.old, self.new))
        assert old is not None
        assert new is not None
        present = {int(old[2]): self.old, int(new[2]): self.new}
        keys = {key for instance in ready for key in (self.old, self.new) if _holds(instance, key)}
        answering, wanted = (AnsweringVersions(present, int(one[2])) for one in (old, new))
        return plan_versions(answering, wanted, present, versions_in(self.name, keys, present))


@dataclass(eq=False)
class VersionSwitches:
    """Plays the steps in a simulation whose trace begins at `began_s`."""

    steps: Sequence[TakenStep]
    began_s: float
    _under_way: dict[str, VersionPair] = field(default_factory=dict)  # by the key of the version that takes over

    def begin(self, simulation: Simulation) -> None:
        """Plan the steps of the simulation, which has not begun."""
        for step in self.steps:
            if step.at_s >= self.began_s:
                simulation.kernel.at(step.at_s - self.began_s, partial(self._take, simulation), step)

    def chosen(self, name: str, now_s: float, ready: Placement[SimulatedInstance]) -> SimulatedCall:
        """The request of a name in the trace."""
        pair = self._under_way.get(name)
        if pair is not None and pair.plan(ready).waits:
            return SimulatedCall(pair.old, now_s)
        if pair is not None:
            del self._under_way[name]
        return SimulatedCall(name, now_s)

    def _take(self, simulation: Simulation, step: TakenStep) -> None:
        if step.kind is StepKind.GONE:
            for instance in simulation.handovers.ready:
                _withdraw((instance, step.key))
            return
        found = VERSIONED.fullmatch(step.key)
        if found is None or VERSIONED.fullmatch(step.beside) is None:
            return
        pair = VersionPair(found[1], step.beside, step.key)
        if pair.plan(simulation.handovers.ready).load:
            self._under_way[step.key] = pair
            copies = sum(_holds(instance, step.beside) for instance in simulation.handovers.ready)
            for instance in simulation.handovers.ready.first(step.key, copies):
                instance.idle.expect(step.key)


def recorded_steps(trace: Trace) -> tuple[TakenStep, ...]:
    """The steps of a ledger that is a trace; none of another trace. Raises BadTrace."""
    if not isinstance(trace, LedgerFile):
        return ()
    try:
        with closing(sqlite3.connect(f"{trace.path.absolute().as_uri()}?mode=ro", uri=True)) as ledger:
            if ledger.execute(HAS_STEPS).fetchone() is None:
                return ()
            one = one_variant(ledger, trace.path, trace.endpoint, trace.variant, trace.until_s)
            rows = ledger.execute(STEPS, (*one, trace.since_s, trace.until_s)).fetchall()
    except sqlite3.Error as error:
        raise BadTrace(f"{trace.path} cannot be read as a ledger: {error}") from error
    return tuple(TakenStep(at_s, StepKind(kind), key, beside) for at_s, kind, key, beside in rows)


def first_s(trace: Trace) -> float:
    """When a trace has its first request, in its own time; 0 for one without."""
    return next((float(chunk.times_s[0]) for chunk in trace.chunks() if len(chunk)), 0.0)


def _withdraw(known: tuple[SimulatedInstance, str]) -> None:
    """Have an instance drop a version in memory and on disk, once the requests that use it have ended."""
    instance, key = known
    if in_use(instance.memory, key):
        instance.kernel.after(LOOK_S, _withdraw, known)
        return
    instance.idle.drop(key, WITHDRAWN)
    instance.disk.drop(key, WITHDRAWN)


def _holds(instance: SimulatedInstance, key: str) -> bool:
    held = instance.memory.get(key)
    return held is not None and held.stage is ModelStage.HERE
