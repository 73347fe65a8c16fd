"""The result of `torpor.tune`: the best choice, what was tried for it, and how sure it is."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from torpor.pages.data_frames import pandas
from torpor.simulator.planning.plan_result import config_call, config_members
from torpor.simulator.planning.plan_space import Goal
from torpor.simulator.planning.recorded_plan import ConfirmablePlan
from torpor.simulator.planning.search import PlanCandidate
from torpor.simulator.planning.seed_spread import SeedSpread, spreads_of
from torpor.simulator.scenario import Scenario
from torpor.simulator.simulation_inputs import SimulationInputs
from torpor.simulator.simulation_result import SimulationResult
from torpor.simulator.tuning.tuned_effects import SettingEffect
from torpor.simulator.tuning.tuned_trials import TunedTrial
from torpor_endpoint.core.pricing.bills import NOTHING, Bill
from torpor_endpoint.core.pricing.prices import Prices

USED_UP, NOTHING_NEW, OUT_OF_TIME, INTERRUPTED = "used up", "nothing new", "out of time", "interrupted"

NO_TREES: Final = (
    "TORPOR_TREES: it changes the times and sizes of models, which only a measurement knows: give the profiles of an"
    " endpoint that runs with another value (--trees)"
)
LEFT_OUT: Final = (
    "TORPOR_ONNX_WEIGHTS, SAGEMAKER_MODEL_SERVER_WORKERS: they change the times and sizes of models,"
    " which only a measurement knows: tune once with the ledger of an endpoint that runs with each value (--profiles)",
    "TORPOR_MODEL_CONCURRENCY: the simulator does not know it",
    "TORPOR_MODEL_IDLE_SECONDS: a model that leaves memory early saves nothing on the bill",
)
"""The settings that are not tuned, and why."""
NO_BATCHES: Final = (
    "TORPOR_BATCH_SIZE, TORPOR_BATCH_DELAY_MS: no profile says what a further request of a prediction takes (further_s)"
)


@dataclass(frozen=True)
class TunedConfiguration:
    """The members of CreateEndpointConfig, and the Environment of the container with the models."""

    create_endpoint_config: dict[str, Any]
    environment: dict[str, str]


@dataclass(frozen=True, eq=False)
class TuneResult:
    """The best choice and what was tried for it. `best` is None if nothing that was tried meets the goal."""

    goal: Goal
    inputs: SimulationInputs = field(repr=False)
    prices: Prices = field(repr=False)
    requests: int  # of the trace, which were simulated
    of: int  # the requests of the whole trace
    choices: int  # in the space
    best: PlanCandidate | None  # with its results with all seeds
    tried: Sequence[TunedTrial] = field(repr=False)  # in the order of trial
    evaluations: int  # simulations of the search; those with other seeds come on top
    ended: str  # `used up`, `nothing new`, `out of time` or `interrupted`
    effects: Sequence[SettingEffect] = ()
    finalists: Sequence[PlanCandidate] = ()  # that were simulated with other seeds too, the cheapest first
    left_out: Sequence[str] = ()

    @property
    def spread(self) -> Sequence[SeedSpread]:
        """How far the figures of the best lie apart from seed to seed; nothing for a single seed."""
        return tuple(spreads_of(self.seeds, self.goal, self.prices))

    @property
    def seeds(self) -> Sequence[SimulationResult]:
        """The results of the best, one for each seed; none without a best."""
        return () if self.best is None else self.best.results

    @property
    def bill(self) -> Bill:
        """The bill of the best for a month, with the search's own seed; empty without a best."""
        return self.seeds[0].bill_per_month(self.prices) if self.seeds else NOTHING

    @property
    def conclusive(self) -> bool:
        """Whether the requests of all seeds together are enough for the goal's quantile."""
        return sum(result.requests for result in self.seeds) >= self.goal.enough

    @property
    def nearest(self) -> TunedTrial | None:
        """Of what was tried, the one with the smallest share of late requests; None if nothing was simulated."""
        known = [one for one in self.tried if one.candidate is not None and one.candidate.simulated]
        return min(known, key=lambda one: one.too_late, default=None)

    @property
    def agree(self) -> tuple[int, int]:
        """How many seeds meet the goal with the best, and how many were simulated."""
        return sum(map(self.goal.met, self.seeds)), len(self.seeds)

    def confirmable(self, candidate: PlanCandidate) -> ConfirmablePlan:
        """A candidate as `torpor.confirm` takes it."""
        return ConfirmablePlan(self.inputs, candidate.scenario, self.goal)

    def members(self, candidate: PlanCandidate | None = None) -> dict[str, Any]:
        """The best, or another candidate, as the members of CreateEndpointConfig. Raises LookupError if there is no
        best."""
        return config_members("tuned", self._chosen if candidate is None else candidate.scenario)

    def call(self, candidate: PlanCandidate | None = None) -> str:
        """The best, or another candidate, as a call of boto3's `create_endpoint_config`. Raises LookupError if there is
        no best."""
        return config_call(self.members(candidate), self._chosen if candidate is None else candidate.scenario)

    def configuration(self, candidate: PlanCandidate | None = None) -> "TunedConfiguration":
        """What `torpor tune --write` writes. Raises LookupError if there is no best."""
        scenario = self._chosen if candidate is None else candidate.scenario
        return TunedConfiguration(config_members("tuned", scenario), dict(scenario.environment()))

    @property
    def _chosen(self) -> Scenario:
        if self.best is None:
            raise LookupError(f"nothing that was tried meets {self.goal}")
        return self.best.scenario

    def frame(self) -> Any:
        """A data frame with a row for each trial that was simulated to its end. Raises MissingExtra."""
        ended = [(one, one.candidate.result) for one in self.tried if one.candidate is not None]
        rows = [{**result.summary(self.prices), "meets": one.meets} for one, result in ended if result is not None]
        return pandas().DataFrame(rows)
