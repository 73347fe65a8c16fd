"""The simulated side, calibrated on what it is not asked about; and both sides' figures beside each other.

The room is calibrated on a trace of its own. How fast a shared machine is changes from minute to minute, so the times
are calibrated on every other stretch of two seconds of the very trace, and compared over the stretches between.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from math import sqrt
from pathlib import Path
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray

from benchmarks.fidelity.live import Lived
from torpor.pages.data_frames import STEPS
from torpor.simulator.costs.ways_to_serve import TERMS
from torpor.simulator.fitting import Fitted, fitted
from torpor.simulator.scenario import Scenario
from torpor.simulator.simulation_inputs import SimulationInputs, Spreads
from torpor.simulator.simulation_result import SimulationResult
from torpor.simulator.simulation_run import run
from torpor.workloads import Recorded
from torpor.workloads.profile import ModelProfile

Floats = NDArray[np.float64]

SIZE = "ml.m5.large"
"""The instance type that both sides are billed as."""
ROUNDS = 30
"""How often the calibration trace is simulated, closer each time."""
SIGMA_MAX = 1.5
STRETCH_S = 2.0
ENDPOINTS_SHARE = 0.5
"""The endpoint's approximate share of the processor time that a request takes beside its prediction."""


@dataclass(frozen=True)
class Figures:
    """Of one trace. Seconds, of the stretches that were not calibrated on, and US dollars for the instances' time."""

    hit_ratio: float
    loads: float
    unloads: float
    wakes: float
    p50_s: float
    p99_s: float
    usd: float


