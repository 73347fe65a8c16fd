"""Simulates the same traffic without a multi-model endpoint: each model on its own endpoint, or on serverless
inference.

It simulates AWS's services, not Torpor: an endpoint that is always on, and one that starts an instance for each request
that finds none idle.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil

from torpor.simulator.components.component_scenario import ComponentScenario
from torpor.simulator.costs.costing import endpoint_per_model, serverless
from torpor.simulator.costs.ways_to_serve import MONTH_H, Calls, Cost, CostTerms, HeldInstances, per_month
from torpor.simulator.engine.call_records import FOUND, SimulatedCall, call_batches
from torpor.simulator.engine.latency_histogram import Latencies
from torpor.simulator.engine.virtual_time import Kernel
from torpor.simulator.request_tally import OutcomeTally
from torpor.simulator.scenario import MIB, Scenario
from torpor.simulator.simulation_inputs import SimulationInputs
from torpor.simulator.simulation_run import CountedTrace
from torpor.time_units import HOUR_S
from torpor.workloads import Paced
from torpor.workloads.profile import ModelProfile, Spread
from torpor_endpoint.core.emulation import AWS
from torpor_endpoint.core.pricing.prices import PRICES, Prices

EXPIRES_S = 600.0
"""The seconds that an idle serverless instance stays. AWS does not say; SimFaaS found ten minutes on AWS Lambda."""
WAKE_S = AWS["serverless"].at(0.0)
"""The seconds that AWS takes to start one: the middle of the observed range."""

OWN_MIB = 190
"""The MiB that a container takes beside its model, as measured: its process has imported the frameworks for itself."""

UNBOUNDED = 1_000_000_000


@dataclass(frozen=True, eq=False)
class Apart:
    """The result of one way to serve that is no multi-model endpoint on instances of its own, over all models."""

    cost: Cost
    duration_s: float
    requests: int
    cold: int
    latencies: Latencies
    later: bool = False  # whether its answers come from a queue or from a job
    scenario: Scenario | None = None  # of a multi-model endpoint
    components: ComponentScenario | None = field(default=None, repr=False)  # of inference components

    @property
    def p99_s(self) -> float:
        return self.latencies.quantile(0.99)

    def usd_per_month(self, hours: float = MONTH_H) -> float | None:
        """The cost of a month of `hours` hours of the same traffic. None if the price is not known, or the duration is
        0."""
        return per_month(self.cost.usd, self.duration_s, hours)


def on_endpoints(inputs: SimulationInputs, size: str, prices: Prices = PRICES, overhead_s: float = 0.0) -> Apart:
    """Simulate an always-on instance of this type for each model, whose vCPUs predict. A model that nobody calls costs
    as much as any other. Raises BadScenario."""
    tally = OutcomeTally(overhead_s)
    called, duration_s, moved_bytes = _on_own_servers(inputs, Scenario(size).plan.machine.threads, tally)
    models = len(called.union(inputs.profiles))
    terms = CostTerms(prices, duration_s / HOUR_S)
    cost = endpoint_per_model(models, HeldInstances(size), terms, moved_bytes)
    cost = cost.with_objects(terms, sum(inputs.profile(model).stored_bytes for model in called), gets=0)
    return Apart(cost, duration_s, tally.warm.count, 0, tally.warm)


def alone(inputs: SimulationInputs, overhead_s: float = 0.0) -> Latencies:
    """The latencies of predictions alone, with every model in memory and without a queue. Nothing is faster."""
    tally = OutcomeTally(overhead_s)
    _on_own_servers(inputs, UNBOUNDED, tally)
    return tally.warm


def on_serverless(
    inputs: SimulationInputs,
    prices: Prices = PRICES,
    *,
    wake_s: float = WAKE_S,
    expires_s: float = EXPIRES_S,
    starts_billed: bool = False,
    overhead_s: float = 0.0,
    beside_load_s: float = 0.0,
    first_predict_s: float = 0.0,
) -> Apart:
    """Simulate a serverless endpoint for each model, with the smallest memory size that is enough for the largest
    model.

    A request uses the newest idle instance of its model, or waits for a new one: `wake_s`, then download and load,
    and `beside_load_s` on top of that. The first prediction after it takes `first_predict_s` more.
    """
    tally, kernel = OutcomeTally(overhead_s, beside_load_s, first_predict_s), Kernel()
    pools = _Pools(kernel, inputs, inputs.spread(), wake_s, expires_s)
    duration_s, moved_bytes = _play(inputs, kernel, pools.arrive, pools.done, tally)
    largest_bytes = max(profile.memory_bytes for profile in map(inputs.profile, pools.idle))
    memory_mib = ceil(largest_bytes / MIB) + OWN_MIB
    requests = tally.warm.count + tally.cold.count
    calls = Calls(requests, tally.predict_ms, tally.start_ms, moved_bytes)
    terms = CostTerms(prices, duration_s / HOUR_S)
    cost = serverless(memory_mib, calls, terms, starts_billed)
    stored_bytes = sum(inputs.profile(model).stored_bytes for model in pools.idle)
    # The first start of each model happens once, and not again in each month.
    cost = cost.with_objects(terms, stored_bytes, gets=max(0, tally.cold.count - len(pools.idle)))
    return Apart(cost, duration_s, requests, tally.cold.count, tally.warm + tally.cold)


# -- inside ------------------------------------------------------------------------------------------------------------
def _on_own_servers(inputs: SimulationInputs, servers: int, tally: OutcomeTally) -> tuple[set[str], float, int]:
    """Simulate one server for each model. Returns the models that were called, the duration in virtual seconds, and the
    bytes that were moved."""
    kernel, done = Kernel(), list[SimulatedCall]()
    spread, servers_of = inputs.spread(), dict[str, _ModelServer]()

    def arrive(model: str) -> None:
        if model not in servers_of:
            profile = inputs.profile(model)
            servers_of[model] = _ModelServer(kernel, servers, profile, spread.predict, done.append)
        servers_of[model].ask(SimulatedCall(model, kernel.now_s))

    duration_s, moved_bytes = _play(inputs, kernel, arrive, done, tally)
    return set(servers_of), duration_s, moved_bytes


@dataclass(slots=True, eq=False)
class _ModelServer:
    """One model's instance, with a number of servers and a queue."""

    kernel: Kernel
    servers: int
    profile: ModelProfile
    spread: Callable[[], float]
    ended: Callable[[SimulatedCall], None]
    busy: int = 0
    queue: deque[SimulatedCall] = field(default_factory=deque)

    def ask(self, call: SimulatedCall) -> None:
        call.routed_s = call.ready_s = call.arrived_s
        call.outcome = FOUND
        if self.busy < self.servers:
            self.busy += 1
            self.kernel.after(self._takes_s(), self.done, call)
        else:
            self.queue.append(call)

    def done(self, call: SimulatedCall) -> None:
        if self.queue:
            self.kernel.after(self._takes_s(), self.done, self.queue.popleft())
        else:
            self.busy -= 1
        call.done_s = self.kernel.now_s
        self.ended(call)

    def _takes_s(self) -> float:
        return self.profile.predict_delay_s + self.profile.predict_s * self.spread()


