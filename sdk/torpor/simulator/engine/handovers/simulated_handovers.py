"""Handovers and second copies in virtual time: a model stays at the instance that has it until another one has loaded
it, as at an endpoint.

This module decides nothing. `torpor_endpoint.core.routing.handing_over` and `second_copies` say which instance serves a
model, and which is loaded next; `in_service.newcomer_loading` does at an endpoint what is done here. A load that fails
here fails again: its model stays where it is.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from torpor.simulator.engine.handovers.expected_waits import expects_quicker_load
from torpor.simulator.engine.simulated_instance import SimulatedInstance
from torpor.workloads.profile import ModelProfile
from torpor_endpoint.core.placement import OWNERS_MAX, UNBOUNDED, Placement
from torpor_endpoint.core.routing.handing_over import DueLoads, Handover


class SimulatedHandovers:
    """Those of one variant. Its instances are in `ready`.

    `profiles` has the times of each model, by the name that an instance knows it by. `names` has that name where it is
    not the one that the model is placed by. `catch_up` is called with an instance before it begins a load.
    """

    def __init__(
        self,
        profiles: Mapping[str, ModelProfile],
        most: int = UNBOUNDED,
        owners_max: int = OWNERS_MAX,
        names: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._profiles = profiles
        self._names = names
        self.catch_up: Callable[[SimulatedInstance], None] | None = None
        self.ready = Placement[SimulatedInstance](
            most, owners_max=owners_max, hands_over=self._begin, quicker=self._is_load_quicker
        )
        self._due = DueLoads(self.ready.awaits)

    def chosen(self, model: str) -> SimulatedInstance:
        """The instance for a request. One that placement asks, and that would have to load the model, gets none for it.
        A request of a pipeline has a machine, which finds that out by itself."""
        ready = self.ready
        instance = ready.pick(model)
        if model not in ready.moving:
            copied = ready.copied.get(model)
            if copied is None or (copied.owner is instance and copied.coming is None):
                return instance  # as `asks` says, without calls
        if not ready.asks(model, instance) or instance.brought.has(self._names.get(model, model)):
            return instance
        ready.lacks(model, instance)
        return ready.pick(model)

    def _is_load_quicker(self, model: str, instance: SimulatedInstance) -> bool:
        profile, threads = self._profiles[self._names.get(model, model)], instance.turns.sharing.parallel
        return expects_quicker_load(profile, instance.in_flight, threads, instance.processors.count)

    def _begin(self, model: str, handover: Handover[SimulatedInstance]) -> None:
        if self.catch_up is not None:
            self.catch_up(handover.newcomer)
        self._due.add(model, handover)
        if handover.copies:
            self._start(handover.newcomer)
        else:  # the former owner is asked first
            handover.newcomer.kernel.soon(self._start, handover.newcomer)

    def _start(self, newcomer: SimulatedInstance) -> None:
        while (due := self._due.next(newcomer)) is not None:
            model, handover = due
            name = self._names.get(model, model)
            if handover.copies or handover.former.brought.has(name):
                newcomer.brought.bring(name, partial(self._brought, model, newcomer))
            else:
                self.ready.arrived(model, newcomer)
                self._due.ended(newcomer)

    def _brought(self, model: str, newcomer: SimulatedInstance, here: bool) -> None:
        if here:
            self.ready.arrived(model, newcomer)
        self._due.ended(newcomer)
        newcomer.kernel.soon(self._start, newcomer)
