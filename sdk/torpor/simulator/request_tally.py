"""Counts the requests of a simulation as they end, in memory that does not grow with their number."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torpor.simulator.engine.call_records import (
    FAILED,
    FOUND,
    HELD,
    LOADED,
    SimulatedCall,
    call_columns,
    passed_rows,
    routed_times,
)
from torpor.simulator.engine.latency_histogram import Floats, Latencies
from torpor.simulator.simulated_timeline import Timeline
from torpor.workloads.profile import ContainerProfile


@dataclass(frozen=True)
class ModelUse:
    """One model's requests. `total_s` is the sum of their latencies."""

    model: str
    requests: int
    cold: int
    failed: int
    total_s: float


@dataclass(frozen=True, eq=False)
class ContainerTimes:
    """What requests took in one container of a pipeline, their waits in it included."""

    container: str
    latencies: Latencies


class ContainersTally:
    """Counts the seconds of a pipeline's requests in each of its containers."""

    def __init__(self, containers: Sequence[ContainerProfile]) -> None:
        self.times = [ContainerTimes(one.name, Latencies()) for one in containers]
        self._before = next(number for number, one in enumerate(containers) if one.models)

    def add(self, calls: list[SimulatedCall]) -> Floats:
        """Count them. Returns, for each request, its seconds in the containers before the one with the models."""
        rows = passed_rows(calls)
        for number, one in enumerate(self.times):
            one.latencies.add(
                np.array([row[number] for row in rows if len(row) > number])
            )  # a failed one went no further
        return np.array([sum(row[: self._before]) for row in rows])


class OutcomeTally:
    """Counts the requests of one simulation, which come in batches as they end. `queued`: their variant is
    asynchronous. The wait for their turn is part of what they took, and makes none of them cold.

    A request that loaded its model took `beside_load_s` beside the steps of that, and its prediction, the first one,
    `first_predict_s` more than others."""

    def __init__(
        self,
        overhead_s: float = 0.0,
        beside_load_s: float = 0.0,
        first_predict_s: float = 0.0,
        containers: Sequence[ContainerProfile] = (),
        queued: bool = False,
    ) -> None:
        self.containers = ContainersTally(containers) if containers else None
        self._overhead_s = overhead_s
        self._beside_load_s = beside_load_s
        self._first_predict_s = first_predict_s
        self._queued = queued
        self.warm, self.cold = Latencies(), Latencies()
        self.failed = self.held = 0
        self.predict_ms = self.start_ms = 0
        self.done_s = 0.0  # the end of the last request
        self.timeline = Timeline()
        self._numbers: defaultdict[str, int] = defaultdict()  # a number for each model, in order of appearance
        self._numbers.default_factory = self._numbers.__len__
        # Rows: requests, cold, failed, seconds; a column for each model.
        self._sums: NDArray[np.float64] = np.zeros((4, 0))

    def add(self, calls: list[SimulatedCall]) -> None:
        models, *times_s, outcome_bytes = call_columns(calls)
        arrived_s, ready_s, done_s = (_packed(column, "d") for column in times_s)
        outcomes: NDArray[np.uint8] = np.frombuffer(outcome_bytes, np.uint8)
        routed_s = arrived_s
        if self._queued:
            outcomes = np.bitwise_and(outcomes, np.uint8(FOUND | FAILED))
            routed_s = _packed(routed_times(calls), "d")
        held, models_were = outcomes >= HELD, outcomes & (FOUND | FAILED)
        warm, failed = outcomes == FOUND, models_were == FAILED
        cold = ~(warm | failed)
        loaded = models_were == LOADED
        first_s = loaded * self._first_predict_s
        taken_s = done_s - arrived_s + self._overhead_s + loaded * self._beside_load_s + first_s
        self.warm.add(taken_s[warm])
        self.cold.add(taken_s[cold])
        self.failed += int(failed.sum())
        self.held += int(held.sum())
        self.done_s = max(self.done_s, float(done_s.max()))
        before_s: Floats | float = 0.0 if self.containers is None else self.containers.add(calls)
        self.predict_ms += _milliseconds(done_s - ready_s + before_s + first_s)
        self.start_ms += _milliseconds(ready_s - routed_s - before_s)
        self.timeline.calls(arrived_s, cold)
        self._by_model(models, cold, failed, taken_s)

    def models(self) -> Iterator[ModelUse]:
        for name, (requests, cold, failed, total_s) in zip(self._numbers, self._sums.T.tolist(), strict=False):
            yield ModelUse(name, int(requests), int(cold), int(failed), total_s)

    def _by_model(
        self, names: Sequence[str], cold: NDArray[np.bool_], failed: NDArray[np.bool_], taken_s: Floats
    ) -> None:
        numbers = self._numbers
        models = _packed(tuple(map(numbers.__getitem__, names)), "q")
        if len(numbers) > self._sums.shape[1]:
            self._sums = np.hstack((self._sums, np.zeros((4, len(numbers)))))
        called, places = np.unique(models, return_inverse=True)  # a batch has few of a million models
        for row, weights in enumerate((None, cold, failed, taken_s)):
            self._sums[row, called] += np.bincount(places, weights, minlength=len(called))


def _packed(column: Sequence[float], code: str) -> NDArray[Any]:
    """The column as an array, in half of numpy's own time. `code` is a type code of struct and of numpy."""
    return np.frombuffer(Struct(f"{len(column)}{code}").pack(*column), code)


def _milliseconds(seconds: Floats) -> int:
    """The sum of the times in milliseconds, each rounded up."""
    return int(np.ceil(seconds * 1000 - 1e-6).sum())
