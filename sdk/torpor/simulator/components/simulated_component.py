"""One inference component in virtual time: its copies, and the requests that they answer or that wait for one.

This module decides nothing. It repeats the endpoint's loop: a copy starts where there is room, the copy with the fewest
requests gets the next one, and a component without copies holds its requests and starts one, or refuses them (strict).
"""

from collections import deque
from collections.abc import Callable
from itertools import count
from typing import cast

from torpor.simulator.components.component_setup import ComponentSetup
from torpor.simulator.components.component_traces import model_name
from torpor.simulator.components.copies.copy_naps import CopyNaps
from torpor.simulator.components.copies.making_copies import CopyMaker, MadeCopy
from torpor.simulator.components.simulated_capacity import SimulatedCapacity
from torpor.simulator.engine.call_records import FAILED, SimulatedCall
from torpor.simulator.engine.handovers.simulated_handovers import SimulatedHandovers
from torpor.simulator.engine.simulated_variant import SimulatedLife
from torpor.simulator.engine.virtual_time import Kernel
from torpor.simulator.scenario import BadScenario
from torpor.workloads.profile import Spread
from torpor_endpoint.core.autoscaling.samples import VariantLoad
from torpor_endpoint.core.components.component_variants import copies_name
from torpor_endpoint.core.packing.packed_instances import CopyId
from torpor_endpoint.core.placement import Placement

NO_ROOM = (
    "component {name}: {short} of its {copies} copies fit on no instance beside the other components: allow more"
    " instances, or take a larger instance_type"
)


