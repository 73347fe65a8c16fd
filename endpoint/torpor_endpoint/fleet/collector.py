"""Reads each instance's state into the metrics: loaded models, memory, processor, disk, and load times."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from torpor_container import wire
from torpor_container.transport.upstream import UpstreamError
from torpor_endpoint.core.ledger_records import MemoryReading
from torpor_endpoint.fleet.incarnation import Incarnation
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.readings import InstanceReading, Readings
from torpor_endpoint.fleet.roster import Roster
from torpor_endpoint.metrics import metrics
from torpor_endpoint.metrics.registry import MetricRegistry

PERIOD_S = 20.0
"""AWS emits these metrics every 60 s. A request to CloudWatch reads them at once."""
ANSWER_WITHIN_S = 2.0
SPAN_S = 5.0
"""The shortest span over which processor use is measured: processor time has steps of 10 ms."""
MICROSECONDS = 1e6
HELD = "held"
"""The source of the level of held requests. Every other source is an incarnation."""

TIMES = {
    # action of a residency decision: the metric of its duration
    "downloaded": metrics.MODEL_DOWNLOADING_TIME,
    "loaded": metrics.MODEL_LOADING_TIME,
    "unloaded": metrics.MODEL_UNLOADING_TIME,
}


Wanted = Callable[[InstancePool, Incarnation], bool]
"""Whether an instance of this pool is to be read."""


@dataclass
class ProcessorReading:
    """An instance's processor time at the beginning of a measured span."""

    cpu_s: float
    at_s: float


class Collector:
    """Reads the state of every ready instance. `epoch` gives epoch seconds."""

    def __init__(
        self,
        roster: Roster,
        registry: MetricRegistry,
        epoch: Callable[[], float],
        looked: Callable[[MemoryReading], None] = lambda reading: None,
        readings: Readings | None = None,
    ) -> None:
        """`looked` gets each instance's use of memory beside its models; `readings`, all that instances report."""
        self._roster = roster
        self._registry = registry
        self._epoch = epoch
        self._looked = looked
        self._readings = readings or Readings()
        self._processors: dict[str, ProcessorReading] = {}
        self._reading = asyncio.Lock()

    async def run(self) -> None:
        """Read every instance each PERIOD_S, for ever."""
        while True:
            await self.refresh()
            await asyncio.sleep(PERIOD_S)

    async def refresh(self, wanted: Wanted = lambda pool, incarnation: True) -> None:
        """Read every ready instance now, or only those that are wanted."""
        async with self._reading:
            incarnations = [
                (pool, incarnation)
                for live in self._roster
                for pool in live.pools.values()
                for incarnation in pool.ready
            ]
            asked = [(pool, incarnation) for pool, incarnation in incarnations if wanted(pool, incarnation)]
            await asyncio.gather(*(self._read(pool.endpoint, pool.variant.name, one) for pool, one in asked))
            for live in self._roster:
                for variant, pool in live.pools.items():
                    self._put_held(live.name, variant, pool.traffic.held)
            present = {incarnation.id for _, incarnation in incarnations}
            self._processors = {name: reading for name, reading in self._processors.items() if name in present}
            self._readings.keep(present)

    async def farewell(self, endpoint: str, variant: str, incarnation: Incarnation) -> None:
        """Read what a leaving instance has done since its last reading."""
        state = await state_of(incarnation, after=incarnation.last_seq)
        if state is not None:
            self._add_decisions(endpoint, variant, incarnation, state)

    async def _read(self, endpoint: str, variant: str, incarnation: Incarnation) -> None:
        state = await state_of(incarnation, after=incarnation.last_seq)
        if state is None:
            return
        self._add_decisions(endpoint, variant, incarnation, state)
        now_s = self._epoch()
        self._readings.read(incarnation.id, InstanceReading(now_s, {**state, "decisions": []}))
        if "own_bytes" in state:
            known = state["budget_bytes"], state["own_bytes"]
            self._looked(MemoryReading(now_s, endpoint, variant, incarnation.id, *known))
        for metric, level in self._levels(incarnation, state, now_s).items():
            self._registry.series(metric, _dimensions(endpoint, variant)).put(incarnation.id, level, now_s)

    def _put_held(self, endpoint: str, variant: str, held: int) -> None:
        """Put the number of held requests beside those in the instances.

        A sample of 0 would lower the average over the instances, so there is none, unless a request has waited in this
        minute.
        """
        series = self._registry.series(metrics.CONCURRENT_REQUESTS_PER_MODEL, _dimensions(endpoint, variant))
        now_s = self._epoch()
        if held or series.has(HELD, now_s):
            series.put(HELD, float(held), now_s)

    def _add_decisions(self, endpoint: str, variant: str, incarnation: Incarnation, state: wire.InstanceStatus) -> None:
        for record in state["decisions"]:
            if record["seq"] <= incarnation.last_seq:  # two readings may overlap
                continue
            self._readings.decided(endpoint, variant, incarnation.id, record)
            if record["action"] in TIMES:
                series = self._registry.series(TIMES[record["action"]], _dimensions(endpoint, variant))
                series.add(record["took_s"] * MICROSECONDS, record["at_s"])
        incarnation.last_seq = max(incarnation.last_seq, state["last_seq"])

    def _levels(
        self, incarnation: Incarnation, state: wire.InstanceStatus, now_s: float
    ) -> dict[metrics.Metric, float]:
        levels = {
            metrics.CONCURRENT_REQUESTS_PER_MODEL: float(incarnation.in_flight),
            metrics.MEMORY_UTILIZATION: 100 * state["used_bytes"] / state["budget_bytes"],
            metrics.DISK_UTILIZATION: 100 * state["disk_bytes"] / state["disk_budget_bytes"],
        }
        if state["kept"]:
            levels[metrics.LOADED_MODEL_COUNT] = float(len(state["models"]))
        began = self._processors.setdefault(incarnation.id, ProcessorReading(state["cpu_s"], now_s))
        span_s = now_s - began.at_s
        if span_s >= SPAN_S:
            levels[metrics.CPU_UTILIZATION] = 100 * (state["cpu_s"] - began.cpu_s) / span_s
        if not 0 <= span_s < SPAN_S:  # the span is over, or the clock was set back
            self._processors[incarnation.id] = ProcessorReading(state["cpu_s"], now_s)
        return levels


def _dimensions(endpoint: str, variant: str) -> dict[str, str]:
    return {"EndpointName": endpoint, "VariantName": variant}


async def state_of(incarnation: Incarnation, after: int = 0, model: str = "") -> wire.InstanceStatus | None:
    """The instance's own report of its state; None if it does not answer.

    The report has the decisions later than number `after`, and only those about `model` if it is given.
    """
    path = f"{wire.STATE}?after={after}" + (f"&model={quote(model, safe='')}" if model else "")
    try:
        answer = await incarnation.upstream.send("GET", path, (), [], ANSWER_WITHIN_S)
    except UpstreamError:
        return None
    if answer.status != 200:
        return None
    state: wire.InstanceStatus = json.loads(answer.body)
    return state
