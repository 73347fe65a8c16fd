"""What the calls of a group came to by one rule in one scenario: needs that were missed, accuracy, models, dollars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torpor.pages.data_frames import pandas
from torpor.simulator.choosing.choice_rules import ONE_ROW, RuleName
from torpor.simulator.choosing.grouped_simulation import AskedNeed
from torpor.simulator.engine.call_records import SimulatedCall
from torpor.simulator.simulation_result import SimulationResult
from torpor_endpoint.core.model_choice.choosing_model import MS_PER_HOUR
from torpor_endpoint.core.model_choice.model_group import ChoiceGroup, GroupedModel
from torpor_endpoint.core.pricing.prices import PRICES, Prices


@dataclass
class ChoiceOutcome:
    """What the calls of one rule came to. `late` took longer than they needed, `inexact` were answered by a model that
    is less accurate than they needed, and `dear` by one that cost more; `missed` were any of these. `processing_usd` is
    the price of the predictions alone, `None` without one. `result` is `None` of a simulation that was stopped early.
    """

    rule: RuleName
    calls: int = 0
    late: int = 0
    inexact: int = 0
    dear: int = 0
    missed: int = 0
    accuracy_sum: float = field(default=0.0, repr=False)
    processing_usd: float | None = 0.0
    models: dict[str, int] = field(default_factory=dict)
    result: SimulationResult | None = field(default=None, repr=False)

    @property
    def late_share(self) -> float:
        return self._share(self.late)

    @property
    def inexact_share(self) -> float:
        return self._share(self.inexact)

    @property
    def dear_share(self) -> float:
        return self._share(self.dear)

    @property
    def missed_share(self) -> float:
        return self._share(self.missed)

    @property
    def model_shares(self) -> Mapping[str, float]:
        """The share of the calls that each model answered, the largest first."""
        return {name: self._share(count) for name, count in sorted(self.models.items(), key=lambda one: -one[1])}

    @property
    def accuracy(self) -> float:
        """The mean accuracy of the models that answered."""
        return self.accuracy_sum / self.calls if self.calls else 0.0

    def usd(self, prices: Prices = PRICES) -> float | None:
        """The cost of the simulated time: instances, or serverless processing, and S3."""
        return None if self.result is None else self.result.cost(prices).usd

    def usd_per_month(self, prices: Prices = PRICES) -> float | None:
        return None if self.result is None else self.result.usd_per_month(prices)

    def count(self, model: GroupedModel, asked: AskedNeed, call: SimulatedCall) -> None:
        """Count a call that has ended, and the model that answered it."""
        need, took_ms = asked.need, (call.done_s - call.arrived_s) * 1000
        accuracy, predict_ms = model.accuracy or 0.0, model.predict_ms(ONE_ROW)
        late = call.failed or (need.latency_ms is not None and took_ms > need.latency_ms)
        inexact = need.min_accuracy is not None and accuracy < need.min_accuracy
        self.calls += 1
        self.models[call.model] = self.models.get(call.model, 0) + 1
        self.late += late
        self.inexact += inexact
        self.dear += asked.dear
        self.missed += late or inexact or asked.dear
        self.accuracy_sum += accuracy
        if model.usd_per_hour is None or predict_ms is None or self.processing_usd is None:
            self.processing_usd = None
        else:
            self.processing_usd += predict_ms * model.usd_per_hour / MS_PER_HOUR

    def _share(self, calls: int) -> float:
        return calls / self.calls if self.calls else 0.0


@dataclass(frozen=True)
class ChoiceComparison:
    """The same calls by each rule."""

    group: ChoiceGroup
    outcomes: Sequence[ChoiceOutcome]

    def __getitem__(self, rule: str) -> ChoiceOutcome:
        return next(one for one in self.outcomes if one.rule == rule)

    def frame(self, prices: Prices = PRICES) -> Any:
        """A data frame with a row for each rule."""
        rows = [
            {
                "rule": one.rule.value,
                "calls": one.calls,
                "late": one.late_share,
                "inexact": one.inexact_share,
                "dear": one.dear_share,
                "accuracy": one.accuracy,
                "processing_usd": one.processing_usd,
                "usd_per_month": one.usd_per_month(prices),
            }
            for one in self.outcomes
        ]
        return pandas().DataFrame(rows).set_index("rule")