class SimulatedComponent:
    """`starts_s` is how long a copy takes to start; `trace_over` says whether nothing more comes."""

    def __init__(
        self,
        setup: ComponentSetup,
        maker: CopyMaker,
        kernel: Kernel,
        capacity: SimulatedCapacity,
        *,
        strict: bool,
        starts_s: float,
        spread: Spread,
        trace_over: Callable[[], bool],
    ) -> None:
        self.setup = setup
        self.desired = setup.copies
        self.counts, self.calls = maker.counts, maker.calls
        self.refused = 0  # requests without a copy, where the component is strict
        self.unplaced = 0  # copies that were wanted and had no room
        self.lives: list[SimulatedLife] = []
        self._within = model_name(setup.name, "")  # what the trace of a ledger has before a TargetModel
        self._handovers: SimulatedHandovers | None = None
        self.ready: Placement[MadeCopy] = Placement()
        if setup.models or maker.adapters:
            names = {one.removeprefix(self._within): one for one in setup.called} if setup.models else {}
            self._handovers = SimulatedHandovers(maker.slowed, names=names)
            self.ready = cast("Placement[MadeCopy]", self._handovers.ready)
        self._kernel = kernel
        self._capacity = capacity
        self._maker = maker
        self._strict = strict
        self._starts_s = starts_s
        self._spread = spread
        self._trace_over = trace_over
        self._wanted: dict[int, SimulatedLife] = {}
        self._leaving: dict[int, tuple[SimulatedLife, MadeCopy | None]] = {}
        self._waiting = 0  # copies that have room once others have left
        self._moving: dict[int, int] = {}  # by successor: the copy that leaves once it is ready
        self._held: deque[SimulatedCall] = deque()
        self._naps: CopyNaps | None = None
        self._begins = True

    def begin(self) -> None:
        """Have the copies that the component begins with, which are ready at once. Raises BadScenario where they have
        no room."""
        wanted = self.setup.copies
        self.rescale(wanted)
        self._begins = False
        for change in self.setup.changes:
            self._kernel.at(change.at_s, self.rescale, change.copies)
        if self.unplaced:
            raise BadScenario(NO_ROOM.format(name=self.setup.name, short=self.unplaced, copies=wanted))

    @property
    def size(self) -> int:
        """The copies that are wanted now, those among them that wait for room."""
        return len(self._wanted) + self._waiting

    @property
    def numbers(self) -> list[int]:
        return sorted(self._wanted)

    @property
    def in_flight(self) -> int:
        return self.calls.traffic.demand

    @property
    def stopping(self) -> bool:
        return bool(self._leaving)

    @property
    def load(self) -> VariantLoad:
        """What automatic scaling reads."""
        traffic = self.calls.traffic
        return VariantLoad(traffic.invocations, traffic.in_flight, self.size, len(self.ready))

    # -- requests ----------------------------------------------------------------------------------------------------
    def arrive(self, model: str) -> None:
        call = SimulatedCall(model, self._kernel.now_s)
        if self._strict and not self.size:
            self.refused += 1
            self._fail(call)
            self.calls.done.append(call)
            return
        if self._naps is not None:
            self._naps.came(call.arrived_s)
        self.calls.traffic.came(call.arrived_s)
        if len(self.ready):
            self._send(call)
            return
        self._held.append(call)
        if not self.size:
            self.scale(1)
            self.counts.wakes += self.size > 0

    def _route_held(self, held: deque[SimulatedCall]) -> None:
        """Route the held requests, after all copies that become ready at this moment are ready."""
        while held and len(self.ready):
            self._send(held.popleft())

    def _send(self, call: SimulatedCall) -> None:
        """As in the endpoint: where copies have many models, placement finds the copy by the TargetModel, and where
        they have adapters, by the one that is named."""
        if self._handovers is not None and (self.setup.models or call.model != self.setup.serves):
            target = call.model.removeprefix(self._within) if self.setup.models else call.model
            self._handovers.chosen(target).ask(call)
        else:
            self.ready.least_busy().ask(call)

    def _fail(self, call: SimulatedCall) -> None:
        call.outcome = FAILED
        call.routed_s = call.ready_s = call.done_s = self._kernel.now_s

    def _fail_held(self) -> None:
        """No copy can start: the requests that wait for one get an error."""
        while self._held:
            call = self._held.popleft()
            self._fail(call)
            self.calls.ended(call)

    # -- copies ------------------------------------------------------------------------------------------------------
    def rescale(self, desired: int) -> None:
        """UpdateInferenceComponentRuntimeConfig: want so many copies. With none, a request starts one, unless the
        component is strict, and it leaves by its keep-alive."""
        self.desired = desired
        if self._naps is not None:
            self._naps.ended = True
        asleep = not desired and not self._strict
        self._naps = CopyNaps(self._kernel, self, self._trace_over) if asleep else None
        if not (asleep and self.in_flight):  # a request may have woken it meanwhile
            self.scale(desired)

    def scale(self, size: int) -> None:
        """Want so many copies, or as many as have room. Where copies are leaving, those that have no room yet wait for
        it. Of too many, those that are not ready leave first, then those with the highest numbers."""
        self._waiting = 0
        while len(self._wanted) < size and self._start_one() is not None:
            pass
        for number in sorted(self._wanted, key=self._stays)[size:]:
            self._retire(number)
        short = size - len(self._wanted)
        if short > 0 and self._capacity.standing.leaving:
            self._waiting = short
            self._capacity.freed.append(self._again)
        elif short > 0:
            self.unplaced += short
            if not self._wanted:
                self._fail_held()

    def move(self, number: int, instance: int) -> bool:
        """Have the copy stand on another instance: its successor starts there, and it leaves once that is ready. False
        where it stays."""
        if number not in self._wanted or number in self._moving.values():
            return False
        successor = self._start_one(instance)
        if successor is None:
            return False
        self._moving[successor] = number
        return True

    def ended_calls(self) -> list[SimulatedCall]:
        """The requests that have ended since the last call, in their order."""
        done, self.calls.done = self.calls.done, []
        return done

    def end(self, until_s: float) -> None:
        """The simulation is over: the copies that are left end with it."""
        for life in self._wanted.values():
            life.ended_s = until_s

    def _again(self) -> None:
        if self._waiting:
            self.scale(self.size)

    def _stays(self, number: int) -> tuple[bool, int]:
        return self.ready.get(number) is None, number

    def _start_one(self, instance: int | None = None) -> int | None:
        """Start one more copy, with the lowest free number, on this instance if one is given. Its number; None where
        there is no room for it."""
        number = next(one for one in count() if one not in self._wanted and one not in self._leaving)
        if not self._capacity.take(self.setup.copy(number), instance):
            return None
        now_s = self._kernel.now_s
        life = SimulatedLife(f"{copies_name(self.setup.name)}/{number}", now_s)
        self._wanted[number] = life
        self.lives.append(life)
        if self._begins:
            self._become_ready((number, life))
        else:
            there_s = max(now_s, self._capacity.machine_of(CopyId(self.setup.name, number)).life.ready_s or now_s)
            at_s = there_s + self._starts_s * self._spread.wake()
            self._kernel.at(at_s, self._become_ready, (number, life))
        return number

    def _become_ready(self, copy: tuple[int, SimulatedLife]) -> None:
        number, life = copy
        if self._wanted.get(number) is not life:
            return  # it was retired meanwhile
        life.ready_s = self._kernel.now_s
        self.ready.offer(number, self._make_copy(number))
        self._kernel.soon(self._route_held, self._held)
        if (left := self._moving.pop(number, None)) is not None and left in self._wanted:
            self._retire(left)

    def _make_copy(self, number: int) -> MadeCopy:
        machine = self._capacity.machine_of(CopyId(self.setup.name, number))
        slot = f"{copies_name(self.setup.name)}/{number}"
        return self._maker.made(slot, machine, lambda _: self._gone(number))

    def _retire(self, number: int) -> None:
        name = CopyId(self.setup.name, number)
        life, copy = self._wanted.pop(number), self.ready.withdraw(number)
        life.retired_s = self._kernel.now_s
        self._moving.pop(number, None)
        self._leaving[number] = life, copy
        self._capacity.standing.leave(name)
        if copy is not None:
            copy.retired = True
        if copy is None or not copy.in_flight:
            self._gone(number)

    def _gone(self, number: int) -> None:
        life, copy = self._leaving.pop(number)
        life.ended_s = self._kernel.now_s
        if copy is not None:
            self._maker.gone(copy)
        self._capacity.free(CopyId(self.setup.name, number))
