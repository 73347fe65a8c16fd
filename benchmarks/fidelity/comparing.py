"""The simulated side, calibrated on one trace and asked about others; and both sides' figures beside each other."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import sqrt
from pathlib import Path
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray

from benchmarks.fidelity.live import Lived, steps_s
from torpor.frames import STEPS
from torpor.simulator.fitting import Fitted, fitted
from torpor.simulator.outcome import Result
from torpor.simulator.profile import ModelProfile
from torpor.simulator.running import Given, Spreads, run
from torpor.simulator.scenario import Scenario
from torpor.simulator.workloads import Recorded
from torpor_endpoint.core.prices import PRICES

Floats = NDArray[np.float64]

SIZE = "ml.m5.large"
"""What both are billed as."""
ROUNDS = 30
"""So often the calibration trace is simulated, nearer each time."""
SIGMA_MAX = 1.5


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


@dataclass(frozen=True)
class Spans:
    """How long requests took, once an instance was there: seconds. And the share of those that found their model."""

    warm_p50_s: float
    warm_p90_s: float
    cold_p50_s: float
    cold_p90_s: float
    hit_ratio: float

    @classmethod
    def of(cls, seconds: Floats, hit: NDArray[np.bool_]) -> "Spans":
        quantiles = (np.quantile(some, (0.5, 0.9)).tolist() for some in (seconds[hit], seconds[~hit]))
        (warm_p50_s, warm_p90_s), (cold_p50_s, cold_p90_s) = quantiles
        return cls(warm_p50_s, warm_p90_s, cold_p50_s, cold_p90_s, float(hit.mean()))


@dataclass(frozen=True)
class Unknowns:
    """What the ledger does not tell of a busy instance: which share of its times was work and which was waiting for
    the processor, how far the work of single predictions and loads strays, and how much room there was."""

    warm_share: float = 0.6
    warm_sigma: float = 0.3
    cold_share: float = 0.6
    cold_sigma: float = 0.3
    room_bytes: float = 0.0

    def nearer(self, live: Spans, simulated: Spans) -> "Unknowns":
        """Each by the figure that it moves most, and half of the way: waiting grows faster than work."""
        wider = (live.warm_p90_s / live.warm_p50_s) / (simulated.warm_p90_s / simulated.warm_p50_s)
        cold_wider = (live.cold_p90_s / live.cold_p50_s) / (simulated.cold_p90_s / simulated.cold_p50_s)
        return Unknowns(
            self.warm_share * sqrt(live.warm_p50_s / simulated.warm_p50_s),
            min(SIGMA_MAX, self.warm_sigma * sqrt(wider)),
            self.cold_share * sqrt(live.cold_p50_s / simulated.cold_p50_s),
            min(SIGMA_MAX, self.cold_sigma * sqrt(cold_wider)),
            self.room_bytes * (1.0 + live.hit_ratio - simulated.hit_ratio),
        )


@dataclass(frozen=True, eq=False)
class Calibration:
    """What was measured on one trace, for others: what models take, the room, a wake."""

    given: Given
    scenario: Scenario
    unknowns: Unknowns

    @classmethod
    def of(cls, trace: Recorded, lived: Lived, ledger: Path, scenario: Scenario) -> "Calibration":
        """The ledger's times are what requests waited. Simulated with them as work, requests wait longer: so that
        share of them is sought with which the same trace takes as long as it did."""
        found = fitted(ledger)
        seen = Spans.of(*_answered(lived))
        unknowns = Unknowns(room_bytes=room_bytes(lived, found.profiles))
        given = Given(trace, found.profiles, Spreads(), 0, "calibration")
        scenario = scenario.altered(wake_s=found.wake_s or scenario.wake_s)
        for _ in range(ROUNDS):
            unknowns = unknowns.nearer(seen, cls._with(given, scenario, found, unknowns)._spans())
        return cls._with(given, scenario, found, unknowns)

    @classmethod
    def _with(cls, given: Given, scenario: Scenario, found: Fitted, unknowns: Unknowns) -> "Calibration":
        """All that an instance does for a load is its load, and all that it does for a request its prediction. Every
        model was on disk before."""
        profiles = {
            name: replace(
                profile,
                download_s=0.0,
                unpack_s=0.0,
                load_s=(profile.load_s + profile.unload_s + found.beside_load_s) * unknowns.cold_share,
                unload_s=0.0,
                predict_s=(profile.predict_s + found.overhead_s) * unknowns.warm_share,
            )
            for name, profile in found.profiles.items()
        }
        spreads = Spreads(unknowns.warm_sigma, unknowns.cold_sigma)
        room = scenario.altered(memory_bytes=int(unknowns.room_bytes))
        return cls(replace(given, profiles=profiles, spreads=spreads), room, unknowns)

    def simulated(self, trace: Recorded, seed: int) -> Result:
        return run(replace(self.given, trace=trace, seed=seed), self.scenario)

    def _spans(self) -> Spans:
        calls: list[tuple[float, bool]] = []
        run(
            self.given, self.scenario,
            listener=lambda ended: calls.extend((call.done_s - call.asked_s, call.hit) for call in ended),
        )  # fmt: skip
        return Spans.of(np.array([seconds for seconds, _ in calls]), np.array([hit for _, hit in calls]))


def room_bytes(lived: Lived, profiles: Mapping[str, ModelProfile]) -> int:
    """What a full memory held, in the sizes that the profiles have: a live size differs from load to load."""
    return int(median(sum(profiles[name].memory_bytes for name in names) for names in lived.resident))


def _answered(lived: Lived) -> tuple[Floats, NDArray[np.bool_]]:
    """The seconds of those that were answered, without their wait for an instance, and which found their model."""
    good = lived.replayed.good & lived.replayed.told
    steps = lived.replayed.steps_s[good].astype(np.float64)
    return steps.sum(axis=1) - steps[:, INSTANCE].sum(axis=1), lived.replayed.hits[good] == 1


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


INSTANCE = [STEPS.index(step) for step in ("hold", "wake")]
"""The columns of a replay's steps in which a request waits for an instance."""
