"""Reads each instance's state into the metrics: loaded models, memory, processor, disk, and load times."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

from torpor_account.metrics import metrics
from torpor_account.metrics.registry import MetricRegistry
from torpor_container import wire
from torpor_endpoint.core.ledger_records import MemoryReading
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.readings import InstanceReading, Readings
from torpor_endpoint.fleet.supervision.resident_models import ResidentModels
from torpor_endpoint.host.launch import size_of
from torpor_endpoint.in_service.asked_state import state_of
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer

PERIOD_S = 20.0
"""AWS emits these metrics every 60 s. A request to CloudWatch reads them at once."""
SPAN_S = 5.0
"""The shortest span over which processor use is measured: processor time has steps of 10 ms."""
MICROSECONDS = 1e6
HELD = "held"
"""The source of the level of held requests. Every other source is an incarnation."""
POOL = "pool"
"""The source of the levels that a pool has as a whole."""
REFUSED = "refuse"
"""The action of a residency decision: the model does not fit."""

OF_COPY = {
    metrics.CONCURRENT_REQUESTS_PER_MODEL: metrics.CONCURRENT_REQUESTS_PER_COPY,
    metrics.CPU_UTILIZATION: metrics.COPY_CPU_UTILIZATION,
    metrics.MEMORY_UTILIZATION: metrics.COPY_MEMORY_UTILIZATION,
}
"""The levels of a copy of an inference component, by that of an instance."""

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
    """A container's processor time at the beginning of a measured span."""

    cpu_s: float
    at_s: float