@dataclass(frozen=True, eq=False)
class Answers:
    """The outcomes of some requests: columns of one length, in seconds."""

    took_s: Floats
    held_s: Floats  # of that, the wait for an instance
    hit: NDArray[np.bool_]
    arrived_s: Floats  # in the trace

    @classmethod
    def lived(cls, lived: Lived) -> "Answers":
        """The endpoint's own times: the sums of the steps of answered requests."""
        good = lived.replayed.good & lived.replayed.timed
        steps_s = lived.replayed.steps_s[good].astype(np.float64)
        held_s = steps_s[:, INSTANCE].sum(axis=1)
        return cls(steps_s.sum(axis=1), held_s, lived.replayed.hits[good] == 1, lived.replayed.planned_s[good])

    @classmethod
    def simulated(cls, inputs: SimulationInputs, scenario: Scenario) -> tuple["Answers", SimulationResult]:
        told: list[tuple[float, float, float, bool]] = []
        result = run(
            inputs, scenario,
            listener=lambda ended: told.extend((one.arrived_s, one.routed_s, one.done_s, one.hit) for one in ended),
        )  # fmt: skip
        arrived_s, routed_s, done_s, hit = np.array(told, np.float64).T
        return cls(done_s - arrived_s, routed_s - arrived_s, hit == 1, arrived_s), result

    @property
    def known(self) -> "Answers":
        """The requests of the calibration stretches: the first, the third and so on."""
        return self._but(self.arrived_s // STRETCH_S % 2 == 0)

    @property
    def asked_about(self) -> "Answers":
        return self._but(self.arrived_s // STRETCH_S % 2 == 1)

    def quantiles_s(self) -> tuple[float, float]:
        p50_s, p99_s = np.quantile(self.took_s, (0.5, 0.99)).tolist()
        return p50_s, p99_s

    def _but(self, these: NDArray[np.bool_]) -> "Answers":
        """Only these."""
        return Answers(self.took_s[these], self.held_s[these], self.hit[these], self.arrived_s[these])


@dataclass(frozen=True)
class Tails:
    """Which quantile of the warm requests is the median of all, and which of the cold ones the 99th percentile of all:
    how far times stray is told there."""

    warm: float
    cold: float

    @classmethod
    def of(cls, answers: Answers) -> "Tails":
        p50_s, p99_s = answers.quantiles_s()
        warm, cold = answers.took_s[answers.hit] <= p50_s, answers.took_s[~answers.hit] <= p99_s
        return cls(float(warm.mean()), float(cold.mean()))


@dataclass(frozen=True)
class Spans:
    """The seconds that requests took once an instance was ready, and the share that found their model in memory."""

    warm_p50_s: float
    warm_tail_s: float
    cold_p50_s: float
    cold_tail_s: float
    hit_ratio: float

    @classmethod
    def of(cls, answers: Answers, tails: Tails) -> "Spans":
        seconds, hit = answers.took_s - answers.held_s, answers.hit
        warm_p50_s, warm_tail_s = np.quantile(seconds[hit], (0.5, tails.warm)).tolist()
        cold_p50_s, cold_tail_s = np.quantile(seconds[~hit], (0.5, tails.cold)).tolist()
        return cls(warm_p50_s, warm_tail_s, cold_p50_s, cold_tail_s, float(hit.mean()))


@dataclass(frozen=True)
class Unknowns:
    """What the ledger does not tell of a busy instance: how much of what goes on beside predictions and loads counts,
    as a factor of the whole, how far the work of single ones strays, and how much room there was."""

    warm_share: float = 1.0
    warm_sigma: float = 0.3
    cold_share: float = 1.0
    cold_sigma: float = 0.3
    room_bytes: float = 0.0

    def nearer(self, live: Spans, simulated: Spans) -> "Unknowns":
        """Adjust each by the figure that it changes most, and only half of the way, since waiting grows faster than
        work."""
        wider = (live.warm_tail_s / live.warm_p50_s) / (simulated.warm_tail_s / simulated.warm_p50_s)
        cold_wider = (live.cold_tail_s / live.cold_p50_s) / (simulated.cold_tail_s / simulated.cold_p50_s)
        return Unknowns(
            self.warm_share * sqrt(live.warm_p50_s / simulated.warm_p50_s),
            min(SIGMA_MAX, self.warm_sigma * sqrt(wider)),
            self.cold_share * sqrt(live.cold_p50_s / simulated.cold_p50_s),
            min(SIGMA_MAX, self.cold_sigma * sqrt(cold_wider)),
            self.room_bytes * (1.0 + live.hit_ratio - simulated.hit_ratio),
        )


@dataclass(frozen=True, eq=False)
class Calibration:
    """The calibrated inputs of a simulation: profiles, memory for models, and the wake."""

    inputs: SimulationInputs
    scenario: Scenario
    found: Fitted
    unknowns: Unknowns

    @classmethod
    def of(cls, trace: Recorded, lived: Lived, ledger: Path, scenario: Scenario) -> "Calibration":
        """Beside the work of loads and predictions the ledger has what requests waited besides. Simulated with all of
        both, requests wait longer, or less long where others are busy: so that share of them is sought with which the
        same trace takes as long as it did."""
        found = fitted(ledger)
        inputs = SimulationInputs(trace, found.profiles, Spreads(), 0, "calibration")
        guess = Unknowns(room_bytes=room_bytes(lived, found.profiles))
        first = cls(inputs, scenario.altered(wake_s=found.wake_s or scenario.wake_s), found, guess)
        return first._nearer(Answers.lived(lived).known)

    def on(self, trace: Recorded, lived: Lived) -> "Calibration":
        """The calibration for another trace: it keeps the memory, and fits the times to that trace's own calibration
        stretches."""
        known = Answers.lived(lived).known
        return replace(self, inputs=replace(self.inputs, trace=trace))._nearer(known, self.unknowns.room_bytes)

    def simulated(self, seed: int = 0) -> tuple[Answers, SimulationResult]:
        """All that an instance does for a load is its load, and all that it does for a request its prediction. What the
        endpoint does for it is a delay: it has a processor of its own. Every model was on disk before."""
        unknowns, overhead_s = self.unknowns, self.found.overhead_s
        here_s, endpoints_s = (1 - ENDPOINTS_SHARE) * overhead_s, ENDPOINTS_SHARE * overhead_s
        profiles = {
            name: replace(
                profile,
                download_s=0.0,
                unpack_s=0.0,
                load_s=(
                    profile.into_memory_s + profile.unload_s + self.found.beside_load_s + self.found.first_predict_s
                )
                * unknowns.cold_share,
                unload_s=0.0,
                predict_s=(profile.predict_s + here_s) * unknowns.warm_share,
                unpack_delay_s=0.0,
                load_delay_s=0.0,
                predict_delay_s=(profile.predict_delay_s + endpoints_s) * unknowns.warm_share,
            )
            for name, profile in self.found.profiles.items()
        }
        spreads = Spreads(unknowns.warm_sigma, unknowns.cold_sigma)
        inputs = replace(self.inputs, profiles=profiles, spreads=spreads, seed=seed)
        return Answers.simulated(inputs, self.scenario.altered(memory_bytes=int(unknowns.room_bytes)))

    def _nearer(self, known: Answers, room_bytes: float | None = None) -> "Calibration":
        """The closest of ROUNDS simulations to the known figures, with this memory, or the one with as many hits."""
        calibration, tails = self, Tails.of(known)
        goal = Spans.of(known, tails)
        for _ in range(ROUNDS):
            answers, _ = calibration.simulated()
            unknowns = calibration.unknowns.nearer(goal, Spans.of(answers.known, tails))
            if room_bytes is not None:
                unknowns = replace(unknowns, room_bytes=room_bytes)
            calibration = replace(calibration, unknowns=unknowns)
        return calibration


def room_bytes(lived: Lived, profiles: Mapping[str, ModelProfile]) -> int:
    """The bytes of the models in a full memory, by the sizes of the profiles: a live size differs from load to load."""
    return int(median(sum(profiles[name].memory_bytes for name in names) for names in lived.resident))


def live(lived: Lived) -> Figures:
    p50_s, p99_s = Answers.lived(lived).asked_about.quantiles_s()
    usd = TERMS.by_the_second(SIZE, lived.instance_s).usd or 0.0
    hits = float((lived.replayed.hits == 1).sum()) / len(lived.replayed)
    return Figures(hits, lived.loads, lived.unloads, lived.wakes, p50_s, p99_s, usd)


def between_halves(lived: Lived) -> dict[str, float]:
    """By how many percent p50 and p99 of what is known are off those asked about, both live: what the machine does."""
    answers = Answers.lived(lived)
    pairs = zip(answers.known.quantiles_s(), answers.asked_about.quantiles_s(), strict=True)
    return dict(zip(("p50_s", "p99_s"), (100 * (known / asked - 1) for known, asked in pairs), strict=True))


def simulated(sides: Iterable[tuple[Answers, SimulationResult]]) -> Figures:
    """The mean over the seeds."""
    each = [
        Figures(
            one.hit_ratio,
            one.loads,
            one.evictions,
            one.wakes,
            *answers.asked_about.quantiles_s(),
            one.cost().usd or 0.0,
        )
        for answers, one in sides
    ]
    return Figures(*(fmean(values) for values in zip(*(asdict(one).values() for one in each), strict=True)))


def differences(there: Figures, here: Figures) -> dict[str, float]:
    """The difference: of hit ratios in percentage points, of other figures in percent of the live one."""
    pairs = {name: (getattr(there, name), getattr(here, name)) for name in asdict(there)}
    return {
        name: 100 * (ours - theirs) if name == "hit_ratio" else 100 * (ours / theirs - 1) if theirs else float(ours > 0)
        for name, (theirs, ours) in pairs.items()
    }


INSTANCE = [STEPS.index(step) for step in ("hold", "wake")]
"""The indexes of the steps in which a request waits for an instance."""
