"""`torpor plan --group`: the cheapest hardware by which a group's calls get what they need."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from torpor.cli.arguments import existing_file
from torpor.cli.bill_table import bill_table
from torpor.cli.commands.studies import choices
from torpor.cli.commands.studies.asked_space import SpaceOptions
from torpor.cli.commands.studies.model_groups.group_rows import answered_by, group_cells, group_figures
from torpor.cli.console import console, fitted, print_json
from torpor.cli.exit_codes import ExitCode, UsageRefused
from torpor.cli.planning_records import GroupOption, GroupPlanOutput
from torpor.cli.progress_bar import bar
from torpor.prices.dollars import dollars
from torpor_endpoint.core.pages.plain_figures import counted

if TYPE_CHECKING:
    from torpor.simulator.choosing.group_planning import GroupPlan, GroupTrial
    from torpor.simulator.scenario import Scenario
    from torpor_endpoint.core.pricing.prices import Prices

SHOWN = 8
SPARE = ("p99", "accuracy")
"""Columns that a narrow terminal omits."""
OTHERS = {
    "--slo-ms": "each request says its own latency_ms",
    "--profiles": "the group's file has the sizes and times of its models",
    "--shadow": "a shadow variant's copies name a model",
    "--components": "a component has one model",
    "--containers": "only a model of one container has groups",
    "--async": "an asynchronous request names a model",
    "--aws-strict": "AWS has no groups",
    "--requests": "a scenario is stopped once it misses too many needs, wherever in the trace; --played-max bounds it",
    "--seeds": "nothing of a group's trace is drawn, so one run is enough",
    "--out": "`torpor confirm` sends requests for models; print the plan with --json",
}
"""The options that mean nothing for a group, and why."""
GROUPS = {"TORPOR_GROUPS": "true"}


@dataclass(frozen=True)
class GroupQuestion:
    """What is asked of a group: the options as they were given."""

    trace: str
    group: Path
    quantile: float
    seed: int
    lasts: str | None
    played_max: int
    wake: str | None


def refuse_others(given: Mapping[str, object]) -> None:
    """Raises UsageRefused for an option that means nothing for a group."""
    for option, value in given.items():
        if value:
            raise UsageRefused(f"{option} does not go with --group: {OTHERS.get(option, 'leave it out')}")


def plan(asked: GroupQuestion, options: SpaceOptions, prices: "Prices", *, as_json: bool) -> None:
    """Search the plan and print it. Raises UsageRefused, TorporError, BadTrace, BadScenario; Exit without a plan."""
    from torpor.simulator.choosing.group_planning import plan_group
    from torpor.simulator.scenario import Scenario

    existing_file("--group", asked.group)
    space = options.around(Scenario().altered(**choices.wake_change(asked.wake)))
    with bar("reading the trace") as shown:
        found = plan_group(
            asked.trace,
            asked.group,
            quantile=choices.share("--quantile", asked.quantile),
            space=space,
            prices=prices,
            seed=asked.seed,
            lasts_s=choices.lasts_s(asked.lasts),
            played_max=asked.played_max,
            says=shown.says,
        )
    if as_json:
        print_json(group_plan_output(found))
    else:
        show(found)
    if found.best is None:
        raise typer.Exit(ExitCode.NO_PLAN)


def show(found: "GroupPlan") -> None:
    from torpor.simulator.planning.plan_result import config_call, config_members

    printer = console()
    printer.print(f"{goal(found)} · {counted(found.requests, 'request')} for {found.group.name}", style="bold")
    if found.trials:
        printer.print(trial_table(found, printer.width))
        printer.print()
    printer.print(f"{answer(found)}\n")
    best = found.best
    if best is not None and best.outcome.result is not None:
        bill = best.outcome.result.bill_per_month(found.prices)
        printer.print(bill_table("", bill.lines, "a month"))
        printer.print()
        call = config_call(config_members("planned", best.scenario), best.scenario)
        printer.print(
            f"{call}\n# in the Environment of the model's container also: TORPOR_GROUPS=true\n", soft_wrap=True
        )
    prices = f"US dollars at the prices of {found.prices.priced_on}: {found.prices.source}."
    printer.print(prices, style="dim")
    for one in found.assumed:
        printer.print(f"assumed: {one}", style="dim")


def trial_table(found: "GroupPlan", width: int) -> object:
    """The scenarios that were played to their end, those that meet the goal first, each by price."""

    def place(one: "GroupTrial") -> tuple[bool, bool, float]:
        return one is not found.best, not one.meets, one.usd_per_month(found.prices) or 0.0

    ended = sorted((one for one in found.trials if one.outcome.result is not None), key=place)
    rows = [
        {"tried": one.scenario.name}
        | group_cells(one.outcome, found.prices)
        | {"": "the plan" if one is found.best else "meets it" if one.meets else "misses too many"}
        for one in ended[:SHOWN]
    ]
    if not rows:
        return f"{counted(len(found.trials), 'scenario')} tried, and none came near."
    shown = fitted(rows, SPARE, width, 0 if found.best is not None else None)
    if rest := len(found.trials) - len(rows):
        shown.add_row(f"and {rest:,} more, dearer or stopped early", style="dim")
    return shown


def goal(found: "GroupPlan") -> str:
    return f"{(1 - found.missed_max) * 100:.6g} % of the calls get what they need"


def answer(found: "GroupPlan") -> str:
    best = found.best
    if best is None:
        why = found.unmet or "allow more instances (--instances-max) or larger types (--instance-type)"
        return f"Nothing meets that: {why}."
    outcome = best.outcome
    missed = f"{outcome.missed_share:.2%} of the needs are missed"
    parts = f"{outcome.late_share:.2%} late, {outcome.inexact_share:.2%} inexact, {outcome.dear_share:.2%} dear"
    return (
        f"{best.scenario.name}: {dollars(outcome.usd_per_month(found.prices))} a month. {missed} ({parts}). The mean"
        f" accuracy is {outcome.accuracy:.4g}; answered by {answered_by(outcome.model_shares)}."
    )


def group_plan_output(found: "GroupPlan") -> GroupPlanOutput:
    from torpor.simulator.planning.plan_result import config_members

    best = None if found.best is None else found.best
    result = None if best is None else best.outcome.result
    return GroupPlanOutput(
        found.group.name,
        1 - found.missed_max,
        found.requests,
        None if best is None else best.scenario.name,
        answer(found),
        None if best is None else config_members("planned", best.scenario),
        None if best is None else environment(best.scenario),
        tuple(_option(one, found) for one in found.trials),
        tuple(found.assumed),
        () if result is None else result.bill_per_month(found.prices).lines,
    )


def environment(scenario: "Scenario") -> dict[str, str]:
    """The Environment of the model's container."""
    return {**scenario.environment(), **GROUPS}


def _option(one: "GroupTrial", found: "GroupPlan") -> GroupOption:
    figures = group_figures(one.scenario.name, one.outcome, found.prices)
    return GroupOption(**figures.__dict__, meets=one.meets, ended=one.outcome.result is not None)
