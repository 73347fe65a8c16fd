"""`torpor.simulate_choice` plays calls of a group by several rules; `torpor.plan_choice` finds the cheapest way to
serve them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torpor.errors import TorporError
from torpor.pages.data_frames import pandas
from torpor.simulator.choosing.choice_rules import ONE_ROW, RULES, RuleName
from torpor.simulator.choosing.grouped_simulation import GroupChooser
from torpor.simulator.engine.call_records import SimulatedCall
from torpor.simulator.engine.simulated_variant import Simulation
from torpor.simulator.scenario import Scenario
from torpor.simulator.simulation_inputs import SimulationInputs, load
from torpor.simulator.simulation_result import SimulationResult
from torpor.simulator.simulation_run import run
from torpor.workloads import Trace
from torpor.workloads.profile import ModelProfile
from torpor_endpoint.core.model_choice.choosing_model import MS_PER_HOUR
from torpor_endpoint.core.model_choice.group_file import SUFFIX, BadGroupFile, read_group
from torpor_endpoint.core.model_choice.model_group import ChoiceGroup, GroupedModel, ModelTier
from torpor_endpoint.core.model_choice.stated_need import StatedNeed
from torpor_endpoint.core.pricing.prices import PRICES, Prices

LATE_MAX = 0.01
"""The largest share of late calls that a plan allows, unless it is given another."""


@dataclass
class ChoiceOutcome:
    """What the calls of one rule came to. `late` took longer than they needed, and `inexact` were answered by a model
    that is less accurate than they needed. `processing_usd` is the price of the predictions alone, `None` without one.
    """

    rule: RuleName
    calls: int = 0
    late: int = 0
    inexact: int = 0
    accuracy_sum: float = field(default=0.0, repr=False)
    processing_usd: float | None = 0.0
    models: dict[str, int] = field(default_factory=dict)
    result: SimulationResult | None = field(default=None, repr=False)

    @property
    def late_share(self) -> float:
        return self.late / self.calls if self.calls else 0.0

    @property
    def inexact_share(self) -> float:
        return self.inexact / self.calls if self.calls else 0.0

    @property
    def accuracy(self) -> float:
        """The mean accuracy of the models that answered."""
        return self.accuracy_sum / self.calls if self.calls else 0.0

    def usd(self, prices: Prices = PRICES) -> float | None:
        """The cost of the simulated time: instances, or serverless processing, and S3."""
        return None if self.result is None else self.result.cost(prices).usd

    def usd_per_month(self, prices: Prices = PRICES) -> float | None:
        return None if self.result is None else self.result.usd_per_month(prices)


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
                "accuracy": one.accuracy,
                "processing_usd": one.processing_usd,
                "usd_per_month": one.usd_per_month(prices),
            }
            for one in self.outcomes
        ]
        return pandas().DataFrame(rows).set_index("rule")


@dataclass(frozen=True)
class GroupPlan:
    """The cheapest scenario by which at most `late_max` of the calls are late, and the others that were played."""

    chosen: ChoiceOutcome | None
    outcomes: Sequence[ChoiceOutcome]


def read_group_text(path: Path) -> ChoiceGroup:
    """The group of a file "NAME.group.json". Raises TorporError, OSError."""
    try:
        return read_group(path.name.removesuffix(SUFFIX), path.read_bytes())
    except BadGroupFile as error:
        raise TorporError(f"{path} is no group: {error}") from None


def simulate_choice(
    trace: Trace | Path | str,
    group: ChoiceGroup | Path | str,
    scenario: Scenario | None = None,
    *,
    rules: Iterable[str] = tuple(RuleName),
    seed: int = 0,
    **changes: Any,
) -> ChoiceComparison:
    """Simulate calls of a group by the endpoint's own rule, and by those beside it.

    - `trace` is as of `torpor.simulate`. A request names the group and its need:
      `digits?min_accuracy=0.9, latency_ms=20`. Where no model meets the need, the nearest one answers.
    - `group` is a file "NAME.group.json". Each model needs `latency_ms`, `load_ms` from `s3`, and `size_bytes`.
    - `scenario` and its fields are as of `torpor.simulate`.

    A request has one row. Raises BadTrace, BadScenario, TorporError.
    """
    found = group if isinstance(group, ChoiceGroup) else read_group_text(Path(group))
    asked = [RuleName(rule) for rule in rules]
    profiles = {one.model: group_profile(one) for one in found.models}
    inputs = load(trace, profiles, seed=seed)
    chosen = (scenario or inputs.scenario).altered(**changes)
    return ChoiceComparison(found, [_played(found, rule, inputs, chosen) for rule in asked])


def plan_choice(
    trace: Trace | Path | str,
    group: ChoiceGroup | Path | str,
    scenarios: Iterable[Scenario],
    *,
    late_max: float = LATE_MAX,
    prices: Prices = PRICES,
    seed: int = 0,
) -> GroupPlan:
    """The cheapest of the scenarios by which at most this share of a group's calls is late or inexact, by the
    endpoint's own rule; None as `chosen` if none is. Raises as `simulate_choice`."""
    outcomes = [simulate_choice(trace, group, one, rules=[RuleName.TORPOR], seed=seed).outcomes[0] for one in scenarios]
    priced = [(usd, one) for one in outcomes if (usd := one.usd(prices)) is not None]
    meeting = [pair for pair in priced if pair[1].late_share <= late_max and pair[1].inexact_share <= late_max]
    return GroupPlan(min(meeting, key=lambda pair: pair[0])[1] if meeting else None, outcomes)


