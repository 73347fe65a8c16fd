"""`torpor simulate --group`: plays a group's calls in each scenario, by the endpoint's own rule and by three others."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from torpor.cli.arguments import existing_file
from torpor.cli.commands.studies.asked_scenarios import ScenarioLists
from torpor.cli.commands.studies.model_groups.group_rows import group_cells, group_figures
from torpor.cli.console import console, fitted, print_json
from torpor.cli.progress_bar import bar
from torpor.cli.simulation_records import GroupSimulateOutput
from torpor.prices.dollars import dollars
from torpor_endpoint.core.pages.plain_figures import counted

if TYPE_CHECKING:
    from torpor.simulator.choosing.choice_outcomes import ChoiceOutcome
    from torpor.simulator.scenario import Scenario
    from torpor_endpoint.core.pricing.prices import Prices

SPARE = ("p99", "accuracy", "dear")
"""Columns that a narrow terminal omits."""


def simulate_group(
    trace: str,
    group: Path,
    asked: ScenarioLists,
    changes: Mapping[str, float],
    prices: "Prices",
    *,
    seed: int,
    lasts_s: float | None,
    as_json: bool,
) -> None:
    """Play the scenarios that are asked for, around the plain one with these changes, and print. Raises TorporError,
    BadTrace, BadScenario."""
    from torpor.simulator.choosing.choice_comparison import group_inputs, play_choice, read_group_text
    from torpor.simulator.choosing.choice_rules import RuleName
    from torpor.simulator.scenario import Scenario

    existing_file("--group", group)
    found = read_group_text(group)
    inputs = group_inputs(trace, found, seed, lasts_s)
    played = list[tuple["Scenario", "ChoiceOutcome"]]()
    with bar("reading the trace") as shown:
        for scenario in asked.around(Scenario().altered(**changes)):
            for rule in RuleName:
                shown.says(f"{scenario.name}, {rule.value}")
                played.append((scenario, play_choice(found, rule, inputs, scenario)))
    notes = (f"seed {seed} · US dollars at the prices of {prices.priced_on}", *inputs.notes)
    if as_json:
        rows = tuple(group_figures(scenario.name, outcome, prices) for scenario, outcome in played)
        print_json(GroupSimulateOutput(found.name, trace, rows, notes))
        return
    printer = console()
    printer.print(f"{trace} · {counted(played[0][1].calls, 'request')} for {found.name}", style="bold")
    rows_shown = [
        {"scenario": scenario.name, "rule": outcome.rule.value}
        | group_cells(outcome, prices)
        | {"predictions": dollars(outcome.processing_usd)}
        for scenario, outcome in played
    ]
    printer.print(fitted(rows_shown, SPARE, printer.width))
    for line in notes:
        printer.print(line, style="dim")