class Collector:
    """Reads the state of every ready instance. `epoch` gives epoch seconds."""

    def __init__(
        self,
        roster: FleetRoster,
        registry: MetricRegistry,
        epoch: Callable[[], float],
        looked: Callable[[MemoryReading], None] = lambda reading: None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        readings: Readings | None = None,
    ) -> None:
        """`looked` gets each instance's use of memory beside its models; `readings`, all that instances report."""
        self._pause = pause
        self._roster = roster
        self._registry = registry
        self._epoch = epoch
        self._looked = looked
        self._readings = readings or Readings()
        self._processors: dict[str, ProcessorReading] = {}
        self._models: dict[str, ResidentModels] = {}  # by container
        self._reading = asyncio.Lock()

    async def run(self) -> None:
        """Read every instance each PERIOD_S, for ever."""
        while True:
            await self.refresh()
            await self._pause(PERIOD_S)

    def quiet_s(self, period_s: float) -> float:
        """Seconds that no reading is needed, if each `period_s` of a ready instance should have one."""
        ready = any(pool.ready for live in self._roster for pool in live.every_pool)
        return period_s if ready else inf

    async def refresh(self, wanted: Wanted = lambda pool, incarnation: True) -> None:
        """Read every ready instance now, or only those that are wanted."""
        async with self._reading:
            incarnations = [
                (pool, incarnation) for live in self._roster for pool in live.every_pool for incarnation in pool.ready
            ]
            asked = [(pool, incarnation) for pool, incarnation in incarnations if wanted(pool, incarnation)]
            await asyncio.gather(*(self._read(pool, one) for pool, one in asked))
            for live in self._roster:
                for variant, pool in live.pools.items():
                    self._put_pool(live.name, variant, pool)
            present = {one.id for _, incarnation in incarnations for one in incarnation.containers}
            self._processors = {name: reading for name, reading in self._processors.items() if name in present}
            self._models = {name: models for name, models in self._models.items() if name in present}
            self._readings.keep({incarnation.id for _, incarnation in incarnations})

    async def farewell(self, endpoint: str, variant: str, incarnation: Incarnation) -> None:
        """Read what a leaving instance has done since its last reading."""
        for container, state in await self._states(incarnation, differences=False):
            self._add_decisions(endpoint, variant, incarnation, container, state)

    async def _read(self, pool: InstancePool, incarnation: Incarnation) -> None:
        states, now_s = await self._states(incarnation, differences=True), self._epoch()
        if not states:
            return
        models = {one.name: self._models_of(one, state, now_s) for one, state in states}
        endpoint, variant = pool.endpoint, pool.variant.name
        budget_bytes, several = sum(state["budget_bytes"] for _, state in states), len(incarnation.containers) > 1
        for container, state in states:
            self._add_decisions(endpoint, variant, incarnation, container, state)
            if "own_bytes" in state:
                known = (
                    budget_bytes,
                    state["own_bytes"],
                    False,
                    container.name if several else "",
                    _workers(state, models[container.name]),
                )
                self._looked(MemoryReading(now_s, endpoint, variant, incarnation.id, *known))
        bare: dict[str, wire.InstanceStatus] = {
            one.name: {**state, "decisions": [], "models": []} for one, state in states
        }
        self._readings.read(incarnation.id, InstanceReading(now_s, bare, models))
        used_percents = [self._used_percent(container, state, now_s) for container, state in states]
        # a fleet that an update has replaced is not in a level of now; both fleets of a rollout are
        present = {HELD, *(one.id for fleet in self._fleets_of(pool) for one in fleet.ready)}
        seen = [(state, models[one.name]) for one, state in states]
        self._put_levels(pool, incarnation, seen, used_percents, present)
        dimensions = _dimensions(endpoint, variant)
        if several:
            for (container, state), used_percent in zip(states, used_percents, strict=True):
                named = {**dimensions, "ContainerName": container.name}
                for metric, level in _container_levels(state, used_percent).items():
                    self._registry.series(metric, named).put(incarnation.id, level, now_s, present)

    def _fleets_of(self, pool: InstancePool) -> Sequence[InstancePool]:
        """The pool, and during a rollout the other fleet of its variant."""
        live = self._roster.get(pool.endpoint)
        others = () if live is None or live.shift is None else live.every_pool
        return (pool, *(one for one in others if one is not pool and one.variant.name == pool.variant.name))

    def _put_levels(
        self,
        pool: InstancePool,
        incarnation: Incarnation,
        states: Sequence[tuple[wire.InstanceStatus, ResidentModels]],
        used_percents: Sequence[float | None],
        present: Collection[str],
    ) -> None:
        """Put the levels of an instance, or of a copy of an inference component."""
        levels = _levels(incarnation, states, used_percents)
        dimensions, copies = _dimensions(pool.endpoint, pool.variant.name), pool.variant.copies
        if copies is not None:
            dimensions = {"InferenceComponentName": copies.component}
            cores = copies.cores or size_of(pool.variant).vcpu
            levels = {OF_COPY[metric]: level for metric, level in levels.items() if metric in OF_COPY}
            if metrics.COPY_CPU_UTILIZATION in levels:
                levels[metrics.COPY_CPU_UTILIZATION] /= cores
            levels[metrics.COPY_MEMORY_UTILIZATION] *= copies.bound_mib / copies.memory_mib
        now_s = self._epoch()
        for metric, level in levels.items():
            self._registry.series(metric, dimensions).put(incarnation.id, level, now_s, present)

    async def _states(
        self, incarnation: Incarnation, differences: bool
    ) -> list[tuple[LiveContainer, wire.InstanceStatus]]:
        """The containers that answer, with their states: of the models, what changed since the last one; or none."""
        containers = list(incarnation.containers)
        known = {one.id: self._models[one.id].report for one in containers if one.id in self._models}

        def asked(one: LiveContainer) -> Awaitable[wire.InstanceStatus | None]:
            if differences:
                return state_of(one, after=one.last_seq, since=known.get(one.id, 0))
            return state_of(one, after=one.last_seq, most=0)

        states = await asyncio.gather(*map(asked, containers))
        return [(one, state) for one, state in zip(containers, states, strict=True) if state is not None]

    def _models_of(self, container: LiveContainer, state: wire.InstanceStatus, now_s: float) -> ResidentModels:
        models = self._models.setdefault(container.id, ResidentModels())
        models.take(state, now_s)
        return models

    def _put_pool(self, endpoint: str, variant: str, pool: InstancePool) -> None:
        """Put the levels of a pool, which is there without instances too. Counters of what is rare begin at 0."""
        dimensions, now_s = _dimensions(endpoint, variant), self._epoch()
        fleets = self._fleets_of(pool)
        held = sum(one.traffic.held for one in fleets)
        self._put_held(pool, held)
        for metric, level in (
            (metrics.READY_INSTANCES, sum(len(one.ready) for one in fleets)),
            (metrics.HELD_REQUESTS, held),
        ):
            self._registry.series(metric, dimensions).put(POOL, float(level), now_s)
        rare = (
            metrics.MODEL_LOADS_REFUSED,
            *((metrics.SHADOW_COPIES_DROPPED,) if pool.variant.shadow else ()),
        )
        for metric in rare:
            self._registry.series(metric, dimensions)

    def _put_held(self, pool: InstancePool, held: int) -> None:
        """Put the number of held requests beside those in the instances.

        A sample of 0 would lower the average over the instances, so there is none, unless a request has waited in this
        minute.
        """
        metric, dimensions = metrics.CONCURRENT_REQUESTS_PER_MODEL, _dimensions(pool.endpoint, pool.variant.name)
        if pool.variant.copies is not None:
            metric = metrics.CONCURRENT_REQUESTS_PER_COPY
            dimensions = {"InferenceComponentName": pool.variant.copies.component}
        series, now_s = self._registry.series(metric, dimensions), self._epoch()
        if held or series.has(HELD, now_s):
            series.put(HELD, float(held), now_s)

    def _add_decisions(
        self,
        endpoint: str,
        variant: str,
        incarnation: Incarnation,
        container: LiveContainer,
        state: wire.InstanceStatus,
    ) -> None:
        for record in state["decisions"]:
            if record["seq"] <= container.last_seq:  # two readings may overlap
                continue
            self._readings.decided(endpoint, variant, incarnation.id, record)
            if record["action"] in TIMES:
                series = self._registry.series(TIMES[record["action"]], _dimensions(endpoint, variant))
                series.add(record["took_s"] * MICROSECONDS, record["at_s"])
            elif record["action"] == REFUSED:
                series = self._registry.series(metrics.MODEL_LOADS_REFUSED, _dimensions(endpoint, variant))
                series.add(1.0, record["at_s"])
        container.last_seq = max(container.last_seq, state["last_seq"])
        came = state["shared"]["from_neighbours"] if "shared" in state else 0
        if came > container.from_neighbours:
            series = self._registry.series(metrics.ARTIFACTS_FROM_NEIGHBOURS, _dimensions(endpoint, variant))
            series.add(float(came - container.from_neighbours), self._epoch())
            container.from_neighbours = came

    def _used_percent(self, container: LiveContainer, state: wire.InstanceStatus, now_s: float) -> float | None:
        """The processor use since the last span began; None while the span is too short to be measured."""
        used_percent = None
        began = self._processors.setdefault(container.id, ProcessorReading(state["cpu_s"], now_s))
        span_s = now_s - began.at_s
        if span_s >= SPAN_S:
            used_percent = 100 * (state["cpu_s"] - began.cpu_s) / span_s
        if not 0 <= span_s < SPAN_S:  # the span is over, or the clock was set back
            self._processors[container.id] = ProcessorReading(state["cpu_s"], now_s)
        return used_percent


