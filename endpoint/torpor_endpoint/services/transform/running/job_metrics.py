"""Reads how much processor, memory and disk the instances of a job use, into the metrics of transform jobs."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import chain, repeat

from torpor_account.metrics.metrics import JOB_METRICS
from torpor_account.metrics.registry import MetricRegistry
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.in_service.asked_state import state_of
from torpor_endpoint.in_service.incarnation import Incarnation

CPU, MEMORY, DISK = JOB_METRICS


def pauses_s() -> Iterator[float]:
    """Seconds between two readings: a short job has two as well, between which its processor time is counted."""
    return chain((0.5, 1.0, 5.0), repeat(20.0))


class JobMetrics:
    """The metrics of the instances of one job. `clock` gives epoch seconds."""

    def __init__(self, job: str, pool: InstancePool, registry: MetricRegistry, clock: Callable[[], float]) -> None:
        self._job = job
        self._pool = pool
        self._registry = registry
        self._clock = clock
        self._spent: dict[str, tuple[float, float]] = {}  # by incarnation: its processor time, and when that was read

    async def run(self) -> None:
        """Read all instances again and again, for ever."""
        for pause_s in pauses_s():
            await asyncio.sleep(pause_s)
            await self.read()

    async def read(self) -> None:
        """Read all instances now."""
        await asyncio.gather(*map(self._read, self._pool.ready))

    async def _read(self, incarnation: Incarnation) -> None:
        found = await asyncio.gather(*map(state_of, list(incarnation.containers)))
        states = [state for state in found if state is not None]
        if len(states) < len(found):  # one has ended, or is no container of Torpor's
            return
        now_s, spent_s = self._clock(), sum(state["cpu_s"] for state in states)
        levels = {
            MEMORY: _percent([(state["used_bytes"], state["budget_bytes"]) for state in states]),
            DISK: _percent([(state["disk_bytes"], state["disk_budget_bytes"]) for state in states]),
        }
        before_s, read_s = self._spent.get(incarnation.id, (spent_s, now_s))
        self._spent[incarnation.id] = spent_s, now_s
        if now_s > read_s:
            levels[CPU] = 100 * (spent_s - before_s) / (now_s - read_s)
        host = {"Host": f"{self._job}/{incarnation.id}"}
        for metric, level in levels.items():
            self._registry.series(metric, host).put(incarnation.id, level, now_s)


def _percent(parts: list[tuple[int, int]]) -> float:
    return 100 * sum(used for used, _ in parts) / sum(most for _, most in parts)