def group_profile(model: GroupedModel) -> ModelProfile:
    """The sizes and times of a model as the simulator takes them. Raises TorporError for one that lacks any."""
    predict_ms, s3_ms = model.predict_ms(ONE_ROW), model.load_ms.get(ModelTier.S3)
    known = {"latency_ms": predict_ms, "load_ms.s3": s3_ms, "size_bytes": model.size_bytes}
    if predict_ms is None or s3_ms is None or model.size_bytes is None:
        lacking = next(name for name, value in known.items() if value is None)
        raise TorporError(f"model {model.model} of the group has no {lacking}: `torpor profile` measures it")
    disk_ms = model.loaded_within_ms(ModelTier.DISK) or 0.0
    return ModelProfile(
        model.model,
        model.size_bytes,
        model.size_bytes,
        download_s=max(0.0, s3_ms - disk_ms) / 1000,
        unpack_s=0.0,
        load_s=disk_ms / 1000,
        predict_s=predict_ms / 1000,
    )


def _played(group: ChoiceGroup, rule: RuleName, inputs: SimulationInputs, scenario: Scenario) -> ChoiceOutcome:
    machine, outcome = scenario.plan.machine, ChoiceOutcome(rule)
    chooser = GroupChooser(group, RULES[rule], machine.processors or machine.threads)
    models = {one.model: one for one in group.models}

    def begin(simulation: Simulation) -> None:
        simulation.choose = chooser.chosen

    def listen(calls: list[SimulatedCall]) -> None:
        for call in calls:
            if (need := chooser.ended(call)) is not None:
                _count(outcome, models[call.model], need, call)

    outcome.result = run(inputs, scenario, listener=listen, begun=begin)
    return outcome


def _count(outcome: ChoiceOutcome, model: GroupedModel, need: StatedNeed, call: SimulatedCall) -> None:
    took_ms = (call.done_s - call.arrived_s) * 1000
    accuracy, predict_ms = model.accuracy or 0.0, model.predict_ms(ONE_ROW)
    outcome.calls += 1
    outcome.models[call.model] = outcome.models.get(call.model, 0) + 1
    outcome.late += call.failed or (need.latency_ms is not None and took_ms > need.latency_ms)
    outcome.inexact += need.min_accuracy is not None and accuracy < need.min_accuracy
    outcome.accuracy_sum += accuracy
    if model.usd_per_hour is None or predict_ms is None or outcome.processing_usd is None:
        outcome.processing_usd = None
    else:
        outcome.processing_usd += predict_ms * model.usd_per_hour / MS_PER_HOUR
