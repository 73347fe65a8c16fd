"""Handovers in virtual time: a model stays with its former owner until the new one has loaded it, as at an endpoint.

This module decides nothing. `torpor_endpoint.core.routing.handing_over` says who serves a model, and which is loaded
next; `in_service.newcomer_loading` does at an endpoint what is done here. A load that fails here fails again: its model
stays where it is.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from torpor.simulator.engine.simulated_instance import SimulatedInstance
from torpor.simulator.engine.virtual_time import Kernel
from torpor_endpoint.core.placement import OWNERS_MAX, UNBOUNDED, Placement
from torpor_endpoint.core.routing.handing_over import DueLoads, Handover


class SimulatedHandovers:
    """Those of one variant. Its instances are in `ready`.

    `names` has the name that an instance knows a model by, if that is not the one that it is placed by.
    """

    def __init__(
        self,
        kernel: Kernel,
        most: int = UNBOUNDED,
        owners_max: int = OWNERS_MAX,
        names: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._kernel = kernel
        self._names = names
        self.ready = Placement[SimulatedInstance](most, owners_max=owners_max, hands_over=self._begin)
        self._due = DueLoads(self.ready.moving)

    def chosen(self, model: str) -> SimulatedInstance:
        """The instance for a request. A former owner that would have to load the model gets none for it. A request of
        a pipeline has a machine, which finds that out by itself."""
        ready = self.ready
        instance = ready.pick(model)
        if not ready.moving or (handover := ready.moving.get(model)) is None or handover.former is not instance:
            return instance
        if not instance.brought.has(self._names.get(model, model)):
            ready.arrived(model, handover.newcomer)
        return ready.pick(model)

    def _begin(self, model: str, handover: Handover[SimulatedInstance]) -> None:
        self._due.add(model, handover)
        self._kernel.soon(self._start, handover.newcomer)

    def _start(self, newcomer: SimulatedInstance) -> None:
        while (due := self._due.next(newcomer)) is not None:
            model, handover = due
            name = self._names.get(model, model)
            if handover.former.brought.has(name):
                newcomer.brought.bring(name, partial(self._brought, model, newcomer))
            else:
                self.ready.arrived(model, newcomer)
                self._due.ended(newcomer)

    def _brought(self, model: str, newcomer: SimulatedInstance, here: bool) -> None:
        if here:
            self.ready.arrived(model, newcomer)
        self._due.ended(newcomer)
        self._kernel.soon(self._start, newcomer)