def _levels(
    incarnation: Incarnation,
    seen: Sequence[tuple[wire.InstanceStatus, ResidentModels]],
    used_percents: Sequence[float | None],
) -> dict[metrics.Metric, float]:
    """The levels of an instance: its containers together."""
    states = [state for state, _ in seen]
    levels = {
        metrics.CONCURRENT_REQUESTS_PER_MODEL: float(incarnation.in_flight),
        metrics.MEMORY_UTILIZATION: _percent(states, "used_bytes", "budget_bytes"),
        metrics.DISK_UTILIZATION: _percent(states, "disk_bytes", "disk_budget_bytes"),
    }
    if kept := [len(models) for state, models in seen if state["kept"]]:
        levels[metrics.LOADED_MODEL_COUNT] = float(sum(kept))
        levels[metrics.MAPPED_MODEL_COUNT] = float(sum(models.mapped for _, models in seen))
    if devices := [state["device"] for state in states if "device" in state]:
        levels[metrics.GPU_UTILIZATION] = sum({one["name"]: one["busy_percent"] for one in devices}.values())
        levels[metrics.GPU_MEMORY_UTILIZATION] = sum(100 * one["own_bytes"] / one["total_bytes"] for one in devices)
    measured = [one for one in used_percents if one is not None]
    if len(measured) == len(incarnation.containers):
        levels[metrics.CPU_UTILIZATION] = sum(measured)
    return levels


def _container_levels(state: wire.InstanceStatus, used_percent: float | None) -> dict[metrics.Metric, float]:
    levels = {metrics.CONTAINER_MEMORY_UTILIZATION: _percent([state], "used_bytes", "budget_bytes")}
    if used_percent is not None:
        levels[metrics.CONTAINER_CPU_UTILIZATION] = used_percent
    return levels


def _percent(
    states: Sequence[wire.InstanceStatus],
    used: Literal["used_bytes", "disk_bytes"],
    most: Literal["budget_bytes", "disk_budget_bytes"],
) -> float:
    return 100 * sum(state[used] for state in states) / sum(state[most] for state in states)


def _workers(state: wire.InstanceStatus, models: ResidentModels) -> int | None:
    """Those of a container's one model; None if that is not known, or it has many models."""
    first = models.first
    return first.get("workers") if first is not None and len(models) == 1 and not state["kept"] else None


def _dimensions(endpoint: str, variant: str) -> dict[str, str]:
    return {"EndpointName": endpoint, "VariantName": variant}
