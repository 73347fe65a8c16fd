"""An endpoint for inference components in virtual time: it finds the component of each request.

This module decides nothing. Copies are placed by the capacity, and answer by their component.
"""

from collections.abc import Mapping

from torpor.simulator.components.component_scenario import ComponentScenario
from torpor.simulator.components.component_setup import ComponentSetup
from torpor.simulator.components.copies.copy_scaling import CopyScaler
from torpor.simulator.components.copies.making_copies import CopyMaker
from torpor.simulator.components.simulated_capacity import SimulatedCapacity
from torpor.simulator.components.simulated_component import SimulatedComponent
from torpor.simulator.engine.call_records import SimulatedCall, VariantCalls, VariantCounts, call_batches
from torpor.simulator.engine.simulated_variant import OnCalls, VariantReading
from torpor.simulator.engine.virtual_time import Kernel
from torpor.simulator.scenario import MIB, BadScenario
from torpor.workloads import Trace
from torpor.workloads.profile import EXACT, ModelProfile, Spread
from torpor_endpoint.core.packing.scale_in_plans import CopyMove

NO_COMPONENT = "model {model!r} is called, and no component serves it: the components serve {models}"
SHOWN = 5


class SimulatedEndpoint:
    """`on_calls` gets requests in batches, in the order in which they ended."""

    def __init__(
        self,
        scenario: ComponentScenario,
        profiles: Mapping[str, ModelProfile],
        on_calls: OnCalls,
        spread: Spread = EXACT,
        kernel: Kernel | None = None,
    ) -> None:
        self.scenario = scenario
        self.kernel = kernel or Kernel()
        self.lasts_s = 0.0  # the trace, with the quiet at its end; set once the trace is read
        self.over = False
        self.moves = 0  # copies that moved to other instances
        self._on_calls = on_calls
        self.capacity = SimulatedCapacity(self.kernel, scenario, self._move)
        self.components = [self._made(setup, profiles, spread) for setup in scenario.components]
        self._named = {one.setup.name: one for one in self.components}
        self._serving = {name: one for one in self.components for name in one.setup.called}
        self._serving |= {one.serves: self._named[one.base] for one in scenario.adapters}
        self._scalers = {
            one.setup.name: CopyScaler(self.kernel, one, scaling, self._is_over, strict=scenario.strict)
            for one in self.components
            if (scaling := one.setup.scaling) is not None
        }
        for one in self.components:
            one.begin()
        self.capacity.begins = False

    def run(self, trace: Trace) -> None:
        """Play the whole trace, and then what is still in flight. Raises BadScenario for a model that no component
        serves."""
        for scaler in self._scalers.values():
            scaler.came()
        for batch in call_batches(trace):
            self.kernel.play(zip(*batch, strict=True), self._arrive)
            self._tell()
        self.lasts_s = trace.lasts_s or 0.0
        self.over = True
        self.kernel.run()
        self._tell()
        until_s = max(self.lasts_s, self.kernel.now_s)
        for machine in self.capacity.wanted.values():
            machine.life.ended_s = until_s
        for component in self.components:
            component.end(until_s)

    def component(self, name: str) -> SimulatedComponent:
        return self._named[name]

    @property
    def in_flight(self) -> int:
        return sum(one.in_flight for one in self.components)

    @property
    def quiet(self) -> bool:
        """Whether nothing more happens that a reading would show."""
        return self.over and self.kernel.now_s >= self.lasts_s and not self.in_flight

    def reading(self) -> VariantReading:
        """`models` are the ready copies, and the bytes those that all copies reserve."""
        ready = sum(len(one.ready) for one in self.components)
        reserved_mib = sum(one.setup.memory_mib * len(one.numbers) for one in self.components)
        instances = len(self.capacity.wanted)
        return VariantReading(self.kernel.now_s, instances, self.in_flight, ready, int(reserved_mib * MIB))

    # -- inside --------------------------------------------------------------------------------------------------------
    def _made(self, setup: ComponentSetup, profiles: Mapping[str, ModelProfile], spread: Spread) -> SimulatedComponent:
        scenario = self.scenario
        adapters = [one for one in scenario.adapters if one.base == setup.name]
        maker = CopyMaker(
            setup,
            adapters,
            profiles,
            self.kernel,
            VariantCalls(),
            VariantCounts(),
            spread,
            scenario.own_bytes,
            self._is_over,
        )
        return SimulatedComponent(
            setup,
            maker,
            self.kernel,
            self.capacity,
            strict=scenario.strict,
            starts_s=scenario.wake_s + maker.model_s if setup.wake_s is None else setup.wake_s,
            spread=spread,
            trace_over=self._is_over,
        )

    def _is_over(self) -> bool:
        return self.over

    def _arrive(self, model: str) -> None:
        component = self._serving.get(model)
        if component is None:
            models = [*self._serving][:SHOWN]
            listed = ", ".join(models) + (", …" if len(self._serving) > SHOWN else "")
            raise BadScenario(NO_COMPONENT.format(model=model, models=listed))
        component.arrive(model)
        if (scaler := self._scalers.get(component.setup.name)) is not None:
            scaler.came()

    def _move(self, move: CopyMove) -> None:
        self.moves += self._named[move.copy.component].move(move.copy.number, move.to)

    def _tell(self) -> None:
        done = [call for one in self.components for call in one.ended_calls()]
        if done:
            done.sort(key=_when_done)
            self._on_calls(done)


def _when_done(call: SimulatedCall) -> float:
    return call.done_s
