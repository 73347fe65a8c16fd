"""A lower bound on the late requests of a trace, which holds for any policy and needs no simulation."""

from dataclasses import dataclass
from math import ceil, exp

import numpy as np

from torpor.simulator.engine.latency_histogram import Floats
from torpor.simulator.simulation_inputs import SimulationInputs

SPREAD_MAX = 6.0
"""Loads are assumed to be at most this many standard deviations faster: one in 1e9 would be faster still."""


@dataclass(frozen=True, eq=False)
class TraceBounds:
    """What bounds the late requests of a trace. A slow model is one whose requests are late whenever it must be
    loaded."""

    requests: int
    span_s: float  # from the first request to the last
    first: int  # models whose first request is late
    largest: str  # the called model that takes the most memory
    slow: int  # requests for slow models
    slow_models: int
    kept: Floats  # at n: the least byte-seconds that keep slow models in memory for n + 1 of their next requests

    @classmethod
    def of(cls, inputs: SimulationInputs, late_s: float) -> "TraceBounds":
        """Read the trace once. If two successive requests for a model are both in time, the model stayed in memory from
        at most `late_s` after the first one arrived."""
        chunks, names = list(inputs.trace.chunks()), inputs.trace.names
        times_s = np.concatenate([chunk.times_s for chunk in chunks])
        models = np.concatenate([chunk.models for chunk in chunks])
        called, place = np.unique(models, return_inverse=True)
        profiles = [inputs.profile(names[number]) for number in called.tolist()]
        quickest = exp(-SPREAD_MAX * inputs.spreads.load_sigma)
        bytes_ = np.array([one.memory_bytes for one in profiles], np.float64)
        predict_s = np.array([one.predict_delay_s + one.predict_s for one in profiles])
        load_s = np.array([one.into_memory_s for one in profiles])
        pull_s = np.array([one.pull_s for one in profiles]) + load_s
        slow = load_s * quickest > late_s
        order = np.argsort(place, kind="stable")
        gaps_s, again = np.diff(times_s[order]), np.diff(place[order]) == 0
        which = place[order][1:]
        kept = bytes_[which] * np.maximum(0.0, gaps_s - late_s)
        return cls(
            len(times_s),
            float(times_s[-1] - times_s[0]),
            int((pull_s + predict_s > late_s).sum()),
            names[int(called[bytes_.argmax()])],
            int(slow[place].sum()),
            int(slow.sum()),
            np.cumsum(np.sort(kept[again & slow[which]])),
        )

    def late_min(self, room_bytes: int) -> int:
        """The least number of late requests with this much memory, whatever the policy: memory offers no more
        byte-seconds than its bytes times the span.

        A request can be in time although its model was not kept: it arrives near the end of a load. But then the
        request before it, at the same instance, waited for the same load and is late. So at least half of these are
        late.
        """
        kept = int(np.searchsorted(self.kept, room_bytes * self.span_s, side="right"))
        return max(self.slow_models, ceil((self.slow - kept) / 2))
