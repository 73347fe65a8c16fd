"""The instances of a variant for components, in virtual time: they come with copies that need room, and leave idle.

This module decides nothing. `torpor_endpoint.core.packing` places copies, and says which of them move and which
instance leaves, as in the endpoint.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from math import ceil, floor, inf

from torpor.simulator.components.component_scenario import ComponentScenario
from torpor.simulator.engine.processors import Processors
from torpor.simulator.engine.simulated_variant import SimulatedLife
from torpor.simulator.engine.sizing_rounds import PERIOD_S
from torpor.simulator.engine.virtual_time import Kernel
from torpor_endpoint.core.packing.further_instances import further_instance
from torpor_endpoint.core.packing.packed_instances import CopyId, PackedCopy, PackedInstance
from torpor_endpoint.core.packing.scale_in_plans import CopyMove
from torpor_endpoint.core.packing.standing_copies import InstancePlace, StandingCopies
from torpor_endpoint.core.pricing.catalogue import CATALOGUE
from torpor_endpoint.core.resource_records import InstanceTypePool


@dataclass(frozen=True, eq=False)
class SimulatedMachine:
    """One instance: its lifetime, its type, and the processors that copies without reserved ones share."""

    life: SimulatedLife
    instance_type: str
    processors: Processors

    @property
    def vcpus(self) -> int:
        return CATALOGUE[self.instance_type].vcpus


class SimulatedCapacity:
    """`moves` is called with each copy that is to move. A function in `freed` is called once, when
    there is room again. The rule that lets instances leave is looked at on whole seconds, as in the endpoint."""

    def __init__(self, kernel: Kernel, scenario: ComponentScenario, moves: Callable[[CopyMove], None]) -> None:
        self._kernel = kernel
        self._scenario = scenario
        self._moves = moves
        self.standing = StandingCopies()
        self.freed: list[Callable[[], None]] = []
        self.machines: list[SimulatedMachine] = []
        self.wanted: dict[int, SimulatedMachine] = {}
        self.begins = True  # what comes now is there before the trace begins
        self._rooms = {kind: scenario.room_of(kind) for kind in scenario.types}
        given = [InstanceTypePool(scenario.instance_type, 1)]
        self._pools = [pool for pool in scenario.pools or given if pool.instance_type in self._rooms]
        self._next_look_s = inf
        self._ending: set[int] = set()
        for _ in range(scenario.begins):
            self._start(scenario.types[0])
        self.look_soon()

    @property
    def places(self) -> list[InstancePlace]:
        """The wanted instances, in ascending order of their numbers."""
        return [
            InstancePlace(number, self._rooms[one.instance_type], one.instance_type)
            for number, one in sorted(self.wanted.items())
        ]

    @property
    def packed(self) -> list[PackedInstance]:
        """The wanted instances, with their copies."""
        return self.standing.instances(self.places)

    def take(self, copy: PackedCopy, only: int | None = None) -> bool:
        """Place a copy, on the instance of this number if one is given, and else on an instance more where that is
        allowed. False where there is no room for it."""
        found = self.standing.take(copy, self.places, only)
        if found is None and only is None and (came := self._further(copy)) is not None:
            found = self.standing.take(copy, self.places, came)
        if found is not None:
            self.look_soon()
        return found is not None

    def free(self, name: CopyId) -> None:
        """The copy is gone."""
        self.standing.free(name)
        self.look_soon()
        waiting, self.freed = self.freed, []
        for again in waiting:
            again()

    def machine_of(self, name: CopyId) -> SimulatedMachine:
        """The instance that the copy is on."""
        number = self.standing.place_of(name)
        assert number is not None, "the copy has a place"
        return self.wanted[number]

    # -- instances that follow the copies ----------------------------------------------------------------------------
    def look_soon(self) -> None:
        """Something has changed: look again at the next whole second."""
        if self._scenario.managed:
            self._look_at(floor(self._kernel.now_s) + PERIOD_S)

    def _look_at(self, at_s: float) -> None:
        if at_s < self._next_look_s:
            self._next_look_s = at_s
            self._kernel.at(at_s, self._look, at_s)

    def _look(self, planned_s: float) -> None:
        if planned_s != self._next_look_s:
            return  # another look was planned meanwhile
        self._next_look_s, now_s, scenario = inf, self._kernel.now_s, self._scenario
        plan = self.standing.scale_in(self.places, scenario.scale_in, scenario.least, now_s)
        for number in plan.released:
            self._end(number)
        for move in plan.moves:
            self._moves(move)
        until_s = self.standing.quiet_until_s(self.places, scenario.scale_in, scenario.least, now_s)
        if until_s <= now_s:  # no copy could move now, and none can before something changes
            until_s = self.standing.quiet_until_s(self.places, None, scenario.least, now_s)
        if until_s < inf:
            self._look_at(max(floor(now_s) + PERIOD_S, float(ceil(until_s))))

    def _further(self, copy: PackedCopy) -> int | None:
        """The number of one more instance for the copy; None if none may come, or helps."""
        if not self._scenario.managed:
            return None
        coming = further_instance(copy, self.packed, self._pools, self._rooms, self._scenario.most)
        if coming is None:
            return None
        if coming.instead_of is not None:
            self._end(coming.instead_of)
        return self._start(coming.instance_type)

    def _end(self, number: int) -> None:
        """The instance leaves. Its number is free after this moment, as in the endpoint."""
        life = self.wanted.pop(number).life
        life.retired_s = life.ended_s = self._kernel.now_s
        self._ending.add(number)
        self._kernel.soon(self._ending.discard, number)

    def _start(self, kind: str) -> int:
        number = next(number for number in count() if number not in self.wanted and number not in self._ending)
        now_s = self._kernel.now_s
        life = SimulatedLife(f"instance/{number}", now_s)
        life.ready_s = now_s if self.begins else now_s + self._scenario.instance_wake_s
        machine = SimulatedMachine(life, kind, Processors(self._kernel, CATALOGUE[kind].vcpus))
        self.machines.append(machine)
        self.wanted[number] = machine
        return number
