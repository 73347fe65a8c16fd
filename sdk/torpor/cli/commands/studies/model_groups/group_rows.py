"""What calls of a group came to, as the cells of a table and as records of JSON."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torpor.cli.simulation_records import GroupFigures, ModelShare
from torpor.prices.dollars import dollars
from torpor_endpoint.core.pages.plain_figures import milliseconds

if TYPE_CHECKING:
    from torpor.simulator.choosing.choice_outcomes import ChoiceOutcome
    from torpor_endpoint.core.pricing.prices import Prices

MODELS_SHOWN = 3
"""Of so many models a row has the share."""


def group_cells(outcome: "ChoiceOutcome", prices: "Prices") -> dict[str, str]:
    """The cells of a row, by column."""
    answered = outcome.result is not None and outcome.result.requests > outcome.result.failed
    return {
        "a month": dollars(outcome.usd_per_month(prices)),
        "late": f"{outcome.late_share:.2%}",
        "inexact": f"{outcome.inexact_share:.2%}",
        "dear": f"{outcome.dear_share:.2%}",
        "accuracy": f"{outcome.accuracy:.4g}",
        "p99": milliseconds(outcome.result.p99_s) if outcome.result is not None and answered else "-",
        "answered by": answered_by(outcome.model_shares),
    }


def answered_by(shares: Mapping[str, float]) -> str:
    """`small 87.5 %, large 12.5 %`: the models that answer most."""
    told = [f"{name} {share * 100:.3g} %" for name, share in list(shares.items())[:MODELS_SHOWN]]
    more = len(shares) - MODELS_SHOWN
    return ", ".join([*told, *([f"{more} more"] if more > 0 else [])])


def group_figures(scenario: str, outcome: "ChoiceOutcome", prices: "Prices") -> GroupFigures:
    result = outcome.result
    return GroupFigures(
        scenario,
        outcome.rule.value,
        outcome.calls,
        outcome.late_share,
        outcome.inexact_share,
        outcome.dear_share,
        outcome.missed_share,
        outcome.accuracy,
        None if result is None else result.p99_s,
        outcome.processing_usd,
        outcome.usd_per_month(prices),
        tuple(ModelShare(name, share) for name, share in outcome.model_shares.items()),
    )
