"""Makes the records that the commands on traces print with `--json`, from their results."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from torpor.cli.json_records import OutcomeEntry, ReplayOutput
from torpor.cli.planning_records import (
    ConfirmedEntry,
    ConfirmOutput,
    OptionEntry,
    PlanOutput,
    PlanSource,
    PolicyFigures,
    SettingEntry,
    SpreadEntry,
    TuneOutput,
)
from torpor.cli.simulation_records import ComponentFigures, ScenarioFigures, SimulatedScenario, SimulateOutput
from torpor.time_units import HOUR_S

if TYPE_CHECKING:
    from torpor.confirming.plan_confirmation import Confirmation
    from torpor.confirming.tuned_confirmation import TunedConfirmation
    from torpor.replay.replay_result import Replayed
    from torpor.simulator.components.components_result import ComponentsResult
    from torpor.simulator.planning.plan_result import PlanResult
    from torpor.simulator.planning.priced_options import Priced
    from torpor.simulator.simulation_result import SimulationResult
    from torpor.simulator.tuning.tune_result import TuneResult
    from torpor.simulator.tuning.tuned_effects import SettingEffect
    from torpor_endpoint.core.pricing.prices import Prices


def simulate_output(
    results: "Sequence[SimulationResult | ComponentsResult]",
    notes: Sequence[str],
    prices: "Prices",
    slo_s: float | None,
) -> SimulateOutput:
    return SimulateOutput(results[0].trace, tuple(_scenario(one, prices, slo_s) for one in results), tuple(notes))


def _scenario(one: "SimulationResult | ComponentsResult", prices: "Prices", slo_s: float | None) -> SimulatedScenario:
    late = None if slo_s is None else one.slo_misses(slo_s)
    shadow = None if one.shadow is None else ScenarioFigures(**one.shadow.result.summary(prices))
    return SimulatedScenario(
        **one.summary(prices),
        late=late,
        shadow=shadow,
        on_aws=one.scenario.on_aws,
        throttled=one.throttled,
        bill=one.bill_per_month(prices).lines,
        components=tuple(_components(one, prices)),
        entries=one.entries,
    )


def _components(one: "SimulationResult | ComponentsResult", prices: "Prices") -> "Iterator[ComponentFigures]":
    from torpor.simulator.components.components_result import ComponentsResult

    if not isinstance(one, ComponentsResult):
        return
    shares = {share.component: share.share for share in one.shares(prices)}
    for use in one.components:
        yield ComponentFigures(
            use.component,
            use.requests,
            use.cold,
            use.failed,
            use.copies,
            use.copy_s / HOUR_S,
            use.unplaced,
            shares.get(use.component, 0.0),
            use.loads,
            use.evictions,
        )


def plan_output(found: "PlanResult", answer: str) -> PlanOutput:
    return PlanOutput(
        found.goal.slo_s,
        found.goal.quantile,
        found.requests,
        None if found.best is None else found.best.scenario.name,
        answer,
        None if found.best is None else found.members(),
        None if found.best is None else dict(found.best.scenario.environment()),
        tuple(_option(one) for one in found.ways),
        tuple(
            PolicyFigures(**one.summary(found.prices), late=one.slo_misses(found.goal.slo_s), meets=found.goal.met(one))
            for one in found.policies
        ),
        (*found.assumed, *found.at_full_speed),
        tuple(found.left_out),
        found.bill.lines,
        **_recorded(found),
        verdict=found.verdict.value,
        doubts=tuple(found.doubts),
    )


def tune_output(
    found: "TuneResult", answer: str, doubts: Sequence[str], confirmed: "Sequence[TunedConfirmation]"
) -> TuneOutput:
    from torpor.simulator.planning.priced_options import of_candidate

    best = found.best
    priced = [of_candidate(one.candidate, found.goal, found.prices) for one in found.tried if one.candidate is not None]
    return TuneOutput(
        found.goal.slo_s,
        found.goal.quantile,
        found.requests,
        found.of,
        None if best is None else best.scenario.name,
        answer,
        found.choices,
        found.evaluations,
        found.ended,
        None if best is None else found.members(),
        None if best is None else dict(best.scenario.environment()),
        tuple(_setting(one) for one in found.effects),
        tuple(_option(one) for one in priced if one is not None),
        tuple(doubts),
        tuple(found.inputs.notes),
        tuple(found.left_out),
        found.bill.lines,
        **_recorded(found),
        confirmed=tuple(confirm_output(one.confirmation) for one in confirmed),
    )


def _setting(one: "SettingEffect") -> SettingEntry:
    shown = (tuple(map(value_text, values)) for values in (one.without_effect, one.worse, one.untried))
    return SettingEntry(one.name, value_text(one.best), *shown)


def value_text(value: object) -> str:
    """A setting's value in a table: `-` where the setting is left empty."""
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _recorded(found: "PlanResult | TuneResult") -> dict[str, Any]:
    """What `torpor confirm` reads from a plan."""
    from torpor.simulator.planning.recorded_plan import RecordedPlan
    from torpor_container.typed_json import written

    fields = written(RecordedPlan.of(found))
    forecast = ScenarioFigures(**found.seeds[0].summary(found.prices)) if found.seeds else None
    return {
        "source": PlanSource(**fields["source"]),
        "scenario": fields["scenario"],
        "forecast": forecast,
        "played": fields["played"],
        "spread": tuple(SpreadEntry(one.figure, one.least, one.most) for one in found.spread),
    }


def confirm_output(done: "Confirmation") -> ConfirmOutput:
    part, compared = done.part, done.compared
    return ConfirmOutput(
        done.scenario.name,
        compared.verdict.value,
        compared.forecast_meets,
        compared.live_meets,
        compared.goal.slo_s,
        compared.goal.quantile,
        part.requests,
        part.of,
        part.since_s,
        part.lasts_s,
        part.quiet_s,
        part.speed,
        tuple(ConfirmedEntry(**one.__dict__) for one in done.figures),
        done.causes,
        compared.busy,
        compared.strain.waiting_share,
        compared.strain.sent_late_s,
        compared.strain.processors,
        compared.counts_agree,
        compared.at_bound,
    )


def _option(one: "Priced") -> OptionEntry:
    return OptionEntry(
        one.name, one.usd, one.hit_ratio, one.late, one.p99_s, one.meets, one.multi_model, one.seeds, one.on_aws
    )


def replay_output(replayed: "Replayed", endpoint: str) -> ReplayOutput:
    return ReplayOutput(
        endpoint,
        len(replayed),
        replayed.failed,
        replayed.wall_s,
        replayed.in_flight_most,
        replayed.late_s(0.5),
        replayed.late_s(0.99),
        replayed.interrupted,
        tuple(
            OutcomeEntry(
                outcome,
                requests,
                replayed.cold_share(outcome),
                replayed.latency_s(0.5, outcome),
                replayed.latency_s(0.95, outcome),
                replayed.latency_s(0.99, outcome),
                replayed.messages.get(outcome, ""),
            )
            for outcome, requests in replayed.counts.items()
        ),
    )
