"""The simulated side, calibrated on one trace and asked about others; and both sides' figures beside each other."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean, median

import numpy as np

from benchmarks.fidelity.live import Lived, steps_s
from torpor.simulator.fitting import fitted
from torpor.simulator.outcome import Result
from torpor.simulator.profile import ModelProfile
from torpor.simulator.running import Given, Spreads, run
from torpor.simulator.scenario import Scenario
from torpor.simulator.workloads import Recorded
from torpor_endpoint.core.prices import PRICES

SIZE = "ml.m5.large"
"""What both are billed as."""


@dataclass(frozen=True)
class Figures:
    """Of one trace. Seconds, and US dollars for the instances' time."""

    hit_ratio: float
    loads: float
    unloads: float
    wakes: float
    p50_s: float
    p99_s: float
    usd: float


@dataclass(frozen=True, eq=False)
class Calibration:
    """What was measured on one trace, for others: what models take, the room, a wake, the way there and back."""

    given: Given
    scenario: Scenario

    @classmethod
    def of(cls, trace: Recorded, lived: Lived, ledger: Path, scenario: Scenario) -> "Calibration":
        found = fitted(ledger)
        warm = lived.replayed.told & ~lived.replayed.cold
        predict_s = lived.replayed.steps_s[warm, PREDICT].astype(np.float64)
        beside_s = steps_s(lived.replayed)[warm] - predict_s
        spreads = Spreads(_sigma(predict_s), found.load_sigma)
        return cls(
            Given(trace, found.profiles, spreads, 0, "calibration"),
            scenario.altered(
                memory_bytes=room_bytes(lived, found.profiles),
                wake_s=found.wake_s or scenario.wake_s,
                overhead_s=float(np.median(beside_s)),
                beside_load_s=found.beside_load_s,
            ),
        )

    def simulated(self, trace: Recorded, seed: int) -> Result:
        return run(replace(self.given, trace=trace, seed=seed), self.scenario)


def room_bytes(lived: Lived, profiles: Mapping[str, ModelProfile]) -> int:
    """What a full memory held, in the sizes that the profiles have: a live size differs from load to load."""
    return int(median(sum(profiles[name].memory_bytes for name in names) for names in lived.resident))


def live(lived: Lived) -> Figures:
    replayed, seconds = lived.replayed, steps_s(lived.replayed)[lived.replayed.good]
    p50_s, p99_s = np.quantile(seconds, (0.5, 0.99)).tolist()
    usd = (PRICES.usd_per_hour(SIZE) or 0.0) * lived.instance_s / 3600
    hits = float((replayed.hits == 1).sum()) / len(replayed)
    return Figures(hits, lived.loads, lived.unloads, lived.wakes, p50_s, p99_s, usd)


def simulated(results: list[Result]) -> Figures:
    """The mean over the seeds."""
    each = [
        Figures(one.hit_ratio, one.loads, one.evictions, one.wakes, one.p50_s, one.p99_s, one.cost().usd or 0.0)
        for one in results
    ]
    return Figures(*(fmean(values) for values in zip(*(asdict(one).values() for one in each), strict=True)))


def differences(there: Figures, here: Figures) -> dict[str, float]:
    """Of the hit ratio in percentage points, of all else in percent of the live figure."""
    pairs = {name: (getattr(there, name), getattr(here, name)) for name in asdict(there)}
    return {
        name: 100 * (ours - theirs) if name == "hit_ratio" else 100 * (ours / theirs - 1) if theirs else float(ours > 0)
        for name, (theirs, ours) in pairs.items()
    }


PREDICT = 6
"""The column of a replay's steps that has the prediction."""


def _sigma(seconds: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> float:
    """Of the logarithm, between the 10th and the 90th percentile: the rare ones beyond are the machine's."""
    low, high = np.log(np.quantile(seconds[seconds > 0], (0.1, 0.9)))
    return float((high - low) / (2 * 1.2816))
