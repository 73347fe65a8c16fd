"""Which requests may find their instance busy, by what each of them takes at most. It plays nothing.

An instance with a processor, a thread and a load for each of `busy_min` requests delays none of them while it has no
more, and while all their models fit into its memory and onto its disk together. So each request is over after the times
of its own model, and after the unloads of others. With an instance that had no request in flight before, all that is
known here holds up to its first request after which nothing is sure.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torpor.simulator.engine.variant.variant_plan import Machine
from torpor.workloads.profile import ModelProfile

MARGIN_S = 1e-6
"""More than all errors of rounding that come together in a request's times."""


class BoundedRequests(NamedTuple):
    """Places of requests are ascending."""

    maybe_busy: list[int]  # places of those that may find their instance busy
    unsure: list[int]  # places of those after which nothing is sure
    found: NDArray[np.int64]  # for each request: how many its instance has in flight at most when it comes


def longest_s(profile: ModelProfile) -> float:
    """What a request takes at most, without the unloads of other models: all steps from the store to the answer."""
    predicts_s = profile.predict_delay_s + profile.predict_s
    return profile.unload_s + profile.pull_s + profile.into_memory_s + predicts_s


class BusyBounds:
    """For instances like `machine`, which are busy with `busy_min` requests."""

    def __init__(self, machine: Machine, profiles: Mapping[str, ModelProfile], busy_min: int) -> None:
        at_once = min(machine.threads, machine.loads_max, machine.processors or busy_min)
        self.known = at_once >= busy_min and machine.cache and machine.batch_size == 1 and not machine.device_bytes
        """Whether anything is known of such instances."""
        self._machine = machine
        self._profiles = profiles
        self._busy_min = busy_min
        self._longest_s: NDArray[np.float64] = np.zeros(0)  # this and all below: by model
        self._unload_s: NDArray[np.float64] = np.zeros(0)
        self._memory_bytes: NDArray[np.int64] = np.zeros(0, np.int64)
        self._disk_bytes: NDArray[np.int64] = np.zeros(0, np.int64)
        self._waits: NDArray[np.bool_] = np.zeros(0, np.bool_)  # a request may wait for a worker of the model's own

    def learn(self, models: list[int], names: Sequence[str]) -> None:
        """Models that are called for the first time, by their numbers among all names."""
        more = len(names) - len(self._longest_s)
        if more > 0:
            self._longest_s = np.pad(self._longest_s, (0, more))
            self._unload_s = np.pad(self._unload_s, (0, more))
            self._memory_bytes = np.pad(self._memory_bytes, (0, more))
            self._disk_bytes = np.pad(self._disk_bytes, (0, more))
            self._waits = np.pad(self._waits, (0, more))
        known = [self._profiles[names[model]] for model in models]
        self._longest_s[models] = list(map(longest_s, known))
        self._unload_s[models] = [one.unload_s for one in known]
        self._memory_bytes[models] = [one.memory_bytes for one in known]
        self._disk_bytes[models] = [one.disk_bytes for one in known]
        self._waits[models] = [one.workers > 0 for one in known]

    def of(
        self,
        times_s: NDArray[np.float64],
        models: NDArray[np.int32],
        lanes: NDArray[np.int32],
        unload_s: NDArray[np.float64],
    ) -> BoundedRequests:
        """What is known of requests in order of their lanes, and of time within one. All their models are learned.
        `unload_s` has, for each lane, the longest unload of the models that it has now. No others come to it."""
        unload_s = unload_s.copy()
        np.maximum.at(unload_s, lanes, self._unload_s[models])
        takes_s = self._longest_s[models] + unload_s[lanes]
        times_s = times_s - times_s.min()
        begins_s = times_s + lanes * (times_s.max() + takes_s.max() + 1.0)  # those of all lanes one after another
        ends_s = begins_s + takes_s + (MARGIN_S + 8 * np.spacing(begins_s[-1]))
        order = np.argsort(ends_s)
        over = np.searchsorted(ends_s[order], begins_s, side="right")  # how many are over for sure when each one comes
        found = np.arange(len(over)) - over
        unsure = self._waits[models]
        for by_model, most_bytes in (
            (self._memory_bytes, self._machine.memory_bytes),
            (self._disk_bytes, self._machine.disk_bytes),
        ):
            size_bytes = by_model[models]
            over_bytes = np.concatenate(([0], np.cumsum(size_bytes[order])))[over]
            unsure |= np.cumsum(size_bytes) - over_bytes > most_bytes
        maybe_busy = np.flatnonzero(found >= self._busy_min)
        return BoundedRequests(maybe_busy.tolist(), np.flatnonzero(unsure).tolist(), found)
