"""`torpor plan`: finds the cheapest scenario that serves a trace within an SLO, and prints the call that deploys it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from torpor.cli.bill_table import beside, bill_table, savings_lines
from torpor.cli.commands.studies import choices, component_results
from torpor.cli.commands.studies.asked_space import SpaceOptions
from torpor.cli.commands.studies.json_outputs import plan_output
from torpor.cli.commands.studies.model_groups import group_plan
from torpor.cli.commands.studies.shadow_line import shadow_of
from torpor.cli.commands.studies.simulate import span
from torpor.cli.console import AsJson, console, fitted, print_json
from torpor.cli.exit_codes import ExitCode, UsageRefused
from torpor.cli.json_records import text
from torpor.cli.progress_bar import bar
from torpor.extras import require
from torpor.prices.dollars import dollars
from torpor_endpoint.core.pages.plain_figures import counted, milliseconds

if TYPE_CHECKING:
    from torpor.simulator.costs.single_models import Apart
    from torpor.simulator.planning.plan_result import PlanResult
    from torpor.simulator.planning.plan_space import Goal, PlanSpace
    from torpor.simulator.planning.priced_options import Priced
    from torpor.simulator.planning.search import PlanCandidate
    from torpor.simulator.planning.seed_spread import SeedSpread
    from torpor.simulator.simulation_inputs import SimulationInputs
    from torpor.simulator.simulation_result import SimulationResult

SHOWN = 8
SEEDS = 3
REQUESTS_FIRST = 200_000
NOTES = dict.fromkeys(("BELADY", "BELADY-SIZE"), "offline reference: it knows the trace in advance")
REQUESTS = "Of a longer trace, simulate the busiest stretch of this many requests first."
PLAYED_MAX = "Simulate at most this many requests, from the beginning of the trace."
SLO = "The time within which requests must be answered. Requests to a --group say it themselves."
NO_SLO = "--slo-ms is missing: say within how many milliseconds requests must be answered, or name a --group"
OUT = "Write what --json prints to this file, for `torpor confirm`."
SPREAD: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "p99_s": ("p99", milliseconds),
    "late": ("late", "{:.2%}".format),
    "hit_ratio": ("hits", "{:.2%}".format),
    "usd_per_month": ("a month", dollars),
}
"""How the spread of a figure over the seeds is shown: its name and its form."""
SPARE = ("hits",)
"""Columns that a narrow terminal omits."""


def plan(
    trace: choices.Trace,
    slo_ms: Annotated[float | None, typer.Option(help=SLO)] = None,
    quantile: Annotated[float, typer.Option(help="The share of the requests that must be.")] = 0.99,
    profiles: choices.Profiles = None,
    instance_type: choices.InstanceTypes = None,
    instances_max: Annotated[int, typer.Option(help="The most instances.", min=1)] = 8,
    policy: choices.Policies = None,
    sleep_after: choices.SleepAfter = "5m,20m,1h",
    keep_alive: choices.KeepAlives = None,
    wake: choices.Wake = None,
    queued: choices.Async = False,
    seeds: Annotated[int, typer.Option(help="How many seeds must confirm the plan.", min=1)] = SEEDS,
    lasts: choices.Lasts = None,
    seed: choices.Seed = 0,
    requests: Annotated[int, typer.Option(help=REQUESTS, min=1)] = REQUESTS_FIRST,
    played_max: Annotated[int, typer.Option(help=PLAYED_MAX, min=1)] = 5_000_000,
    prices: choices.PricesFile = None,
    region: choices.Region = None,
    shadow: choices.Shadow = None,
    containers: choices.Containers = None,
    group: choices.Group = None,
    aws_strict: choices.AwsStrict = False,
    out: Annotated[Path | None, typer.Option(help=OUT, metavar="FILE")] = None,
    as_json: AsJson = False,
) -> None:
    """Find the cheapest instance type and number, keep-alive and policy that meet the SLO, by simulation."""
    require("torpor plan", "simulator")
    choices.writable_file("--out", out)
    from torpor.simulator.planning.plan_space import Goal

    options = SpaceOptions(instance_type, instances_max, policy, sleep_after, keep_alive, aws_strict)
    if group is not None:
        meant = {"--slo-ms": slo_ms, "--profiles": profiles, "--shadow": shadow, "--containers": containers}
        meant |= {"--async": queued, "--aws-strict": aws_strict, "--out": out}
        group_plan.refuse_others({**meant, "--requests": requests != REQUESTS_FIRST, "--seeds": seeds != SEEDS})
        asked = group_plan.GroupQuestion(trace, group, quantile, seed, lasts, played_max, wake)
        group_plan.plan(asked, options, choices.prices_from(prices, region), as_json=as_json)
        return
    if slo_ms is None:
        raise UsageRefused(NO_SLO)
    goal = Goal(choices.slo_s(slo_ms), choices.share("--quantile", quantile))
    fixed = {**choices.wake_change(wake), **choices.async_change(queued)}
    models = component_results.models_of(trace, profiles, seed)
    inputs = models or choices.inputs_of(trace, profiles, seed, lasts, containers, fixed)
    space = options.around(inputs.scenario)
    beside = None if shadow is None else shadow_of(shadow, inputs)
    priced = choices.prices_from(prices, region)
    found = searched(inputs, goal, space, (requests, played_max), seeds=seeds, prices=priced, shadow=beside)
    if out is not None:
        out.write_text(text(plan_output(found, answer(found))) + "\n", encoding="utf-8")
    if as_json:
        print_json(plan_output(found, answer(found)))
    else:
        show(found)
    if found.best is None:
        raise typer.Exit(ExitCode.NO_PLAN)


def searched(
    inputs: "SimulationInputs", goal: "Goal", space: "PlanSpace", most: tuple[int, int], **options: Any
) -> "PlanResult":
    """The plan, with a progress bar. `most` has the most requests to simulate first, and at all; `options` are further
    arguments of `torpor.plan`."""
    from torpor.simulator.planning.cheapest_plan import plan as search
    from torpor.simulator.simulation_inputs import requests_of

    with bar("reading the trace") as shown:
        of = min(requests_of(inputs.trace), max(most))

        def says(what: str) -> None:
            shown.begins(what)
            shown.of(of)

        watched = replace(inputs, on_progress=shown.done)
        return search(
            watched,
            slo_s=goal.slo_s,
            quantile=goal.quantile,
            space=space,
            requests_max=most[0],
            played_max=most[1],
            says=says,
            **options,
        )


def show(found: "PlanResult") -> None:
    printer = console()
    printer.print(f"{found.goal} · {played(found)}", style="bold")
    printer.print(candidates(found, printer.width))
    printer.print()
    if found.cheapest is not None and not found.cheapest.candidate:
        printer.print(f"{elsewhere(found, found.cheapest)}\n")
        elsewhere_served = found.apart[found.cheapest.name]
        if elsewhere_served.components is not None:
            printer.print(f"{found.components_call(elsewhere_served.components)}\n", soft_wrap=True)
        if (scenario := elsewhere_served.scenario) is not None:
            printer.print(f"{found.call(scenario)}\n", soft_wrap=True)
            if found.best is not None:
                printer.print("The cheapest multi-model endpoint with instances of its own:")
    printer.print(f"{answer(found)}\n")
    if found.bill.lines:
        printer.print(bill_table("", found.bill.lines, "a month"))
        for line in savings_lines(found.savings):
            printer.print(line)
        printer.print()
    if found.copied is not None:
        printer.print(f"{with_shadow(found)}\n")
    if found.best is not None:
        printer.print(f"{found.call()}\n", soft_wrap=True)
    if found.best is not None and found.best.result is not None and not found.best.result.evictions:
        printer.print("The plan evicts no model: every policy does the same there.\n", style="dim")
    if found.policies:
        size = found.policies[0].scenario.altered(policy="LRU").name.replace(", LRU", "")
        part = "" if found.peak.whole else f", around {busiest(found)}"
        printer.print(f"eviction policies · {size}{part}", style="bold")
        printer.print(policies(found, printer.width))
        printer.print()
    printer.print("the same traffic, served otherwise", style="bold")
    printer.print(others(found, printer.width))
    seeds = f"seed {found.inputs.seed}" + (f" to {found.seeds[-1].seed}" if len(found.seeds) > 1 else "")
    prices = f"US dollars at the prices of {found.prices.priced_on}: {found.prices.source}."
    printer.print(f"\n{seeds} · {prices}", style="dim")
    for kind, notes in (("assumed", (*found.assumed, *found.at_full_speed)), ("left out", found.left_out)):
        for one in notes:
            printer.print(f"{kind}: {one}", style="dim")
    printer.print(f"\n{verdict(found)}", style="bold")


def candidates(found: "PlanResult", width: int) -> Table | str:
    """The candidates that were simulated to their end, each by its worst seed: first those that meet the goal, each by
    price, the plan first."""
    ended = [one for one in found.candidates if one.results]
    if not ended:
        return f"{counted(len(found.candidates), 'scenario')} tried, and none came near."

    def place(one: "PlanCandidate") -> tuple[bool, float, bool]:
        return not one.meets, round(one.results[0].usd_per_month(found.prices) or 0.0, 2), one is not found.best

    ended.sort(key=place)
    rows = [
        {"tried": one.scenario.name, "a month": dollars(one.results[0].usd_per_month(found.prices))}
        | measured(found, found.goal.worst(one.results))
        | {
            "": marked(
                "the plan" if one is found.best else "meets it" if one.meets else "too slow", one.scenario.on_aws
            )
        }
        for one in ended[:SHOWN]
    ]
    best = next((number for number, one in enumerate(ended[:SHOWN]) if one is found.best), None)
    shown = fitted(rows, SPARE, width, best)
    if rest := len(found.candidates) - len(rows):
        shown.add_row(f"and {rest:,} more, dearer or stopped early", style="dim")
    return shown


def measured(found: "PlanResult", result: "SimulationResult") -> dict[str, str]:
    late = f"{result.slo_misses(found.goal.slo_s):.2%}"
    p99 = milliseconds(result.p99_s) if result.requests > result.failed else "-"
    return {"hits": f"{result.hit_ratio:.2%}", "p99": p99, "late": late}


def answer(found: "PlanResult") -> str:
    if found.best is None:
        return nothing(found)
    usd = f"{dollars(found.bill.usd)}{beside(found.bill.unpriced)}"
    return " ".join([f"{found.best.scenario.name}: {usd} a month.", *peaking(found), *confirmed(found)])


def with_shadow(found: "PlanResult") -> str:
    """What the plan costs with its shadow variant."""
    shadow, costs = found.shadow, found.usd_with_shadow
    if shadow is None or costs is None:
        return ""
    usd, shadow_usd = costs
    part = "" if not usd or shadow_usd is None else f", of which the shadow variant is {shadow_usd / usd:.1%}"
    return f"With a {shadow.name}: {dollars(usd)} a month{part}. No caller waits for it."


def elsewhere(found: "PlanResult", one: "Priced") -> str:
    """The cheapest option, if that is no multi-model endpoint."""
    late, goal = f"{one.late:.2%} of the requests are late", f"{found.goal}"
    text = f"{one.name}: {dollars(one.usd)} a month is the cheapest option that meets the goal, {goal}; {late}."
    other = "" if found.best is None or one.multi_model else " The cheapest multi-model endpoint that meets it:"
    return f"{text}{other}"


def peaking(found: "PlanResult") -> Iterator[str]:
    """The late requests of a long trace: of all that were simulated, and of its busiest stretch."""
    if found.best is None or found.best.result is None or found.best.peak_late is None:
        return
    late, peak = found.best.result.slo_misses(found.goal.slo_s), found.best.peak_late / found.peak.requests
    yield f"Of {found.requests:,} simulated requests {late:.2%} are late, in {busiest(found)} {peak:.2%}."
    if not found.whole:
        yield "The price assumes that the other requests are alike."


def played(found: "PlanResult") -> str:
    first = "" if found.peak.whole else f", the busiest {found.peak.requests:,} first"
    part = "" if found.whole else f", and then the first {found.requests:,}: the others were not simulated"
    return f"{counted(found.peak.of, 'request')}{first}{part}"


def busiest(found: "PlanResult") -> str:
    peak = found.peak
    return f"the busiest {peak.requests:,} ({span(peak.lasts_s)}, {span(peak.since_s)} after the first)"


def confirmed(found: "PlanResult") -> Iterator[str]:
    """How sure the plan is."""
    if found.inputs.drawn:
        agree = sum(map(found.goal.met, found.seeds))
        spread = ", ".join(map(spread_of, found.spread)) or f"p99 {milliseconds(found.seeds[0].p99_s)}"
        none = "" if agree == len(found.seeds) else " Nothing in this space meets the SLO with all of them."
        yield f"{agree} of {counted(len(found.seeds), 'seed')} meet the SLO, {spread}.{none}"
    else:
        late = " to ".join(f"{share * 100:.2g}" for share in found.late)
        perhaps = ", which may be too many" if found.late[1] > 1 - found.goal.quantile else ""
        yield f"Nothing is drawn, so one run is enough for this trace. Of more such traffic {late} % are late{perhaps}."
    if not found.conclusive:
        of = sum(one.requests for one in found.seeds)
        again = f", simulated with {counted(len(found.seeds), 'seed')}" if len(found.seeds) > 1 else ""
        few = f"{counted(found.requests, 'request')}{again}, of which {found.goal.late_max(of):,} may be late"
        share = f"{found.goal.quantile * 100:.6g} %"
        enough = counted(found.enough, "request")
        yield f"These are too few to know whether {share} are in time: {few}. Give at least {enough}."


def verdict(found: "PlanResult") -> str:
    """The last line: whether the plan meets the goal, or why a forecast cannot tell."""
    if found.best is None:
        return f"The verdict: {found.verdict}, {found.goal}."
    name = found.best.scenario.name
    if not found.doubts:
        return f"The verdict: {name} {found.verdict}, {found.goal}."
    return f"The verdict on {name} is {found.verdict}, at its bound: {'; '.join(found.doubts)}."


def spread_of(one: "SeedSpread") -> str:
    """`p99 1,339 ms to 4,424 ms`, `$38.07 to $41.20`; one figure where all seeds have the same."""
    name, shown = SPREAD[one.figure]
    figures = dict.fromkeys((shown(one.least), shown(one.most)))
    return f"{name} {' to '.join(figures)}".strip()


def nothing(found: "PlanResult") -> str:
    """Why nothing meets the goal, as far as that is known."""
    late, p99 = 1 - found.floor.share_within(found.goal.slo_s), milliseconds(found.floor.quantile(0.99))
    if late > 1 - found.goal.quantile:
        return (
            f"Nothing meets that: with every model in memory and no queue, {late:.2%} of the requests still take"
            f" longer. The predictions themselves are too slow; p99 is {p99}.{measured_by(found)}"
        )
    if found.too_large:
        return f"Nothing meets that: {found.too_large}. Allow larger types (--instance-type), or leave the model out."
    if found.first > found.goal.late_max(found.requests):
        return (
            f"Nothing meets that: the first request for a model waits for its load, which makes {found.first:,} of"
            f" {counted(found.requests, 'request')} late. Allow more time (--slo-ms), or give a longer trace."
        )
    return (
        f"Nothing in this space meets that. With every model in memory and no queue it would be met, with a p99"
        f" of {p99}: allow more instances (--instances-max) or larger types (--instance-type)."
    )


def measured_by(found: "PlanResult") -> str:
    """Advice if the times are drawn, and not the user's own."""
    if not found.inputs.redrawn:
        return ""
    return (
        " These times are assumed: give your models' own with --profiles FILE, or an endpoint's ledger.sqlite as trace."
    )