@dataclass(eq=False)
class _Pools:
    """The idle instances of each model: the time since when each is idle, the newest last."""

    kernel: Kernel
    inputs: SimulationInputs
    spread: Spread
    wake_s: float
    expires_s: float
    idle: dict[str, list[float]] = field(default_factory=dict)
    done: list[SimulatedCall] = field(default_factory=list)

    def arrive(self, model: str) -> None:
        now_s, profile = self.kernel.now_s, self.inputs.profile(model)
        since_s = self.idle.setdefault(model, [])
        call = SimulatedCall(model, now_s)
        call.routed_s = now_s
        if since_s and now_s - since_s[-1] < self.expires_s:
            since_s.pop()
            call.outcome = FOUND
            call.ready_s = now_s
        else:
            since_s.clear()
            load_s = (profile.pull_s + profile.into_memory_s) * self.spread.load()
            call.ready_s = now_s + self.wake_s * self.spread.wake() + load_s
        predict_s = profile.predict_delay_s + profile.predict_s * self.spread.predict()
        self.kernel.at(call.ready_s + predict_s, self.served, call)

    def served(self, call: SimulatedCall) -> None:
        call.done_s = self.kernel.now_s
        self.idle[call.model].append(call.done_s)
        self.done.append(call)


def _play(
    inputs: SimulationInputs,
    kernel: Kernel,
    arrive: Callable[[str], None],
    done: list[SimulatedCall],
    tally: OutcomeTally,
) -> tuple[float, int]:
    """Play the trace. Returns the duration in virtual seconds, with the quiet at its end, and the bytes of the
    requests."""
    trace = CountedTrace(Paced(inputs.trace), inputs.response_bytes)

    def count_ended() -> None:
        if done:
            tally.add(done)
            done.clear()

    for batch in call_batches(trace):
        kernel.play(zip(*batch, strict=True), arrive)
        count_ended()
    kernel.run()
    count_ended()
    return max(trace.lasts_s or 0.0, kernel.now_s), trace.moved_bytes
