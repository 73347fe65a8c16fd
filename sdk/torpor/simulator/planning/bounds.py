"""What a trace asks for, whoever serves it: a bound on how many are late, which needs no simulation."""

from dataclasses import dataclass
from math import ceil, exp

import numpy as np

from torpor.simulator.engine.latency import Floats
from torpor.simulator.inputs import SimulationInputs

SPREAD_MAX = 6.0
"""No load is quicker than by so many standard deviations: one in a thousand million would be."""


@dataclass(frozen=True, eq=False)
class TraceBounds:
    """What the trace asks for, whoever serves it. A slow model is one that is late whenever it has to be loaded."""

    requests: int
    span_s: float  # from the first to the last
    first: int  # calls that are the first of a model which is then late
    largest: str  # the model that was called and takes most memory
    slow: int  # calls of slow models
    slow_models: int
    kept: Floats  # the byte-seconds that it takes to keep slow models for so many of their next calls, at the least

    @classmethod
    def of(cls, inputs: SimulationInputs, late_s: float) -> "TraceBounds":
        """One reading of the trace. Where two calls of a model are both in time, it was kept from when the first one
        had it, which is no later than `late_s` after it came."""
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
        """So many are late in this much memory, whatever the policy: it holds no more than its bytes times the span.

        Who is in time without a model that was kept has come near the end of a load, however long that was queued. The
        call before it at the same instance waited for the same load and is late: at least each second one is.
        """
        kept = int(np.searchsorted(self.kept, room_bytes * self.span_s, side="right"))
        return max(self.slow_models, ceil((self.slow - kept) / 2))