def policies(found: "PlanResult", width: int) -> Table:
    """The eviction policies for this trace, on the scenario that was simulated with all of them, by their worst
    seeds."""
    notes = NOTES | ({found.best_policy: "the best for this trace"} if found.best_policy else {})
    ranked = sorted(found.policies, key=lambda result: (result.slo_misses(found.goal.slo_s), result.cold))
    rows = [
        {"policy": one.scenario.policy, **measured(found, one), "": notes.get(one.scenario.policy, "")}
        for one in ranked
    ]
    return fitted(rows, SPARE, width)


def others(found: "PlanResult", width: int) -> Table:
    """The same traffic without a multi-model endpoint that answers at once."""
    priced = {one.name: one for one in found.ways if not one.candidate}
    rows = [
        {
            "served as": way,
            "a month": dollars(one.usd_per_month()),
            "cold": f"{one.cold / one.requests:.2%}",
            "p99": span(priced[way].p99_s) if one.later else milliseconds(priced[way].p99_s),
            "late": f"{priced[way].late:.2%}",
            "": one.cost.assumes if one.cost.usd is None else judged(one, priced[way].meets),
        }
        for way, one in found.apart.items()
    ]
    return fitted(rows, SPARE, width)


def judged(one: "Apart", meets: bool) -> str:
    verdict = "answers later" if one.later else "meets it" if meets else "too slow"
    return marked(verdict, one.cost.sold_by_aws)


def marked(verdict: str, on_aws: bool) -> str:
    """The verdict on an option, and whether AWS lacks it."""
    return verdict if on_aws else f"{verdict}, not on AWS"
