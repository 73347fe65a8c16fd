"""A shadow variant beside a simulated one: what is chosen for it, and which requests it gets copies of.

A copy is sent when its caller has the answer, so nothing that the shadow variant does changes the other variant. The
share of the requests is the live rule's (`torpor_endpoint.core.traffic`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from torpor.simulator.engine.call_records import FAILED, FOUND, LOADED, SimulatedCall, call_columns
from torpor.simulator.engine.latency_histogram import Floats
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.simulation_inputs import Profiles
from torpor.value_rules import AMOUNT, Kind, ValueRule, a, check, optional
from torpor.workloads import Chunk
from torpor.workloads.trace import CHUNK_REQUESTS, Ids, ModelNumbers
from torpor_endpoint.core.traffic import shadow_share

KINDS: Mapping[str, Kind] = {
    "scenario": a(Scenario, "is a torpor.Scenario"),
    "weight": AMOUNT,
    "production_weight": AMOUNT,
    "profiles": optional(
        (
            ValueRule(
                "is a file's name, or a ModelProfile by the name of each model",
                lambda value: isinstance(value, Path | str | Mapping),
            ),
        )
    ),
}


@dataclass(frozen=True, eq=False)
class ShadowVariant:
    """A shadow variant. Its share of the requests is `weight / production_weight`, and 1 at most. `profiles` are of its
    models, with the same names; None: those of the other variant. Raises BadScenario."""

    scenario: Scenario = field(default_factory=Scenario)
    weight: float = 1.0
    production_weight: float = 1.0
    profiles: Profiles | Path | str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check(BadScenario, KINDS, self.__dict__)

    @property
    def share(self) -> float:
        """The share of the requests, from 0 to 1, of which it gets a copy."""
        return shadow_share(self.weight, self.production_weight)

    @property
    def name(self) -> str:
        """A short name, for tables."""
        return f"shadow of {self.share:.4g}: {self.scenario.name}"


@dataclass(frozen=True, eq=False)
class CopyTrace:
    """A trace of copies. It may have none."""

    names: Sequence[str]
    times_s: Floats
    models: Ids
    lasts_s: float | None

    def chunks(self) -> Iterator[Chunk]:
        for since in range(0, len(self.times_s), CHUNK_REQUESTS):
            until = since + CHUNK_REQUESTS
            yield Chunk(self.times_s[since:until], self.models[since:until])


class Copies:
    """Draws which of a simulation's requests are copied, as they end. Each copy takes 12 bytes."""

    def __init__(self, shadow: ShadowVariant, scenario: Scenario, seed: int) -> None:
        """`scenario` is that of the other variant, whose requests are copied."""
        self._share = shadow.share
        self._scenario = scenario
        self._rng = np.random.default_rng([seed, 3])
        self._names = ModelNumbers()
        self._times_s: list[Floats] = []
        self._models: list[Ids] = []

    def add(self, calls: list[SimulatedCall]) -> None:
        """Draw for some requests that have ended."""
        columns = call_columns(calls)
        outcomes = np.frombuffer(columns.outcomes, np.uint8) & (FOUND | FAILED)
        beside_s = np.where(outcomes == LOADED, self._scenario.beside_load_s + self._scenario.first_predict_s, 0.0)
        answered_s = np.array(columns.done_s) + self._scenario.overhead_s + beside_s
        copied = self._rng.random(len(calls)) < self._share
        models = [self._names[name] for name, copy in zip(columns.models, copied.tolist(), strict=True) if copy]
        self._times_s.append(answered_s[copied])
        self._models.append(np.array(models, np.int32))

    def trace(self, lasts_s: float) -> CopyTrace:
        """The copies in order of time. `lasts_s` is how many seconds both variants are served."""
        times_s, models = np.concatenate([*self._times_s, []]), np.concatenate([*self._models, np.empty(0, np.int32)])
        order = np.argsort(times_s, kind="stable")
        return CopyTrace(self._names.met, times_s[order], models[order], lasts_s)
